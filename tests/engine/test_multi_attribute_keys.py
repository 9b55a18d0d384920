"""Global indexes whose keys have several attributes: which items they hold, in which order, and how they are read.

The table is AWS's own example for them: matches of a tournament, by where they are played and how far it has come.
"""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.engine.database import Database
from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import b, create, index, n, pages, s, walk

BY_REGION = index("by_region", "tournament:S region:S", "round:N bracket:S id:S")
BY_PLAYER = index("by_player", "player:S", "round:N seal:B", projection="KEYS_ONLY")
MATCHES = [
    # id, tournament, region, round, bracket
    ("m1", "winter", "east", 2, "upper"),
    ("m2", "winter", "east", 10, "lower"),
    ("m3", "winter", "east", 2, "lower"),
    ("m4", "winter", "west", 1, "upper"),
    # If the attributes were only concatenated, this partition would be the one above.
    ("m5", "winterw", "est", 1, "upper"),
    ("m6", "winter", "east", -1, "upper"),
]


@pytest.fixture
def matches(call: Call) -> None:
    create(call, "matches", "id:S", indexes=[BY_REGION, BY_PLAYER])
    for name, tournament, region, number, bracket in MATCHES:
        item = {
            "id": s(name),
            "tournament": s(tournament),
            "region": s(region),
            "round": n(number),
            "bracket": s(bracket),
        }
        call("PutItem", TableName="matches", Item=item)


def asked(condition: str, values: dict[str, Any], **members: Any) -> dict[str, Any]:
    names = {f"#{name}": name for name in ("region", "round") if f"#{name}" in condition}
    request = {
        "TableName": "matches",
        "IndexName": "by_region",
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": values,
    }
    return request | ({"ExpressionAttributeNames": names} if names else {}) | members


EAST = {":t": s("winter"), ":r": s("east")}
WHOLE = "tournament = :t AND #region = :r"


def ids(items: list[dict[str, Any]]) -> list[str]:
    return [item["id"]["S"] for item in items]


def test_description(call: Call) -> None:
    described = create(call, "matches", "id:S", indexes=[BY_REGION])["TableDescription"]
    expected = [
        {"AttributeName": "tournament", "KeyType": "HASH"},
        {"AttributeName": "region", "KeyType": "HASH"},
        {"AttributeName": "round", "KeyType": "RANGE"},
        {"AttributeName": "bracket", "KeyType": "RANGE"},
        {"AttributeName": "id", "KeyType": "RANGE"},
    ]
    assert described["GlobalSecondaryIndexes"][0]["KeySchema"] == expected


def test_four_and_four_attributes(call: Call) -> None:
    create(call, "wide", "id:S", indexes=[index("widest", "a:S b:N c:B d:S", "e:S f:N g:B h:S")])
    values = {name: s(name) for name in "adeh"} | {"b": n(1), "f": n(2), "c": b(b"c"), "g": b(b"g")}
    call("PutItem", TableName="wide", Item={"id": s("1"), **values})
    answer = call(
        "Query",
        TableName="wide",
        IndexName="widest",
        KeyConditionExpression=" AND ".join(f"{name} = :{name}" for name in values),
        ExpressionAttributeValues={f":{name}": value for name, value in values.items()},
    )
    assert ids(answer["Items"]) == ["1"]


# Numbers order as numbers, and a later attribute decides only where the earlier ones are equal.
@pytest.mark.usefixtures("matches")
def test_order(call: Call) -> None:
    assert ids(walk(call, "Query", **asked(WHOLE, EAST))) == ["m6", "m3", "m1", "m2"]
    assert ids(walk(call, "Query", **asked(WHOLE, EAST, ScanIndexForward=False))) == ["m2", "m1", "m3", "m6"]


@pytest.mark.usefixtures("matches")
@pytest.mark.parametrize(
    ("condition", "values", "found"),
    [
        ("#round = :n", {":n": n(2)}, ["m3", "m1"]),
        ("#round > :n", {":n": n(1)}, ["m3", "m1", "m2"]),
        ("#round <= :n", {":n": n(2)}, ["m6", "m3", "m1"]),
        ("#round < :n", {":n": n(2)}, ["m6"]),
        ("#round BETWEEN :n AND :m", {":n": n(2), ":m": n(10)}, ["m3", "m1", "m2"]),
        ("#round = :n AND begins_with(bracket, :b)", {":n": n(2), ":b": s("up")}, ["m1"]),
        ("#round = :n AND bracket >= :b", {":n": n(2), ":b": s("m")}, ["m1"]),
        ("#round = :n AND bracket = :b AND id < :i", {":n": n(2), ":b": s("lower"), ":i": s("m4")}, ["m3"]),
        ("#round = :n AND bracket = :b AND id < :i", {":n": n(2), ":b": s("lower"), ":i": s("m3")}, []),
    ],
)
def test_ranges(call: Call, condition: str, values: dict[str, Any], found: list[str]) -> None:
    assert ids(walk(call, "Query", **asked(f"{WHOLE} AND {condition}", EAST | values))) == found


