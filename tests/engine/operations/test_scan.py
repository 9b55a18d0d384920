"""Scan: every item of a table or index, or of one of the slices that parallel scans share out."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import create, index, n, s, walk

ITEMS = 40


@pytest.fixture(autouse=True)
def table(call: Call) -> None:
    create(
        call,
        "table",
        "id:S",
        "at:N",
        indexes=[index("odd", "odd:S", projection="KEYS_ONLY")],
    )
    for number in range(ITEMS):
        item = {"id": s(f"part{number % 10}"), "at": n(number), "v": n(number)}
        if number % 2:
            item["odd"] = s("yes")
        call("PutItem", TableName="table", Item=item)


def numbers(items: list[dict[str, Any]]) -> list[int]:
    return [int(item["at"]["N"]) for item in items]


def test_answers_with_every_item(call: Call) -> None:
    answer = call("Scan", TableName="table")
    assert sorted(numbers(answer["Items"])) == list(range(ITEMS))
    assert (answer["Count"], answer["ScannedCount"], "LastEvaluatedKey" in answer) == (ITEMS, ITEMS, False)


# Partitions come in the order of their hashes, but within one the sort key rules.
def test_partitions_stay_together_in_order(call: Call) -> None:
    items = call("Scan", TableName="table")["Items"]
    partitions = list(dict.fromkeys(item["id"]["S"] for item in items))
    assert len(partitions) == 10
    for name in partitions:
        own = numbers([item for item in items if item["id"] == s(name)])
        assert own == sorted(own)
    runs = sum(first["id"] != second["id"] for first, second in pairwise(items))
    assert runs == len(partitions) - 1


@pytest.mark.parametrize("limit", [1, 3, 7, ITEMS - 1, ITEMS, ITEMS + 1])
def test_pages_of_any_limit_show_the_same(call: Call, limit: int) -> None:
    assert walk(call, "Scan", TableName="table", Limit=limit) == call("Scan", TableName="table")["Items"]


# A page at its limit does not look ahead: only the empty next page shows the end.
def test_page_at_its_limit_always_continues(call: Call) -> None:
    page = call("Scan", TableName="table", Limit=ITEMS)
    rest = call("Scan", TableName="table", Limit=ITEMS, ExclusiveStartKey=page["LastEvaluatedKey"])
    assert rest == {"Count": 0, "ScannedCount": 0, "Items": []}


@pytest.mark.parametrize("total", [1, 2, 3, 8, 100])
def test_segments_share_out_the_table(call: Call, total: int) -> None:
    segments = [walk(call, "Scan", TableName="table", Segment=each, TotalSegments=total) for each in range(total)]
    together = [number for items in segments for number in numbers(items)]
    assert sorted(together) == list(range(ITEMS))


def test_segments_page_on_their_own(call: Call) -> None:
    for segment in range(3):
        members = {"TableName": "table", "Segment": segment, "TotalSegments": 3}
        assert walk(call, "Scan", Limit=2, **members) == call("Scan", **members)["Items"]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            {"TotalSegments": 2},
            "The Segment parameter is required but was not present in the request "
            "when parameter TotalSegments is present",
        ),
        (
            {"Segment": 0},
            "The TotalSegments parameter is required but was not present in the request "
            "when Segment parameter is present",
        ),
        (
            {"Segment": 2, "TotalSegments": 2},
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            "Segment: 2 is not less than TotalSegments: 2",
        ),
    ],
)
def test_segments_must_make_sense(call: Call, expect_error: ExpectError, members: dict[str, int], message: str) -> None:
    with expect_error("ValidationException", message):
        call("Scan", TableName="table", **members)


# Going on in another segment would silently skip or repeat items.
def test_start_key_belongs_to_its_segment(call: Call, expect_error: ExpectError) -> None:
    keys = [
        call("Scan", TableName="table", Segment=segment, TotalSegments=2, Limit=1)["LastEvaluatedKey"]
        for segment in (0, 1)
    ]
    with expect_error("ValidationException") as caught:
        call("Scan", TableName="table", Segment=0, TotalSegments=2, ExclusiveStartKey=keys[1])
    assert caught.value.message.startswith("The provided starting key is invalid: Invalid ExclusiveStartKey.")


def test_goes_on_after_an_item_that_is_gone(call: Call) -> None:
    everything = call("Scan", TableName="table")["Items"]
    page = call("Scan", TableName="table", Limit=5)
    call("DeleteItem", TableName="table", Key=page["LastEvaluatedKey"])
    rest = call("Scan", TableName="table", ExclusiveStartKey=page["LastEvaluatedKey"])
    assert page["Items"] + rest["Items"] == everything


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (
            {"id": s("x")},
            "The provided starting key is invalid: The provided key element does not match the schema",
        ),
        (
            {"id": s("x"), "at": s("1")},
            "The provided starting key is invalid: The provided key element does not match the schema",
        ),
        (
            {"id": s(""), "at": n(1)},
            "The provided starting key is invalid: One or more parameter values are not valid. The AttributeValue for "
            "a key attribute cannot contain an empty string value. Key: id",
        ),
    ],
)
def test_start_key_must_be_a_key(call: Call, expect_error: ExpectError, start: dict[str, Any], message: str) -> None:
    with expect_error("ValidationException", message):
        call("Scan", TableName="table", ExclusiveStartKey=start)


# Filters come after the limit: a page may be empty and still go on.
def test_filter_counts_what_it_looked_at(call: Call) -> None:
    members = {
        "TableName": "table",
        "FilterExpression": "v >= :v",
        "ExpressionAttributeValues": {":v": n(30)},
    }
    whole = call("Scan", **members)
    assert (whole["Count"], whole["ScannedCount"]) == (10, ITEMS)
    assert sorted(numbers(walk(call, "Scan", Limit=1, **members))) == list(range(30, 40))


# Unlike a Query's, a Scan's filter may name the key.
def test_filter_may_name_the_key(call: Call) -> None:
    members = {"FilterExpression": "id = :id", "ExpressionAttributeValues": {":id": s("part1")}}
    assert call("Scan", TableName="table", **members)["Count"] == 4


@pytest.mark.parametrize("member", ["FilterExpression", "ProjectionExpression"])
def test_no_path_leads_into_a_key(call: Call, expect_error: ExpectError, member: str) -> None:
    expression = {"FilterExpression": "attribute_exists(odd.x)", "ProjectionExpression": "odd.x"}[member]
    with expect_error("ValidationException") as caught:
        call("Scan", TableName="table", **{member: expression})
    assert caught.value.message.endswith("are not allowed: IndexKey: odd")


def test_scan_filter_is_the_old_filter(call: Call) -> None:
    answer = call(
        "Scan",
        TableName="table",
        ScanFilter={
            "v": {"ComparisonOperator": "BETWEEN", "AttributeValueList": [n(3), n(5)]},
            "odd": {"ComparisonOperator": "NULL"},
        },
        AttributesToGet=["at"],
    )
    assert answer["Items"] == [{"at": n(4)}]


def test_two_generations_of_parameters_do_not_mix(call: Call, expect_error: ExpectError) -> None:
    message = (
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {ScanFilter} Expression parameters: {ProjectionExpression}"
    )
    with expect_error("ValidationException", message):
        call(
            "Scan",
            TableName="table",
            ProjectionExpression="v",
            ScanFilter={"v": {"ComparisonOperator": "NOT_NULL"}},
        )


def test_count_has_no_items(call: Call) -> None:
    assert call("Scan", TableName="table", Select="COUNT") == {"Count": ITEMS, "ScannedCount": ITEMS}


def test_sparse_index_shows_what_it_projects(call: Call) -> None:
    items = walk(call, "Scan", TableName="table", IndexName="odd", Limit=3)
    assert sorted(numbers(items)) == list(range(1, ITEMS, 2))
    assert {frozenset(item) for item in items} == {frozenset({"id", "at", "odd"})}


# A full megabyte ends a page; the row that reaches it still belongs to it.
def test_page_ends_at_a_megabyte(call: Call) -> None:
    create(call, "large", "id:S")
    for number in range(6):
        call("PutItem", TableName="large", Item={"id": s(f"{number:04}"), "v": s("x" * (300 * 1024))})
    page = call("Scan", TableName="large", Select="COUNT", ReturnConsumedCapacity="TOTAL")
    assert page["Count"] == 4
    assert page["ConsumedCapacity"]["CapacityUnits"] == 150.5
    rest = call("Scan", TableName="large", Select="COUNT", ExclusiveStartKey=page["LastEvaluatedKey"])
    assert rest == {"Count": 2, "ScannedCount": 2}


# With nothing behind it, a full page is the last one.
def test_full_page_at_the_end_of_the_table(call: Call) -> None:
    create(call, "large", "id:S")
    for number in range(4):
        call("PutItem", TableName="large", Item={"id": s(str(number)), "v": s("x" * (256 * 1024 - 4))})
    assert call("Scan", TableName="large", Select="COUNT") == {"Count": 4, "ScannedCount": 4}


def test_missing_table_and_index(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ResourceNotFoundException", "Requested resource not found"):
        call("Scan", TableName="nowhere")
    with expect_error("ValidationException", "The table does not have the specified index: none"):
        call("Scan", TableName="table", IndexName="none")


def test_capacity_of_an_index(call: Call) -> None:
    answer = call("Scan", TableName="table", IndexName="odd", ReturnConsumedCapacity="INDEXES")
    assert answer["ConsumedCapacity"] == {
        "TableName": "table",
        "CapacityUnits": 0.5,
        "Table": {"CapacityUnits": 0.0},
        "GlobalSecondaryIndexes": {"odd": {"CapacityUnits": 0.5}},
    }
