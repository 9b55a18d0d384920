"""Secondary indexes: which items they hold, what they project, and how they are read."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.engine import requests
from sortkey.engine.database import Database
from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import b, create, index, n, s, walk

INVALID = "One or more parameter values were invalid: "


@pytest.fixture
def films(call: Call) -> None:
    """Three of four films have a rank, and so are in the indexes."""
    create(
        call,
        "films",
        "maker:S",
        "title:S",
        local=[
            index("by_rank", "maker:S", "rank:N", projection="KEYS_ONLY"),
            index("by_rank_all", "maker:S", "rank:N"),
        ],
        indexes=[
            index("ranks", "genre:S", "rank:N", projection="KEYS_ONLY"),
            index("genres", "genre:S", include=["year"]),
            index("everything", "genre:S", "title:S"),
        ],
    )
    for title, genre, rank, year in (("A", "war", 3, 1), ("B", "war", 1, 2), ("C", "noir", 2, 3)):
        item = {"maker": s("m"), "title": s(title), "genre": s(genre), "rank": n(rank), "year": n(year), "note": s("x")}
        call("PutItem", TableName="films", Item=item)
    call("PutItem", TableName="films", Item={"maker": s("m"), "title": s("D"), "note": s("x")})


def query(call: Call, name: str, **members: Any) -> dict[str, Any]:
    attribute, value = ("maker", "m") if name.startswith("by_") else ("genre", "war")
    values = {":v": s(value), **members.pop("ExpressionAttributeValues", {})}
    return call(
        "Query",
        TableName="films",
        IndexName=name,
        KeyConditionExpression=f"{attribute} = :v",
        ExpressionAttributeValues=values,
        **members,
    )


def titles(answer: dict[str, Any]) -> str:
    return "".join(item["title"]["S"] for item in answer["Items"])


@pytest.mark.usefixtures("films")
@pytest.mark.parametrize(
    ("name", "order", "shown"),
    [
        ("by_rank", "BCA", {"maker", "title", "rank"}),
        ("by_rank_all", "BCA", {"maker", "title", "rank", "genre", "year", "note"}),
        ("ranks", "BA", {"maker", "title", "genre", "rank"}),
        ("everything", "AB", {"maker", "title", "rank", "genre", "year", "note"}),
    ],
)
def test_index_orders_and_shows_its_own_way(call: Call, name: str, order: str, shown: set[str]) -> None:
    answer = query(call, name)
    assert titles(answer) == order
    assert titles(query(call, name, ScanIndexForward=False)) == order[::-1]
    assert {frozenset(item) for item in answer["Items"]} == {frozenset(shown)}


# An index without a sort key has no defined order within a partition.
@pytest.mark.usefixtures("films")
def test_hash_only_index(call: Call) -> None:
    answer = query(call, "genres")
    assert sorted(titles(answer)) == ["A", "B"]
    assert {frozenset(item) for item in answer["Items"]} == {frozenset({"maker", "title", "genre", "year"})}


# Index keys need not be unique: rows with equal keys differ by their owner.
@pytest.mark.parametrize("limit", [1, 2, 3, 7])
@pytest.mark.parametrize("forward", [True, False])
def test_pages_through_equal_index_keys(call: Call, limit: int, forward: bool) -> None:
    create(call, "table", "id:S", "at:N", indexes=[index("all", "kind:S", "v:N")])
    for number in range(10):
        item = {"id": s(f"{number % 3}"), "at": n(number), "kind": s("k"), "v": n(number % 2)}
        call("PutItem", TableName="table", Item=item)
    items = walk(
        call,
        "Query",
        TableName="table",
        IndexName="all",
        KeyConditionExpression="kind = :k",
        ExpressionAttributeValues={":k": s("k")},
        Limit=limit,
        ScanIndexForward=forward,
    )
    assert sorted(int(item["at"]["N"]) for item in items) == list(range(10))
    ranks = [int(item["v"]["N"]) for item in items]
    assert ranks == sorted(ranks, reverse=not forward)


# The key of an index does not identify a row, so a page in an index needs the table's key too.
@pytest.mark.usefixtures("films")
def test_last_evaluated_key_holds_both_keys(call: Call) -> None:
    page = query(call, "ranks", Limit=1)
    assert page["LastEvaluatedKey"] == {"genre": s("war"), "rank": n(1), "maker": s("m"), "title": s("B")}
    assert titles(query(call, "ranks", ExclusiveStartKey=page["LastEvaluatedKey"])) == "A"


@pytest.mark.usefixtures("films")
def test_start_key_of_the_table_alone_is_rejected(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ValidationException", "The provided starting key is invalid"):
        query(call, "ranks", ExclusiveStartKey={"maker": s("m"), "title": s("B")})


@pytest.mark.parametrize("keys", ["N", "B"])
def test_index_on_numbers_and_binaries(call: Call, keys: str) -> None:
    create(call, "typed", "id:S", indexes=[index("typed", f"part:{keys}", f"rating:{keys}")])
    make = n if keys == "N" else lambda number: b(bytes([number]))
    for number in (3, 1, 2):
        call("PutItem", TableName="typed", Item={"id": s(str(number)), "part": make(1), "rating": make(number)})
    found = call(
        "Query",
        TableName="typed",
        IndexName="typed",
        KeyConditionExpression="part = :p AND rating >= :two",
        ExpressionAttributeValues={":p": make(1), ":two": make(2)},
    )
    assert [item["id"]["S"] for item in found["Items"]] == ["2", "3"]


# A local index can fetch attributes that it does not project from the table; each fetch is a read of its own.
@pytest.mark.usefixtures("films")
@pytest.mark.parametrize("members", [{"Select": "ALL_ATTRIBUTES"}, {"ProjectionExpression": "title, note"}])
def test_local_index_fetches_what_it_lacks(call: Call, members: dict[str, str]) -> None:
    answer = query(call, "by_rank", ReturnConsumedCapacity="INDEXES", **members)
    assert [item["note"] for item in answer["Items"]] == [s("x")] * 3
    assert answer["ConsumedCapacity"] == {
        "TableName": "films",
        "CapacityUnits": 2.0,
        "Table": {"CapacityUnits": 1.5},
        "LocalSecondaryIndexes": {"by_rank": {"CapacityUnits": 0.5}},
    }


@pytest.mark.usefixtures("films")
@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"ConsistentRead": True}, "Consistent reads are not supported on global secondary indexes"),
        (
            {"Select": "ALL_ATTRIBUTES"},
            INVALID + "Select type ALL_ATTRIBUTES is not supported for global secondary index ranks "
            "because its projection type is not ALL",
        ),
        ({"ProjectionExpression": "title, note"}, INVALID + "Global secondary index ranks does not project [note]"),
        (
            {"FilterExpression": "note = :v"},
            INVALID + "Secondary index ranks does not project one or more filter attributes: [note]",
        ),
    ],
)
def test_global_index_cannot_fetch(
    call: Call, expect_error: ExpectError, members: dict[str, Any], message: str
) -> None:
    with expect_error("ValidationException", message):
        query(call, "ranks", **members)


@pytest.mark.usefixtures("films")
def test_local_index_reads_consistently(call: Call) -> None:
    answer = query(call, "by_rank", ConsistentRead=True, ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"]["CapacityUnits"] == 1.0


# The filter of a query on an index may name the table's key, but not the index's own.
@pytest.mark.usefixtures("films")
def test_filter_may_name_the_other_key(call: Call, expect_error: ExpectError) -> None:
    assert titles(query(call, "ranks", FilterExpression="title = :t", ExpressionAttributeValues={":t": s("A")})) == "A"
    with expect_error("ValidationException"):
        query(call, "ranks", FilterExpression="genre = :v")


# A projection may lack the binary of its item; readers decode binary by the row's own flag.
def test_projected_row_knows_whether_it_holds_binary(db: Database, call: Call) -> None:
    create(
        call,
        "table",
        "id:S",
        indexes=[index("bare", "kind:S", projection="KEYS_ONLY"), index("full", "kind:S", include=["deep"])],
    )
    deep = {"L": [{"M": {"x": b(b"\x01")}}]}
    call("PutItem", TableName="table", Item={"id": s("1"), "kind": s("k"), "deep": deep, "raw": b(b"\x02")})
    for name, binary in (("bare", False), ("full", True)):
        request = {"TableName": "table", "IndexName": name}
        assert scan_items(db, request).binary is binary


def scan_items(db: Database, members: dict[str, Any]) -> Any:
    return db.execute("Scan", requests.convert("Scan", members))["Items"]


@pytest.mark.usefixtures("films")
def test_counts_of_indexes(call: Call) -> None:
    described = call("DescribeTable", TableName="films")["Table"]
    assert described["ItemCount"] == 4
    indexes = described["LocalSecondaryIndexes"] + described["GlobalSecondaryIndexes"]
    assert {each["IndexName"]: each["ItemCount"] for each in indexes} == dict.fromkeys(
        ("by_rank", "by_rank_all", "ranks", "genres", "everything"), 3
    )