@pytest.mark.usefixtures("matches")
def test_legacy_key_conditions(call: Call) -> None:
    conditions = {
        "bracket": {"ComparisonOperator": "GE", "AttributeValueList": [s("m")]},
        "round": {"ComparisonOperator": "EQ", "AttributeValueList": [n(2)]},
        "region": {"ComparisonOperator": "EQ", "AttributeValueList": [s("east")]},
        "tournament": {"ComparisonOperator": "EQ", "AttributeValueList": [s("winter")]},
    }
    answer = call("Query", TableName="matches", IndexName="by_region", KeyConditions=conditions)
    assert ids(answer["Items"]) == ["m1"]


@pytest.mark.usefixtures("matches")
def test_rejects_gaps_and_early_ranges(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ValidationException", "Query condition missed key schema element: region"):
        call("Query", **asked("tournament = :t", {":t": s("winter")}))
    with expect_error("ValidationException", "Query condition missed key schema element: round"):
        call("Query", **asked(f"{WHOLE} AND bracket = :b", EAST | {":b": s("upper")}))
    with expect_error("ValidationException"):
        call("Query", **asked(f"{WHOLE} AND #round > :n AND bracket = :b", EAST | {":n": n(1), ":b": s("x")}))


@pytest.mark.usefixtures("matches")
def test_a_filter_has_no_key_attribute(call: Call, expect_error: ExpectError) -> None:
    message = "Filter Expression can only contain non-primary key attributes: Primary key attribute: bracket"
    with expect_error("ValidationException", message):
        call("Query", **asked(WHOLE, EAST | {":b": s("upper")}, FilterExpression="bracket = :b"))


@pytest.mark.usefixtures("matches")
@pytest.mark.parametrize("lacking", ["tournament", "region", "round", "bracket"])
def test_an_item_without_one_of_the_attributes_is_not_in_the_index(call: Call, lacking: str) -> None:
    call(
        "UpdateItem",
        TableName="matches",
        Key={"id": s("m1")},
        UpdateExpression="REMOVE #it",
        ExpressionAttributeNames={"#it": lacking},
    )
    assert ids(walk(call, "Query", **asked(WHOLE, EAST))) == ["m6", "m3", "m2"]
    assert len(walk(call, "Scan", TableName="matches", IndexName="by_region")) == 5


@pytest.mark.usefixtures("matches")
def test_changing_any_attribute_moves_the_row(call: Call) -> None:
    for name, value in (("round", n(11)), ("bracket", s("zero"))):
        call(
            "UpdateItem",
            TableName="matches",
            Key={"id": s("m6")},
            UpdateExpression="SET #it = :v",
            ExpressionAttributeNames={"#it": name},
            ExpressionAttributeValues={":v": value},
        )
        assert ids(walk(call, "Query", **asked(WHOLE, EAST))) == ["m3", "m1", "m2", "m6"]
    call("DeleteItem", TableName="matches", Key={"id": s("m6")})
    assert ids(walk(call, "Query", **asked(WHOLE, EAST))) == ["m3", "m1", "m2"]


@pytest.mark.usefixtures("matches")
def test_pages_go_on_from_all_the_attributes(call: Call) -> None:
    first, *others = pages(call, "Query", **asked(WHOLE, EAST, Limit=1))
    assert first["LastEvaluatedKey"] == {
        "tournament": s("winter"),
        "region": s("east"),
        "round": n(-1),
        "bracket": s("upper"),
        "id": s("m6"),
    }
    assert [ids(page["Items"]) for page in [first, *others]] == [["m6"], ["m3"], ["m1"], ["m2"], []]
    scanned = walk(call, "Scan", TableName="matches", IndexName="by_region", Limit=1)
    assert sorted(ids(scanned)) == ["m1", "m2", "m3", "m4", "m5", "m6"]


@pytest.mark.usefixtures("matches")
def test_a_starting_key_lies_in_the_query(call: Call, expect_error: ExpectError) -> None:
    start = {"tournament": s("winter"), "region": s("west"), "round": n(2), "bracket": s("lower"), "id": s("m3")}
    with expect_error(
        "ValidationException",
        "The provided starting key is outside query boundaries based on provided conditions",
    ):
        call("Query", **asked(WHOLE, EAST, ExclusiveStartKey=start))
    condition = f"{WHOLE} AND #round = :n AND bracket > :b"
    values = EAST | {":n": n(3), ":b": s("a")}
    with expect_error("ValidationException", "The provided starting key does not match the range key predicate"):
        call("Query", **asked(condition, values, ExclusiveStartKey=start | {"region": s("east")}))
    with expect_error("ValidationException", "The provided starting key is invalid"):
        call("Query", **asked(WHOLE, EAST, ExclusiveStartKey={"id": s("m3"), "tournament": s("winter")}))


# Every key attribute must have its declared type, even if the item is not in the index because it lacks another.
@pytest.mark.usefixtures("matches")
def test_types_are_checked_on_writing(call: Call, expect_error: ExpectError) -> None:
    message = "Type mismatch for Index Key seal Expected: B Actual: S IndexName: by_player"
    with expect_error("ValidationException", f"One or more parameter values were invalid: {message}"):
        call("PutItem", TableName="matches", Item={"id": s("m7"), "seal": s("x")})
    with expect_error("ValidationException"):
        call(
            "UpdateItem",
            TableName="matches",
            Key={"id": s("m1")},
            UpdateExpression="SET bracket = :v",
            ExpressionAttributeValues={":v": n(1)},
        )
    with expect_error("ValidationException"):
        call("PutItem", TableName="matches", Item={"id": s("m7"), "bracket": s("")})


# A sort key has 1,024 bytes, whether one attribute takes them or four do.
@pytest.mark.usefixtures("matches")
def test_lengths_are_added_up(call: Call, expect_error: ExpectError) -> None:
    item = {"id": s("m" * 500), "tournament": s("t"), "region": s("r"), "round": n(1)}
    call("PutItem", TableName="matches", Item=item | {"bracket": s("é" * 261)})
    message = (
        "One or more parameter values were invalid: Size limit exceeded for Index Key round, bracket, id "
        "Actual Size: 1026 bytes Max Size: 1024 bytes IndexName: by_region"
    )
    with expect_error("ValidationException", message):
        call("PutItem", TableName="matches", Item=item | {"bracket": s("é" * 262)})
    with expect_error(
        "ValidationException",
        "The update expression attempted to update the secondary index key beyond allowed size limits",
    ):
        call(
            "UpdateItem",
            TableName="matches",
            Key={"id": item["id"]},
            UpdateExpression="SET bracket = :v",
            ExpressionAttributeValues={":v": s("é" * 262)},
        )


def test_projection(call: Call) -> None:
    create(call, "matches", "id:S", indexes=[BY_PLAYER])
    item = {"id": s("m1"), "player": s("p"), "round": n(1), "seal": b(b"\x00"), "note": s("x")}
    call("PutItem", TableName="matches", Item=item)
    found = walk(call, "Scan", TableName="matches", IndexName="by_player")
    assert found == [{name: value for name, value in item.items() if name != "note"}]


def test_an_index_that_is_added_later_is_filled(call: Call, db: Database) -> None:
    create(call, "matches", "id:S")
    for name, *_, number, bracket in MATCHES:
        call("PutItem", TableName="matches", Item={"id": s(name), "round": n(number), "bracket": s(bracket)})
    call("PutItem", TableName="matches", Item={"id": s("m7"), "round": n(1)})
    call(
        "UpdateTable",
        TableName="matches",
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": kind} for name, kind in (("round", "N"), ("bracket", "S"))
        ],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "later",
                    "KeySchema": [
                        {"AttributeName": "bracket", "KeyType": "HASH"},
                        {"AttributeName": "round", "KeyType": "HASH"},
                    ],
                    "Projection": {"ProjectionType": "ALL"},
                }
            }
        ],
    )
    db.janitor.sweep()
    answer = call(
        "Query",
        TableName="matches",
        IndexName="later",
        KeyConditionExpression="#r = :r AND bracket = :b",
        ExpressionAttributeNames={"#r": "round"},
        ExpressionAttributeValues={":r": n(2), ":b": s("lower")},
    )
    assert ids(answer["Items"]) == ["m3"]
    assert len(walk(call, "Scan", TableName="matches", IndexName="later")) == 6
