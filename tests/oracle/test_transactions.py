"""TransactWriteItems and TransactGetItems: all or nothing, with a reason for each action."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.pair import Pair
from tests.oracle.tables import PLAIN

# Tokens outlive their tables.
pytestmark = pytest.mark.own_namespace

Action = dict[str, Any]


def key(name: str) -> dict[str, Any]:
    return {"pk": {"S": name}}


def put(name: str, **members: Any) -> Action:
    return {"Put": {"TableName": "plain", "Item": key(name) | {"n": {"N": "1"}}, **members}}


def delete(name: str, **members: Any) -> Action:
    return {"Delete": {"TableName": "plain", "Key": key(name), **members}}


def update(name: str, expression: str = "SET n = n + :v", **members: Any) -> Action:
    values = {"ExpressionAttributeValues": {":v": {"N": "1"}}} if ":v" in expression else {}
    return {"Update": {"TableName": "plain", "Key": key(name), "UpdateExpression": expression, **values, **members}}


def check(name: str, condition: str, **members: Any) -> Action:
    return {"ConditionCheck": {"TableName": "plain", "Key": key(name), "ConditionExpression": condition, **members}}


ABSENT = {"ConditionExpression": "attribute_not_exists(pk)"}
OLD = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}


@pytest.fixture
def both(orders: Pair) -> Pair:
    """Three items in `plain`: a, b and c."""
    orders.create(PLAIN)
    for name in "abc":
        orders.answer("PutItem", TableName="plain", Item=key(name) | {"n": {"N": "5"}, "s": {"S": "text"}})
    return orders


WRITES: dict[str, list[Action]] = {
    "one of each": [put("new"), update("a"), delete("b"), check("c", "attribute_exists(pk)")],
    "only a check": [check("a", "attribute_exists(pk)")],
    "first fails": [put("a", **ABSENT), put("new")],
    "last fails": [put("new"), delete("gone"), check("a", "attribute_not_exists(pk)")],
    "several fail": [put("a", **ABSENT), put("new"), delete("b", **ABSENT), update("c", "REMOVE s", **ABSENT)],
    "failures return items": [
        put("a", **ABSENT, **OLD),
        update("b", "REMOVE s", **ABSENT, **OLD),
        delete("c", **ABSENT, **OLD),
        check("gone", "attribute_exists(pk)", **OLD),
        put("new", **OLD),
    ],
    "update of what is not there": [put("new"), update("gone")],
    "update of a wrong type": [put("new"), update("a", "SET s = s + :v")],
    "update of a missing path": [put("new"), update("a", "SET x.y = :v")],
    "update of a key": [put("new"), update("a", "SET pk = :v")],
    "wrong value and failed condition": [update("a", "SET s = s + :v"), put("b", **ABSENT)],
    "key of a wrong type": [put("new"), {"Delete": {"TableName": "plain", "Key": {"pk": {"N": "1"}}}}],
    "key of a wrong name": [put("new"), {"Delete": {"TableName": "plain", "Key": {"x": {"S": "1"}}}}],
    "item without key": [put("new"), {"Put": {"TableName": "plain", "Item": {"x": {"S": "1"}}}}],
    "item of a wrong key type": [put("new"), {"Put": {"TableName": "plain", "Item": {"pk": {"N": "1"}}}}],
    "value that is none": [put("new"), {"Put": {"TableName": "plain", "Item": key("x") | {"s": {"SS": []}}}}],
    "twice the same item": [put("a"), update("a")],
    "checked and written": [check("a", "attribute_exists(pk)"), delete("a")],
    "wrong expression": [put("new"), check("a", "attribute_exists(")],
    "unused value": [put("new"), check("a", "attribute_exists(pk)", ExpressionAttributeValues={":v": {"S": "x"}})],
    "check without condition": [{"ConditionCheck": {"TableName": "plain", "Key": key("a")}}],
    "two actions in one": [put("a") | delete("b")],
    "no action": [{}],
    "none": [],
    "missing table": [put("new"), {"Put": {"TableName": "missing", "Item": key("a")}}],
    "a hundred": [put(f"n{number}") for number in range(100)],
    "a hundred and one": [put(f"n{number}") for number in range(101)],
    "two tables": [
        put("new"),
        {"Put": {"TableName": "orders", "Item": {"pk": {"S": "p"}, "sk": {"S": "s"}, "n": {"N": "1"}}}},
    ],
    "index key of a wrong type": [
        {"Put": {"TableName": "orders", "Item": {"pk": {"S": "p"}, "sk": {"S": "s"}, "n": {"S": "1"}}}},
        put("new"),
    ],
    "too large": [put("new"), {"Put": {"TableName": "plain", "Item": key("x") | {"s": {"S": "x" * 409_600}}}}],
    "four megabytes": [
        {"Put": {"TableName": "plain", "Item": key(f"x{number}") | {"s": {"S": "x" * 400_000}}}} for number in range(11)
    ],
}


@pytest.mark.parametrize("case", WRITES)
def test_writes(both: Pair, case: str) -> None:
    both.same("TransactWriteItems", TransactItems=WRITES[case], ReturnConsumedCapacity="TOTAL")
    both.answer("Scan", TableName="plain")
    both.answer("Scan", TableName="orders")


def test_an_update_needs_an_expression(both: Pair) -> None:
    both.same("TransactWriteItems", TransactItems=[{"Update": {"TableName": "plain", "Key": key("a")}}])


@pytest.mark.parametrize("detail", ["TOTAL", "INDEXES"])
def test_capacity_of_writes_with_indexes(both: Pair, detail: str) -> None:
    order = {"pk": {"S": "p"}, "sk": {"S": "s"}, "n": {"N": "1"}, "kind": {"S": "k"}, "note": {"S": "x" * 1500}}
    writes = [{"Put": {"TableName": "orders", "Item": order}}, put("new"), check("a", "attribute_exists(pk)")]
    for _ in range(2):
        both.answer("TransactWriteItems", TransactItems=writes, ReturnConsumedCapacity=detail)


def test_tokens_make_a_repetition_harmless(both: Pair) -> None:
    request = {"TransactItems": [update("a")], "ClientRequestToken": "token", "ReturnConsumedCapacity": "TOTAL"}
    both.answer("TransactWriteItems", **request)
    both.answer("TransactWriteItems", **request)
    both.answer("Scan", TableName="plain")
    both.error("TransactWriteItems", TransactItems=[update("b")], ClientRequestToken="token")
    both.answer("TransactWriteItems", TransactItems=[update("b")], ClientRequestToken="another")


@pytest.mark.parametrize("token", ["", "x" * 36, "x" * 37])
def test_tokens_have_a_length(both: Pair, token: str) -> None:
    both.same("TransactWriteItems", TransactItems=[update("a")], ClientRequestToken=token)


def get(name: str, **members: Any) -> Action:
    return {"Get": {"TableName": "plain", "Key": key(name), **members}}


READS: dict[str, list[Action]] = {
    "one": [get("a")],
    "some, in order": [get("c"), get("gone"), get("a")],
    "projected": [get("a", ProjectionExpression="n"), get("b", ProjectionExpression="gone"), get("gone")],
    "placeholders": [get("a", ProjectionExpression="#n", ExpressionAttributeNames={"#n": "n"})],
    "unused placeholder": [get("a", ProjectionExpression="n", ExpressionAttributeNames={"#n": "n"})],
    "wrong expression": [get("a"), get("b", ProjectionExpression="n[")],
    "the same twice": [get("a"), get("a")],
    "key of a wrong type": [get("a"), {"Get": {"TableName": "plain", "Key": {"pk": {"N": "1"}}}}],
    "key of a wrong name": [get("a"), {"Get": {"TableName": "plain", "Key": {"x": {"S": "1"}}}}],
    "missing table": [get("a"), {"Get": {"TableName": "missing", "Key": key("a")}}],
    "none": [],
    "empty": [{}],
    "a hundred": [get(f"n{number}") for number in range(100)],
    "a hundred and one": [get(f"n{number}") for number in range(101)],
}


@pytest.mark.parametrize("case", READS)
def test_reads(both: Pair, case: str) -> None:
    both.same("TransactGetItems", TransactItems=READS[case], ReturnConsumedCapacity="INDEXES")
