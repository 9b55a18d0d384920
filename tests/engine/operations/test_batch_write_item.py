"""BatchWriteItem: up to twenty-five puts and deletes."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.engine import requests
from sortkey.engine.database import Database
from sortkey.engine.operations.batches import LARGE_BYTES
from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import create, index, n, s

DUPLICATES = "Provided list of item keys contains duplicates"


@pytest.fixture(autouse=True)
def tables(call: Call) -> None:
    create(call, "first", "id:S")
    create(call, "second", "id:S", "at:N", local=[index("by_v", "id:S", "v:N")])


def put(**item: Any) -> dict[str, Any]:
    return {"PutRequest": {"Item": item}}


def delete(**key: Any) -> dict[str, Any]:
    return {"DeleteRequest": {"Key": key}}


def items(call: Call, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = call("Scan", TableName=name)["Items"]
    return found


def test_puts_and_deletes_in_several_tables(call: Call) -> None:
    call("PutItem", TableName="first", Item={"id": s("old")})
    answer = call(
        "BatchWriteItem",
        RequestItems={"first": [put(id=s("new")), delete(id=s("old"))], "second": [put(id=s("1"), at=n(1), v=n(1))]},
    )
    assert answer == {"UnprocessedItems": {}}
    assert items(call, "first") == [{"id": s("new")}]
    assert items(call, "second") == [{"id": s("1"), "at": n(1), "v": n(1)}]


@pytest.mark.parametrize(
    "writes",
    [
        [put(id=s("1"), at=n(1)), put(id=s("1"), at=n("1.0"))],
        [put(id=s("1"), at=n(1)), delete(id=s("1"), at=n(1))],
        [delete(id=s("1"), at=n(1)), delete(id=s("1"), at=n(1))],
    ],
)
def test_no_item_twice(call: Call, expect_error: ExpectError, writes: list[dict[str, Any]]) -> None:
    with expect_error("ValidationException", DUPLICATES):
        call("BatchWriteItem", RequestItems={"second": writes})
    assert items(call, "second") == []


# A table can be given by name and by ARN; both mean the same item.
def test_no_item_twice_under_two_names(call: Call, expect_error: ExpectError) -> None:
    arn = call("DescribeTable", TableName="first")["Table"]["TableArn"]
    with expect_error("ValidationException", DUPLICATES):
        call("BatchWriteItem", RequestItems={"first": [put(id=s("1"))], arn: [put(id=s("1"), v=n(1))]})
    call("BatchWriteItem", RequestItems={"first": [put(id=s("1"))], arn: [put(id=s("2"))]})
    assert call("DescribeTable", TableName="first")["Table"]["ItemCount"] == 2


def test_twenty_five_over_all_tables(call: Call, expect_error: ExpectError) -> None:
    many = [put(id=s(str(number))) for number in range(25)]
    call("BatchWriteItem", RequestItems={"first": many})
    with expect_error("ValidationException", "Too many items requested for the BatchWriteItem call"):
        call("BatchWriteItem", RequestItems={"first": many, "second": [delete(id=s("1"), at=n(1))]})


# One malformed request rejects the batch, so nothing of it may have been written.
@pytest.mark.parametrize(
    ("write", "message"),
    [
        (put(v=n(1)), "The provided key element does not match the schema"),
        (delete(other=n(1)), "The provided key element does not match the schema"),
        (put(id=s("2"), v=s("x" * 410_000)), "Item size has exceeded the maximum allowed size"),
    ],
)
def test_rejected_as_a_whole(call: Call, expect_error: ExpectError, write: dict[str, Any], message: str) -> None:
    with expect_error("ValidationException", message):
        call("BatchWriteItem", RequestItems={"first": [put(id=s("1")), write]})
    assert items(call, "first") == []


@pytest.mark.parametrize("write", [{}, {**put(id=s("1")), **delete(id=s("1"))}])
def test_a_request_is_one_put_or_one_delete(call: Call, expect_error: ExpectError, write: dict[str, Any]) -> None:
    with expect_error("ValidationException"):
        call("BatchWriteItem", RequestItems={"first": [write]})


def test_missing_table(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ResourceNotFoundException", "Requested resource not found"):
        call("BatchWriteItem", RequestItems={"first": [put(id=s("1"))], "nowhere": [put(id=s("1"))]})
    assert items(call, "first") == []


def test_capacity_table_by_table(call: Call) -> None:
    answer = call(
        "BatchWriteItem",
        RequestItems={
            "first": [put(id=s("1"), v=s("x" * 1500)), delete(id=s("gone"))],
            "second": [put(id=s("1"), at=n(1), v=n(1)), put(id=s("1"), at=n(2))],
        },
        ReturnConsumedCapacity="INDEXES",
    )
    assert answer["ConsumedCapacity"] == [
        {"TableName": "first", "CapacityUnits": 3.0, "Table": {"CapacityUnits": 3.0}},
        {
            "TableName": "second",
            "CapacityUnits": 3.0,
            "Table": {"CapacityUnits": 2.0},
            "LocalSecondaryIndexes": {"by_v": {"CapacityUnits": 1.0}},
        },
    ]


# One entry for each item collection that the batch touched, and only where there are local indexes.
def test_item_collection_metrics(call: Call) -> None:
    answer = call(
        "BatchWriteItem",
        RequestItems={
            "first": [put(id=s("1"))],
            "second": [put(id=s("a"), at=n(1)), put(id=s("a"), at=n(2)), delete(id=s("b"), at=n(1))],
        },
        ReturnItemCollectionMetrics="SIZE",
    )
    assert answer["ItemCollectionMetrics"] == {
        "second": [
            {"ItemCollectionKey": {"id": s("a")}, "SizeEstimateRangeGB": [0.0, 1.0]},
            {"ItemCollectionKey": {"id": s("b")}, "SizeEstimateRangeGB": [0.0, 1.0]},
        ]
    }


# Its items are text before the writer's turn, and the table may be another one by then.
@pytest.mark.parametrize("change", ["index", "keys", "binary"])
def test_a_table_that_changes_before_the_writers_turn(db: Database, call: Call, change: str) -> None:
    item = {"id": s("1"), "v": n(1), "b": {"B": "AAEC"}, "t": s("x" * LARGE_BYTES)}
    members = {"RequestItems": {"first": [{"PutRequest": {"Item": item}}]}}
    work = db.plan("BatchWriteItem", requests.convert("BatchWriteItem", members))
    if change != "binary":
        call("DeleteTable", TableName="first")
    if change == "index":
        create(call, "first", "id:S", indexes=[index("by_v", "v:N")])
    elif change == "keys":
        create(call, "first", "v:N")
    db.store.write(work)
    assert items(call, "first") == [item]
    if change == "index":
        assert call("Scan", TableName="first", IndexName="by_v")["Items"] == [item]


def test_the_request_is_still_rejected_by_the_table_that_it_meets(
    db: Database, call: Call, expect_error: ExpectError
) -> None:
    members = {"RequestItems": {"first": [put(id=s("1"), t=s("x" * LARGE_BYTES))]}}
    work = db.plan("BatchWriteItem", requests.convert("BatchWriteItem", members))
    call("DeleteTable", TableName="first")
    create(call, "first", "other:S")
    with expect_error("ValidationException", "The provided key element does not match the schema"):
        db.store.write(work)


@pytest.mark.parametrize("key", [{}, {"id": n(1)}, {"id": {"L": []}}])
@pytest.mark.parametrize("size", [1, LARGE_BYTES])
def test_an_item_without_its_key_is_rejected(
    call: Call, expect_error: ExpectError, key: dict[str, Any], size: int
) -> None:
    item = key | {"t": s("x" * size)}
    with expect_error("ValidationException", "The provided key element does not match the schema"):
        call("BatchWriteItem", RequestItems={"first": [{"PutRequest": {"Item": item}}]})
