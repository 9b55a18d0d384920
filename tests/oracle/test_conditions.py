"""Every comparator and function, on every type: the result of a condition for a stored value."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.oracle.difference import Request
from tests.oracle.pair import Pair
from tests.oracle.samples import BY_TYPE, VARIANTS, Value

COMPARATORS = ("=", "<>", "<", "<=", ">", ">=")
TYPES = ("S", "SS", "N", "NS", "B", "BS", "BOOL", "NULL", "L", "M")


def scan(condition: str, values: dict[str, Value] | None = None) -> dict[str, Any]:
    request: dict[str, Any] = {"TableName": "plain", "FilterExpression": condition}
    return request if values is None else request | {"ExpressionAttributeValues": values}


def put(stored: Value | None, name: str = "x") -> Request:
    item = {"pk": {"S": name}} | ({} if stored is None else {"a": stored})
    return "PutItem", {"TableName": "plain", "Item": item}


@pytest.fixture
def filled(plain: Pair) -> Pair:
    """One item for each variant of a value, as `a`, and one without: a filter returns all items that it matches."""
    plain.each(put(stored, name) for name, stored in {**VARIANTS, "missing": None}.items())
    return plain


@pytest.mark.parametrize("comparator", COMPARATORS)
def test_comparators(filled: Pair, comparator: str) -> None:
    filled.each(("Scan", scan(f"a {comparator} :v", {":v": operand})) for operand in VARIANTS.values())
    filled.each(("Scan", scan(f":v {comparator} a", {":v": operand})) for operand in VARIANTS.values())
    filled.each(("Scan", scan(f"NOT a {comparator} :v", {":v": operand})) for operand in VARIANTS.values())


@pytest.mark.parametrize("function", ["begins_with", "contains"])
def test_functions_of_two(filled: Pair, function: str) -> None:
    filled.each(("Scan", scan(f"{function}(a, :v)", {":v": operand})) for operand in VARIANTS.values())


def test_existence(filled: Pair) -> None:
    filled.each(("Scan", scan(f"{function}(a)")) for function in ("attribute_exists", "attribute_not_exists"))


@pytest.mark.parametrize("name", [*TYPES, "X", "string", ""])
def test_attribute_type(filled: Pair, name: str) -> None:
    filled.same("Scan", **scan("attribute_type(a, :t)", {":t": {"S": name}}))


@pytest.mark.parametrize("comparator", COMPARATORS)
def test_size(filled: Pair, comparator: str) -> None:
    filled.each(("Scan", scan(f"size(a) {comparator} :n", {":n": {"N": count}})) for count in "0 1 2 3 4 9".split())


# An operand of size may be a value or itself a size; a type that has no size is rejected or never true.
@pytest.mark.parametrize("operand", BY_TYPE)
def test_size_of_values_and_compared_with_types(filled: Pair, operand: str) -> None:
    filled.each(
        ("Scan", scan(condition, {":v": BY_TYPE[operand]}))
        for condition in ("size(:v) > size(a)", "size(:v) = size(:v)", "size(a) = :v", "size(a) < :v")
    )


def test_between(filled: Pair) -> None:
    bounds = [VARIANTS[name] for name in ("S", "S-empty", "S-longer", "N", "N-less", "N-text-order", "B", "B-high")]
    filled.each(
        ("Scan", scan("a BETWEEN :low AND :high", {":low": low, ":high": high}))
        for low, high in product(bounds, bounds)
    )
    filled.each(
        ("Scan", scan("a BETWEEN :low AND :high", {":low": value, ":high": value})) for value in BY_TYPE.values()
    )


def test_in(filled: Pair) -> None:
    filled.each(("Scan", scan("a IN (:v)", {":v": value})) for value in VARIANTS.values())
    filled.each(("Scan", scan("a IN (:v, :w)", {":v": value, ":w": {"S": "abc"}})) for value in BY_TYPE.values())


NESTED: Value = {
    "M": {
        "li": {"L": [{"N": "1"}, {"M": {"deep": {"S": "x"}}}, {"L": [{"N": "2"}]}]},
        "txt": {"S": "y"},
        "tags": {"SS": ["p", "q"]},
        "with.dot": {"N": "3"},
    }
}


@pytest.mark.parametrize(
    "condition",
    [
        "a.txt = :x",
        "a.li[0] = :one",
        "a.li[1].deep = :x",
        "a.li[2][0] > :one",
        "a.li[9] = :one",
        "attribute_exists(a.li[2][0])",
        "attribute_exists(a.li[3])",
        "attribute_not_exists(a.gone.deeper)",
        "attribute_not_exists(a.txt.deeper)",
        "contains(a.tags, :x)",
        "contains(a.li, :one)",
        "size(a.li) = size(a.li)",
        "size(a) > :one",
        "a.txt = a.li[1].deep",
        "a.li[0] < a.li[2][0]",
        "a.#d > :one",
        "a.#d.#d = :one",
        "NOT a.txt = :x",
        "NOT a.gone = :x",
        "a.txt = :x OR a.li[0] = :one",
        "a.txt = :x AND a.li[0] = :one OR a.li[0] = :one",
        "a.txt = :x AND (a.li[0] = :one OR a.li[0] = :one)",
        "NOT (a.txt = :x OR NOT a.li[0] = :one)",
        "NOT NOT a.txt = :x",
        "(a.txt = :x)",
        "a.txt = :x and not a.li[0] = :one",
        "a.txt IN (:x, a.li[0])",
        "a.li[0] BETWEEN :one AND a.li[2][0]",
    ],
)
def test_paths_and_logic(plain: Pair, condition: str) -> None:
    plain.each([put(NESTED)])
    values = {name: value for name, value in {":x": {"S": "x"}, ":one": {"N": "1"}}.items() if name in condition}
    request = scan(condition, values or None)
    if "#d" in condition:
        request["ExpressionAttributeNames"] = {"#d": "with.dot"}
    plain.answer("Scan", **request)


@pytest.mark.parametrize(
    "condition",
    [
        "",
        " ",
        "a",
        "a =",
        "= :v",
        "a = :v :v",
        "a == :v",
        "a = :v AND",
        "AND a = :v",
        "(a = :v",
        "a = :v)",
        "()",
        "((a = :v)) AND ((a = :v))",
        "((a = :v))",
        "a IN ()",
        "a IN :v",
        "a BETWEEN :v",
        "a BETWEEN :v AND",
        "a = :missing",
        "#missing = :v",
        "a = :v AND b = :unused",
        "a.b[x] = :v",
        "a[-1] = :v",
        "a[99999999999] = :v",
        "a..b = :v",
        "size = :v",
        "name = :v",
        "size(a)",
        "size(a, b) = :v",
        "size() = :v",
        "attribute_exists(:v)",
        "attribute_exists(a, b)",
        "attribute_exists(size(a))",
        "attribute_type(a, b)",
        "attribute_type(a)",
        "attribute_type(a, :v)",
        "begins_with(a)",
        "begins_with(a, a)",
        "contains(a, a)",
        "contains(:v, a)",
        "begins_with(:v, a)",
        "a = a",
        "a < a",
        "a BETWEEN a AND a",
        "a IN (a)",
        ":v = :v",
        ":v < :v",
        "unknown(a)",
        "ATTRIBUTE_EXISTS(a)",
        "if_not_exists(a, :v)",
        "list_append(a, :v) = :v",
        "contains(a, :v) = :v",
        "attribute_exists(a) = :v",
        "NOT",
        "a = :v AND NOT",
        "a <> :v <> :v",
        "a = 'text'",
        'a = "text"',
        "a = 5",
        "a & :v",
        "a ! :v",
        "a = :",
        "# = :v",
        ":v",
        "a = :v OR OR a = :v",
        "a BETWEEN :v AND :v AND :v",
        "BETWEEN = :v",
        "a.size = :v",
        "a.#missing = :v",
        "_a = :v",
        "1a = :v",
        "ä = :v",
    ],
)
def test_wrong_expressions(plain: Pair, condition: str) -> None:
    plain.each([put({"S": "x"})])
    plain.same("Scan", **scan(condition, {":v": {"S": "x"}}))
    plain.same(
        "PutItem",
        TableName="plain",
        Item={"pk": {"S": "x"}},
        ConditionExpression=condition,
        ExpressionAttributeValues={":v": {"S": "x"}},
    )


@pytest.mark.parametrize("stored", BY_TYPE)
def test_failed_writes_return_the_item(plain: Pair, stored: str) -> None:
    plain.each([put(BY_TYPE[stored])])
    key, condition = {"pk": {"S": "x"}}, {"ConditionExpression": "attribute_not_exists(a)"}
    for returned in ("ALL_OLD", "NONE"):
        options = {"TableName": "plain", "ReturnValuesOnConditionCheckFailure": returned, **condition}
        plain.error("PutItem", Item=key, **options)
        plain.error("DeleteItem", Key=key, **options)
        plain.error("UpdateItem", Key=key, UpdateExpression="REMOVE a", **options)


@pytest.mark.parametrize(
    "condition", ["attribute_exists(pk)", "pk = :v", "NOT pk <> :v", "pk <> :v", "attribute_not_exists(pk)"]
)
def test_conditions_on_an_item_that_is_not_there(plain: Pair, condition: str) -> None:
    options: dict[str, Any] = {"TableName": "plain", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    options["ConditionExpression"] = condition
    if ":v" in condition:
        options["ExpressionAttributeValues"] = {":v": {"S": "x"}}
    plain.same("DeleteItem", Key={"pk": {"S": "a"}}, **options)
    plain.same("PutItem", Item={"pk": {"S": "b"}}, **options)
    plain.same("UpdateItem", Key={"pk": {"S": "c"}}, UpdateExpression="REMOVE a", **options)
    plain.same("Scan", TableName="plain")
