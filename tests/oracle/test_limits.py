"""DynamoDB's limits, each from both sides: what just fits, and what is rejected."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.pair import Pair
from tests.oracle.tables import index, table
from tests.oracle.walk import walk_together

KEY = {"pk": {"S": "x"}}
ITEM = 400 * 1024


def nested(depth: int, tag: str) -> dict[str, Any]:
    value: dict[str, Any] = {"S": "x"}
    for _ in range(depth):
        value = {"L": [value]} if tag == "L" else {"M": {"m": value}}
    return value


@pytest.mark.parametrize("tag", ["L", "M"])
@pytest.mark.parametrize("depth", [30, 31, 32, 33])
def test_nesting(plain: Pair, tag: str, depth: int) -> None:
    plain.same("PutItem", TableName="plain", Item=KEY | {"a": nested(depth, tag)})
    plain.same(
        "UpdateItem",
        TableName="plain",
        Key=KEY,
        UpdateExpression="SET a = :v",
        ExpressionAttributeValues={":v": nested(depth, tag)},
    )
    plain.same("GetItem", TableName="plain", Key=KEY)


# "pk", "x" and "a" are four bytes of the item.
@pytest.mark.parametrize("size", [ITEM - 5, ITEM - 4, ITEM - 3])
def test_item_size(plain: Pair, size: int) -> None:
    plain.same("PutItem", TableName="plain", Item=KEY | {"a": {"S": "x" * size}})
    plain.same("Scan", TableName="plain", Select="COUNT")
    plain.same("BatchWriteItem", RequestItems={"plain": [{"PutRequest": {"Item": KEY | {"a": {"S": "x" * size}}}}]})


@pytest.mark.parametrize("size", [ITEM // 2 - 3, ITEM // 2 - 2, ITEM // 2])
def test_size_of_an_updated_item(plain: Pair, size: int) -> None:
    plain.answer("PutItem", TableName="plain", Item=KEY | {"a": {"S": "x" * (ITEM // 2)}})
    request = {"TableName": "plain", "Key": KEY, "UpdateExpression": "SET b = :v"}
    plain.same("UpdateItem", **request, ExpressionAttributeValues={":v": {"S": "x" * (size - 2)}})
    plain.same("Scan", TableName="plain", Select="COUNT")


@pytest.mark.parametrize(
    "value",
    [
        {"N": "1" * 38},
        {"B": "YWJj" * 1000},
        {"L": [{"N": "1"}] * 1000},
        {"M": {f"m{number}": {"BOOL": True} for number in range(500)}},
        {"SS": [f"s{number}" for number in range(1000)]},
        {"NS": [str(number) for number in range(1000)]},
        {"NULL": True},
    ],
    ids=lambda value: next(iter(value)),
)
def test_what_counts_as_size(plain: Pair, value: dict[str, Any]) -> None:
    """An item of every type, filled up with text to a whole number of units, and one byte more."""
    plain.answer("PutItem", TableName="plain", Item=KEY | {"a": value})
    for filling in range(0, 1100, 100):
        item = KEY | {"a": value, "f": {"S": "x" * filling}}
        plain.answer("PutItem", TableName="plain", Item=item, ReturnConsumedCapacity="TOTAL")


@pytest.mark.parametrize("length", [255, 256, 65_535, 65_536])
def test_attribute_names(plain: Pair, length: int) -> None:
    plain.same("PutItem", TableName="plain", Item=KEY | {"a" * length: {"S": "x"}})
    plain.same(
        "GetItem",
        TableName="plain",
        Key=KEY,
        ProjectionExpression="#a",
        ExpressionAttributeNames={"#a": "a" * length},
    )
    plain.same("GetItem", TableName="plain", Key=KEY, AttributesToGet=["a" * length])


@pytest.mark.parametrize("length", [255, 256])
@pytest.mark.parametrize("sign", ["#", ":"])
def test_placeholders(plain: Pair, sign: str, length: int) -> None:
    placeholder = sign + "p" * (length - 1)
    request: dict[str, Any] = {"TableName": "plain", "FilterExpression": "a = :v"}
    request["ExpressionAttributeValues"] = {":v": {"S": "x"}}
    if sign == "#":
        request |= {"FilterExpression": f"{placeholder} = :v", "ExpressionAttributeNames": {placeholder: "a"}}
    else:
        request |= {"FilterExpression": f"a = {placeholder}", "ExpressionAttributeValues": {placeholder: {"S": "x"}}}
    plain.same("Scan", **request)


@pytest.mark.parametrize("length", [4096, 4097])
@pytest.mark.parametrize("member", ["FilterExpression", "ProjectionExpression"])
def test_length_of_expressions(plain: Pair, member: str, length: int) -> None:
    expression = "attribute_exists(pk)" if member == "FilterExpression" else "pk"
    plain.same("Scan", **{"TableName": "plain", member: expression.ljust(length)})


@pytest.mark.parametrize("count", [99, 100, 101])
def test_choices_of_in(plain: Pair, count: int) -> None:
    values = {f":v{number}": {"N": str(number)} for number in range(count)}
    condition = f"a IN ({', '.join(values)})"
    plain.same("Scan", TableName="plain", FilterExpression=condition, ExpressionAttributeValues=values)


@pytest.mark.parametrize("operators", [299, 300, 301, 302])
def test_operators(plain: Pair, operators: int) -> None:
    condition = " OR ".join(["a=:v"] * ((operators + 1) // 2))
    request = {"TableName": "plain", "FilterExpression": f"NOT {condition}" if operators % 2 == 0 else condition}
    plain.same("Scan", **request, ExpressionAttributeValues={":v": {"N": "1"}})


@pytest.mark.parametrize("depth", [31, 32, 33])
def test_depth_of_paths(plain: Pair, depth: int) -> None:
    path = ".".join(["a"] * depth)
    plain.same("Scan", TableName="plain", FilterExpression=f"attribute_exists({path})")
    plain.same("GetItem", TableName="plain", Key=KEY, ProjectionExpression=path)


@pytest.mark.parametrize("depth", [5, 50])
def test_depth_of_logic(plain: Pair, depth: int) -> None:
    condition = "a=:v"
    for _ in range(depth):
        condition = f"NOT ({condition} AND a=:v)"
    plain.same("Scan", TableName="plain", FilterExpression=condition, ExpressionAttributeValues={":v": {"N": "1"}})


# An item's rows in local indexes count as part of it.
@pytest.mark.parametrize("size", [204_790, 204_791])
def test_size_with_local_indexes(orders: Pair, size: int) -> None:
    item = {"pk": {"S": "p"}, "sk": {"S": "s"}, "a": {"S": "x" * size}, "n": {"N": "1"}}
    orders.same("PutItem", TableName="orders", Item=item)
    orders.same("BatchWriteItem", RequestItems={"orders": [{"PutRequest": {"Item": item}}]})
    orders.same("Scan", TableName="orders", Select="COUNT")


# A page ends with the row that reaches a megabyte, before the filter.
@pytest.mark.parametrize("kilobytes", [100, 250, 399])
def test_pages_of_a_megabyte(pair: Pair, kilobytes: int) -> None:
    pair.create(table("large", "pk", "sk", types="n:N", global_=[index("by_kind", "kind", "n")]))
    for number in range(8):
        item = {"pk": {"S": "p"}, "sk": {"S": f"s{number}"}, "a": {"S": "x" * kilobytes * 1000}, "kind": {"S": "p"}}
        pair.answer("PutItem", TableName="large", Item=item | {"n": {"N": str(number)}})
    request: dict[str, Any] = {
        "TableName": "large",
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": {"S": "p"}},
        "Select": "COUNT",
        "ReturnConsumedCapacity": "TOTAL",
    }
    for forward in (True, False):
        assert walk_together(pair, request | {"ScanIndexForward": forward}) == 8
    filtered = {"FilterExpression": "n > :n", "ExpressionAttributeValues": {":p": {"S": "p"}, ":n": {"N": "5"}}}
    assert walk_together(pair, request | filtered) == 2
    on_index = {"IndexName": "by_kind", "KeyConditionExpression": "kind = :p"}
    assert walk_together(pair, request | on_index) == 8
