"""BatchGetItem and BatchWriteItem: several tables at once, duplicates, limits and what is left over."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.pair import Pair
from tests.oracle.tables import PLAIN


def key(name: str) -> dict[str, Any]:
    return {"pk": {"S": name}}


def order(name: str) -> dict[str, Any]:
    return {"pk": {"S": "p"}, "sk": {"S": name}}


def put(item: dict[str, Any]) -> dict[str, Any]:
    return {"PutRequest": {"Item": item}}


def delete(name: dict[str, Any]) -> dict[str, Any]:
    return {"DeleteRequest": {"Key": name}}


@pytest.fixture
def both(orders: Pair) -> Pair:
    orders.create(PLAIN)
    return orders


@pytest.mark.parametrize("detail", ["NONE", "TOTAL", "INDEXES"])
def test_writing_and_reading_two_tables(both: Pair, detail: str) -> None:
    puts = [put(order(f"s{number}") | {"n": {"N": str(number)}, "kind": {"S": "k"}}) for number in range(3)]
    request = {"plain": [put(key("a")), put(key("b"))], "orders": puts}
    both.answer("BatchWriteItem", RequestItems=request, ReturnConsumedCapacity=detail)
    both.answer("BatchWriteItem", RequestItems=request, ReturnConsumedCapacity=detail)
    read = {
        "plain": {"Keys": [key("a"), key("gone"), key("b")]},
        "orders": {"Keys": [order("s0"), order("s2")], "ConsistentRead": True, "ProjectionExpression": "sk, n"},
    }
    both.answer("BatchGetItem", RequestItems=read, ReturnConsumedCapacity=detail)
    deletes = {"plain": [delete(key("a")), delete(key("gone")), put(key("c"))], "orders": [delete(order("s1"))]}
    both.answer("BatchWriteItem", RequestItems=deletes, ReturnConsumedCapacity=detail)
    both.answer("Scan", TableName="plain")
    both.answer("Scan", TableName="orders", IndexName="by_kind")


@pytest.mark.parametrize(
    "requests",
    [
        {},
        {"plain": []},
        {"missing": [put({"pk": {"S": "a"}})]},
        {"plain": [put({"pk": {"S": "a"}})], "missing": [put({"pk": {"S": "a"}})]},
        {"plain": [put(key("a")), put(key("a"))]},
        {"plain": [put(key("a")), delete(key("a"))]},
        {"plain": [delete(key("a")), delete(key("a"))]},
        {"plain": [put(key(str(number))) for number in range(25)]},
        {"plain": [put(key(str(number))) for number in range(26)]},
        {"plain": [{}]},
        {"plain": [{"PutRequest": {"Item": key("a")}, "DeleteRequest": {"Key": key("b")}}]},
        {"plain": [{"PutRequest": {}}]},
        {"plain": [{"DeleteRequest": {}}]},
        {"plain": [put({"a": {"S": "no key"}})]},
        {"plain": [delete({"a": {"S": "no key"}})]},
        {"plain": [put(key("a")), put({"pk": {"N": "1"}})]},
        {"plain": [put(key("a") | {"a": {"S": "x" * 409_600}})]},
        {"p!": [put(key("a"))]},
        {"plain": [put(key("a") | {"s": {"SS": []}})]},
        {"plain": [put(key("a") | {"s": {}})]},
    ],
    ids=lambda requests: str(requests)[:70],
)
def test_batches_of_writes(both: Pair, requests: dict[str, Any]) -> None:
    both.same("BatchWriteItem", RequestItems=requests)
    both.same("Scan", TableName="plain")


@pytest.mark.parametrize(
    "requests",
    [
        {},
        {"plain": {}},
        {"plain": {"Keys": []}},
        {"missing": {"Keys": [key("a")]}},
        {"plain": {"Keys": [key("a"), key("a")]}},
        {"plain": {"Keys": [key(str(number)) for number in range(100)]}},
        {"plain": {"Keys": [key(str(number)) for number in range(101)]}},
        {"plain": {"Keys": [{"a": {"S": "x"}}]}},
        {"plain": {"Keys": [key("a"), {"pk": {"N": "1"}}]}},
        {"plain": {"Keys": [key("a")], "AttributesToGet": ["a"]}},
        {"plain": {"Keys": [key("a")], "AttributesToGet": ["a"], "ProjectionExpression": "a"}},
        {"plain": {"Keys": [key("a")], "ProjectionExpression": "#a"}},
        {"plain": {"Keys": [key("a")], "ExpressionAttributeNames": {"#a": "a"}}},
        {"plain": {"Keys": [key("a")], "ProjectionExpression": "a", "ExpressionAttributeNames": {"#a": "a"}}},
        {"plain": {"Keys": [key("a")], "ProjectionExpression": ""}},
    ],
    ids=lambda requests: str(requests)[:70],
)
def test_batches_of_reads(both: Pair, requests: dict[str, Any]) -> None:
    both.answer("PutItem", TableName="plain", Item=key("a") | {"a": {"S": "x"}, "b": {"S": "y"}})
    both.same("BatchGetItem", RequestItems=requests)
