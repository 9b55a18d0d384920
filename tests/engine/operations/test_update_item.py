"""UpdateItem: some attributes of one item, which is created if it does not exist."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.conftest import Call, ExpectError
from tests.engine.samples import create, index, n, s

INVALID = "One or more parameter values were invalid: "
KEY = {"id": s("1")}


@pytest.fixture(autouse=True)
def table(call: Call) -> None:
    create(call, "table", "id:S", indexes=[index("by_city", "city:S", "weight:N"), index("by_day", "day:S")])


def put(call: Call, **attributes: Any) -> None:
    call("PutItem", TableName="table", Item={**KEY, **attributes})


def read(call: Call) -> dict[str, Any]:
    item: dict[str, Any] = call("GetItem", TableName="table", Key=KEY)["Item"]
    return item


def update(call: Call, expression: str, values: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    if values is not None:
        members["ExpressionAttributeValues"] = values
    return call("UpdateItem", TableName="table", Key=KEY, UpdateExpression=expression, **members)


def count(call: Call, name: str) -> int:
    found: int = call("Scan", TableName="table", IndexName=name)["Count"]
    return found


def test_creates_a_missing_item(call: Call) -> None:
    update(call, "SET v = :v", {":v": n(1)})
    assert read(call) == {"id": s("1"), "v": n(1)}


def test_without_an_update_creates_an_item_of_only_the_key(call: Call) -> None:
    assert call("UpdateItem", TableName="table", Key=KEY) == {}
    assert read(call) == KEY


def test_leaves_other_attributes(call: Call) -> None:
    put(call, a=n(1), b=n(2))
    update(call, "SET a = :v", {":v": n(3)})
    assert read(call) == {"id": s("1"), "a": n(3), "b": n(2)}


def test_four_clauses_at_once(call: Call) -> None:
    put(call, hits=n(10), gone=s("x"), tags={"SS": ["a", "b"]}, log={"L": [s("0")]}, deep={"M": {"x": n(1)}})
    update(
        call,
        "SET deep.x = deep.x - :one, #l = list_append(#l, :more), born = if_not_exists(born, :one) "
        "REMOVE gone ADD hits :one DELETE tags :tags",
        {":one": n(1), ":more": {"L": [s("1")]}, ":tags": {"SS": ["a"]}},
        ExpressionAttributeNames={"#l": "log"},
    )
    assert read(call) == {
        "id": s("1"),
        "hits": n(11),
        "tags": {"SS": ["b"]},
        "log": {"L": [s("0"), s("1")]},
        "deep": {"M": {"x": n(0)}},
        "born": n(1),
    }


# Right-hand sides see the item as it was, so a swap needs no temporary attribute.
def test_right_hand_sides_see_the_item_before(call: Call) -> None:
    put(call, a=n(1), b=n(2))
    update(call, "SET a = b, b = a")
    assert read(call) == {"id": s("1"), "a": n(2), "b": n(1)}


@pytest.mark.parametrize(
    ("wanted", "attributes"),
    [
        ("NONE", None),
        ("ALL_OLD", {"id": s("1"), "a": n(1), "b": n(2), "m": {"M": {"x": n(1), "y": n(1)}}}),
        ("UPDATED_OLD", {"a": n(1), "m": {"M": {"x": n(1)}}}),
        ("ALL_NEW", {"id": s("1"), "b": n(2), "m": {"M": {"x": n(5), "y": n(1)}}, "c": n(5)}),
        ("UPDATED_NEW", {"m": {"M": {"x": n(5)}}, "c": n(5)}),
    ],
)
def test_return_values(call: Call, wanted: str, attributes: dict[str, Any] | None) -> None:
    put(call, a=n(1), b=n(2), m={"M": {"x": n(1), "y": n(1)}})
    answer = update(call, "SET m.x = :v, c = :v REMOVE a", {":v": n(5)}, ReturnValues=wanted)
    assert answer.get("Attributes") == attributes


# Without attributes to return, the answer has no Attributes.
@pytest.mark.parametrize("wanted", ["ALL_OLD", "UPDATED_OLD"])
def test_new_item_has_no_old_attributes(call: Call, wanted: str) -> None:
    assert update(call, "SET v = :v", {":v": n(1)}, ReturnValues=wanted) == {}


def test_false_condition_changes_nothing(call: Call, expect_error: ExpectError) -> None:
    put(call, v=n(1))
    with expect_error("ConditionalCheckFailedException", "The conditional request failed") as caught:
        update(
            call,
            "SET v = :new",
            {":new": n(2), ":old": n(0)},
            ConditionExpression="v = :old",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert caught.value.members["Item"].text == b'{"id":{"S":"1"},"v":{"N":"1"}}'
    assert read(call) == {"id": s("1"), "v": n(1)}


@pytest.mark.parametrize("expression", ["SET id = :v", "SET id.x = :v", "ADD id :v"])
def test_key_cannot_be_updated(call: Call, expect_error: ExpectError, expression: str) -> None:
    message = INVALID + "Cannot update attribute id. This attribute is part of the key"
    with expect_error("ValidationException", message):
        update(call, expression, {":v": n(1)})


# Of two errors, the key's is reported.
def test_wrong_key_comes_before_the_expression(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ValidationException", "The provided key element does not match the schema"):
        call("UpdateItem", TableName="table", Key={"id": n(1)}, UpdateExpression="REMOVE id")


# An index key is scalar as well, wherever in the expression the path is.
@pytest.mark.parametrize("expression", ["SET city.x = :v", "SET w = if_not_exists(city[0], :v)"])
def test_no_path_leads_into_an_index_key(call: Call, expect_error: ExpectError, expression: str) -> None:
    rule = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: IndexKey: city"
    with expect_error("ValidationException", rule):
        update(call, expression, {":v": n(1)})


# Boosts end by leaving the sparse index; a stale row keeps the ad showing.
def test_removing_the_index_key_drops_the_index_row(call: Call) -> None:
    put(call, day=s("mon"))
    assert count(call, "by_day") == 1
    update(call, "REMOVE #d", ExpressionAttributeNames={"#d": "day"})
    assert count(call, "by_day") == 0


def test_changing_the_index_key_moves_the_index_row(call: Call) -> None:
    put(call, city=s("Rome"), weight=n(1))
    update(call, "SET city = :c, v = :c", {":c": s("Oslo")})
    found = call("Scan", TableName="table", IndexName="by_city")["Items"]
    assert found == [{"id": s("1"), "city": s("Oslo"), "weight": n(1), "v": s("Oslo")}]


# An item is in an index only if it has all of the index's key.
def test_item_enters_the_index_when_its_key_is_complete(call: Call) -> None:
    put(call, city=s("Rome"))
    assert count(call, "by_city") == 0
    update(call, "ADD weight :one", {":one": n(1)})
    assert count(call, "by_city") == 1


def test_index_key_keeps_its_type(call: Call, expect_error: ExpectError) -> None:
    message = "The update expression attempted to update the secondary index key to unsupported type"
    with expect_error("ValidationException", message):
        update(call, "SET city = :v", {":v": n(1)})


def test_index_key_keeps_within_its_limit(call: Call, expect_error: ExpectError) -> None:
    message = "The update expression attempted to update the secondary index key beyond allowed size limits"
    with expect_error("ValidationException", message):
        update(call, "SET city = :v", {":v": s("x" * 2049)})


def test_index_key_cannot_become_empty(call: Call, expect_error: ExpectError) -> None:
    message = (
        "One or more parameter values are not valid. The update expression attempted to update a secondary index key "
        "to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty string value."
    )
    with expect_error("ValidationException", message):
        update(call, "SET city = :v", {":v": s("")})


def test_update_cannot_outgrow_400_kb(call: Call, expect_error: ExpectError) -> None:
    put(call, v=s("x" * 300_000))
    with expect_error("ValidationException", "Item size to update has exceeded the maximum allowed size"):
        update(call, "SET w = :w", {":w": s("x" * 200_000)})
    assert "w" not in read(call)


# The document may grow one level at a time; the limit holds for the whole.
def test_update_cannot_outgrow_the_nesting(call: Call, expect_error: ExpectError) -> None:
    value: dict[str, Any] = {"M": {}}
    for _ in range(30):
        value = {"M": {"m": value}}
    put(call, deep=value)
    with expect_error("ValidationException"):
        update(call, "SET wrap = :w, wrap2 = deep", {":w": {"L": [{"L": [value]}]}})


def test_attribute_updates_is_the_old_update(call: Call) -> None:
    put(call, a=n(1), hits=n(1), tags={"SS": ["a", "b"]}, gone=n(1))
    answer = call(
        "UpdateItem",
        TableName="table",
        Key=KEY,
        AttributeUpdates={
            "a": {"Action": "PUT", "Value": n(2)},
            "hits": {"Action": "ADD", "Value": n(4)},
            "tags": {"Action": "DELETE", "Value": {"SS": ["a"]}},
            "gone": {"Action": "DELETE"},
        },
        Expected={"a": {"ComparisonOperator": "LT", "AttributeValueList": [n(2)]}},
        ReturnValues="ALL_NEW",
    )
    assert answer["Attributes"] == {"id": s("1"), "a": n(2), "hits": n(5), "tags": {"SS": ["b"]}}


def test_two_generations_of_parameters_do_not_mix(call: Call, expect_error: ExpectError) -> None:
    message = (
        "1 validation error detected: "
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {AttributeUpdates} Expression parameters: {UpdateExpression}"
    )
    with expect_error("ValidationException", message):
        update(call, "SET v = :v", {":v": n(1)}, AttributeUpdates={"w": {"Value": n(1)}})


def test_every_value_must_be_used(call: Call, expect_error: ExpectError) -> None:
    message = (
        "1 validation error detected: Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}"
    )
    with expect_error("ValidationException", message):
        update(call, "SET v = :v", {":v": n(1), ":w": n(2)})


def test_missing_table(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ResourceNotFoundException", "Requested resource not found"):
        call("UpdateItem", TableName="nowhere", Key=KEY)


# An index costs nothing if its projection does not change; otherwise as much as the projected item.
def test_capacity(call: Call) -> None:
    put(call, day=s("mon"), v=s("x" * 1500))
    answer = update(call, "REMOVE v", ReturnConsumedCapacity="INDEXES")
    assert answer["ConsumedCapacity"] == {
        "TableName": "table",
        "CapacityUnits": 4.0,
        "Table": {"CapacityUnits": 2.0},
        "GlobalSecondaryIndexes": {"by_day": {"CapacityUnits": 2.0}},
    }
