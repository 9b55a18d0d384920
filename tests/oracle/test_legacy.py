"""The parameters that expressions replaced, with every comparison operator on every type."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.oracle.pair import Pair
from tests.oracle.samples import BY_TYPE, VARIANTS

KEY = {"pk": {"S": "x"}}
UNARY = ("NULL", "NOT_NULL")
BINARY = ("EQ", "NE", "LT", "LE", "GT", "GE", "CONTAINS", "NOT_CONTAINS", "BEGINS_WITH", "IN")


@pytest.fixture
def filled(plain: Pair) -> Pair:
    """One item for each variant of a value, as `a`, and one without."""
    plain.answer("PutItem", TableName="plain", Item={"pk": {"S": "missing"}})
    for name, value in VARIANTS.items():
        plain.answer("PutItem", TableName="plain", Item={"pk": {"S": name}, "a": value})
    return plain


def compared(operator: str, *arguments: Any) -> dict[str, Any]:
    return {"ComparisonOperator": operator, "AttributeValueList": list(arguments)}


@pytest.mark.parametrize("operator", BINARY)
def test_filters_of_one_argument(filled: Pair, operator: str) -> None:
    filled.each(
        ("Scan", {"TableName": "plain", "ScanFilter": {"a": compared(operator, value)}}) for value in VARIANTS.values()
    )


@pytest.mark.parametrize("operator", [*UNARY, *BINARY, "BETWEEN"])
def test_filters_of_any_number_of_arguments(filled: Pair, operator: str) -> None:
    filled.each(
        ("Scan", {"TableName": "plain", "ScanFilter": {"a": compared(operator, *[{"S": "abc"}] * count)}})
        for count in range(4)
    )
    filled.same("Scan", TableName="plain", ScanFilter={"a": {"ComparisonOperator": operator}})


def test_between(filled: Pair) -> None:
    values = [VARIANTS[name] for name in ("S", "S-longer", "N", "N-less", "B", "B-high", "SS", "BOOL", "L")]
    filled.each(
        ("Scan", {"TableName": "plain", "ScanFilter": {"a": compared("BETWEEN", low, high)}})
        for low, high in product(values, values)
    )


@pytest.mark.parametrize(
    "update", [{"Value": {"S": "v"}}, {"Action": "ADD", "Value": {"N": "1"}}, {"Action": "DELETE"}]
)
@pytest.mark.parametrize("length", [65_535, 65_536])
def test_long_names(plain: Pair, update: dict[str, Any], length: int) -> None:
    plain.answer("PutItem", TableName="plain", Item=KEY)
    plain.same("UpdateItem", TableName="plain", Key=KEY, AttributeUpdates={"x" * length: update})
    plain.same("UpdateItem", TableName="plain", Key={"pk": {"S": "none"}}, AttributeUpdates={"x" * length: update})


@pytest.mark.parametrize("operator", [None, "AND", "OR", "XOR"])
def test_conditional_operators(filled: Pair, operator: str | None) -> None:
    chosen = {} if operator is None else {"ConditionalOperator": operator}
    one = {"a": compared("EQ", {"S": "abc"})}
    two = one | {"pk": compared("BEGINS_WITH", {"S": "S"})}
    for filters in ({}, one, two):
        filled.same("Scan", TableName="plain", ScanFilter=filters, **chosen)


EXPECTED: list[dict[str, Any]] = [
    {"a": {"Exists": True}},
    {"a": {"Exists": False}},
    {"gone": {"Exists": False}},
    {"a": {"Value": {"S": "abc"}}},
    {"a": {"Value": {"S": "other"}}},
    {"a": {"Value": {"S": "abc"}, "Exists": True}},
    {"a": {"Value": {"S": "abc"}, "Exists": False}},
    {"a": {}},
    {"a": {"ComparisonOperator": "EQ", "Value": {"S": "abc"}}},
    {"a": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "abc"}]}},
    {"a": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "abc"}], "Value": {"S": "abc"}}},
    {"a": {"ComparisonOperator": "EQ", "Exists": True}},
    {"a": {"ComparisonOperator": "EQ"}},
    {"a": {"AttributeValueList": [{"S": "abc"}]}},
    {"a": {"ComparisonOperator": "NULL"}},
    {"a": {"ComparisonOperator": "NOT_NULL"}},
    {"a": {"ComparisonOperator": "SAME", "Value": {"S": "abc"}}},
    {"a": {"Value": {"S": "abc"}}, "gone": {"Exists": False}},
    {"a": {"Value": {"S": "other"}}, "gone": {"Exists": False}},
    {"a": {"Value": {"SS": []}}},
    {"": {"Exists": False}},
]


@pytest.mark.parametrize("expected", EXPECTED, ids=str)
@pytest.mark.parametrize("operator", [None, "OR"])
def test_expectations(plain: Pair, expected: dict[str, Any], operator: str | None) -> None:
    chosen = {} if operator is None else {"ConditionalOperator": operator}
    options = {"TableName": "plain", "Expected": expected, **chosen}
    for _ in range(2):
        plain.answer("PutItem", TableName="plain", Item=KEY | {"a": {"S": "abc"}})
        plain.same("PutItem", Item=KEY | {"a": {"S": "abc"}, "new": {"N": "1"}}, **options)
        plain.same("UpdateItem", Key=KEY, AttributeUpdates={"b": {"Value": {"N": "2"}}}, **options)
        plain.same("DeleteItem", Key=KEY, **options)
        plain.answer("Scan", TableName="plain")


@pytest.mark.parametrize("action", ["PUT", "ADD", "DELETE", None, "SET"])
@pytest.mark.parametrize("stored", [*BY_TYPE, "missing"])
def test_attribute_updates(plain: Pair, action: str | None, stored: str) -> None:
    item = KEY | ({} if stored == "missing" else {"a": BY_TYPE[stored]})
    for value in (None, *BY_TYPE.values()):
        said = ({} if action is None else {"Action": action}) | ({} if value is None else {"Value": value})
        plain.answer("PutItem", TableName="plain", Item=item)
        plain.same("UpdateItem", TableName="plain", Key=KEY, AttributeUpdates={"a": said}, ReturnValues="ALL_NEW")


@pytest.mark.parametrize("returned", ["ALL_OLD", "UPDATED_OLD", "UPDATED_NEW"])
@pytest.mark.parametrize(
    "updates",
    [
        {},
        {"pk": {"Value": {"S": "other"}}},
        {"gone": {"Action": "DELETE"}},
        {"n": {"Action": "ADD", "Value": {"N": "1"}}, "s": {"Value": {"S": "new"}}},
        {"new": {"Action": "ADD", "Value": {"L": [{"S": "x"}]}}},
    ],
    ids=str,
)
def test_what_attribute_updates_return(plain: Pair, updates: dict[str, Any], returned: str) -> None:
    plain.answer("PutItem", TableName="plain", Item=KEY | {"n": {"N": "1"}, "s": {"S": "old"}})
    plain.same("UpdateItem", TableName="plain", Key=KEY, AttributeUpdates=updates, ReturnValues=returned)
    plain.same("UpdateItem", TableName="plain", Key={"pk": {"S": "y"}}, AttributeUpdates=updates)
    plain.answer("Scan", TableName="plain")


@pytest.mark.parametrize("names", [["a"], ["a", "pk"], ["gone"], ["a.b"], [], ["a", "a"], [""]], ids=str)
def test_attributes_to_get(plain: Pair, names: list[str]) -> None:
    plain.answer("PutItem", TableName="plain", Item=KEY | {"a": {"M": {"b": {"S": "x"}}}})
    plain.same("GetItem", TableName="plain", Key=KEY, AttributesToGet=names)
    plain.same("Scan", TableName="plain", AttributesToGet=names)
    plain.same("BatchGetItem", RequestItems={"plain": {"Keys": [KEY], "AttributesToGet": names}})


@pytest.mark.parametrize("operator", [*UNARY, *BINARY, "BETWEEN"])
def test_key_conditions(orders: Pair, operator: str) -> None:
    for number in range(5):
        item = {"pk": {"S": "p"}, "sk": {"S": f"s{number}"}, "n": {"N": str(number)}, "kind": {"S": "k"}}
        orders.answer("PutItem", TableName="orders", Item=item)
    count = {"BETWEEN": 2, "NULL": 0, "NOT_NULL": 0}.get(operator, 1)
    partition = {"pk": compared("EQ", {"S": "p"})}
    for conditions in (
        partition | {"sk": compared(operator, *[{"S": "s2"}] * count)},
        partition | {"sk": compared(operator, *[{"N": "2"}] * count)},
        {"pk": compared(operator, *[{"S": "p"}] * count)},
        {"sk": compared(operator, *[{"S": "s2"}] * count)},
        partition | {"note": compared(operator, *[{"S": "s2"}] * count)},
    ):
        orders.same("Query", TableName="orders", KeyConditions=conditions)
    on_index = {"kind": compared("EQ", {"S": "k"}), "n": compared(operator, *[{"N": "2"}] * count)}
    orders.same("Query", TableName="orders", IndexName="by_kind", KeyConditions=on_index, ScanIndexForward=False)


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"KeyConditions": {}},
        {"QueryFilter": {"n": {"ComparisonOperator": "NOT_NULL"}}},
        {"QueryFilter": {"sk": {"ComparisonOperator": "NOT_NULL"}}},
        {"QueryFilter": {"n": {"ComparisonOperator": "GT", "AttributeValueList": [{"N": "0"}]}}},
        {"FilterExpression": "attribute_exists(n)"},
        {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "p"}}},
        {"AttributesToGet": ["n"]},
        {"AttributesToGet": ["n"], "Select": "SPECIFIC_ATTRIBUTES"},
        {"AttributesToGet": ["n"], "Select": "COUNT"},
        {"ConditionalOperator": "OR"},
    ],
    ids=str,
)
def test_queries(orders: Pair, members: dict[str, Any]) -> None:
    orders.answer("PutItem", TableName="orders", Item={"pk": {"S": "p"}, "sk": {"S": "s"}, "n": {"N": "1"}})
    orders.same("Query", **{"TableName": "orders", "KeyConditions": {"pk": compared("EQ", {"S": "p"})}} | members)
