"""Conditions: the result of each comparator and function for each type, and what is rejected before an item is read."""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from typing import Any

import pytest

from sortkey.expressions import Bindings, Condition, condition
from tests.expressions.rejected import rejected

VALUES: dict[str, Any] = {
    ":a": {"S": "a"},
    ":ab": {"S": "ab"},
    ":none": {"S": ""},
    ":one": {"N": "1.0"},
    ":three": {"N": "3"},
    ":four": {"N": "4"},
    ":nine": {"N": "9"},
    ":bytes": {"B": "Yg=="},
    ":true": {"BOOL": True},
    ":null": {"NULL": True},
    ":set": {"SS": ["b", "a"]},
    ":list": {"L": []},
    ":map": {"M": {"k": {"S": "v"}}},
    ":S": {"S": "S"},
    ":L": {"S": "L"},
}
ITEM: dict[str, Any] = {
    "s": {"S": "abc"},
    "u": {"S": "é€𝄞"},
    "n": {"N": "5"},
    "b": {"B": "YWJj"},
    "t": {"BOOL": True},
    "z": {"NULL": True},
    "l": {"L": [{"S": "a"}, {"N": "1"}, {"L": []}]},
    "m": {"M": {"k": {"S": "v"}}},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1", "2"]},
    "bs": {"BS": ["YQ==", "Yg=="]},
    "a": {"S": "a"},
    "n1": {"N": "1"},
}


def compiled(text: str) -> Condition:
    return condition(text, Bindings({"#s": "s", "#m": "m"}, VALUES), "ConditionExpression")


def holds(text: str) -> bool:
    return compiled(text)(ITEM)


@pytest.mark.parametrize(
    "text",
    [
        "s = s2 OR a = :a",
        "n1 = :one",
        "t = :true",
        "z = :null",
        "ss = :set",
        "m = :map",
        "#m.k <> :a",
        "l[0] = :a",
        "n > :three",
        "s > :ab",
        "b > :bytes OR b <= :bytes",
        "n BETWEEN n1 AND :nine",
        "s BETWEEN :ab AND s2 OR s BETWEEN :ab AND u",
        "n1 IN (:a, :one)",
        "ss IN (:set)",
        ":a = a",
        ":a = :a",
        "NOT n = :one",
        "NOT NOT n <> :one",
    ],
)
def test_true(text: str) -> None:
    assert holds(text) is True


# A comparison with a missing value, or one of another type, is false; only <> is then true.
@pytest.mark.parametrize("operator", ["=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("operand", [":one", "gone2", "s"])
def test_missing_compares_false(operator: str, operand: str) -> None:
    assert holds(f"gone {operator} {operand}") is False
    assert holds(f"NOT gone {operator} {operand}") is True


def test_unlike_types_differ() -> None:
    assert holds("s <> n")
    assert not holds("s = n")
    assert not holds("s < n")
    assert not holds("s > n")
    assert holds("gone <> :one")
    assert holds("gone <> gone2")
    assert not holds("n BETWEEN gone AND :nine")
    assert not holds("n IN (gone)")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("contains(s, :ab)", True),
        ("contains(s, :none)", True),
        ("contains(b, :bytes)", True),
        ("contains(ss, :a)", True),
        ("contains(ns, :one)", True),
        ("contains(bs, :bytes)", True),
        ("contains(l, :a)", True),
        ("contains(l, :list)", True),
        ("contains(ss, :set)", False),
        ("contains(s, :one)", False),
        ("contains(n, :one)", False),
        ("contains(m, :a)", False),
        ("contains(gone, :a)", False),
        ("contains(s, a)", True),
        ("begins_with(s, :ab)", True),
        ("begins_with(s, :none)", True),
        ("begins_with(b, :bytes)", False),
        ("begins_with(s, n)", False),
        ("begins_with(gone, :a)", False),
        ("attribute_type(s, :S)", True),
        ("attribute_type(l, :S)", False),
        ("attribute_type(gone, :S)", False),
        ("attribute_exists(m.k)", True),
        ("attribute_exists(l[2])", True),
        ("attribute_exists(l[3])", False),
        ("attribute_exists(s.k)", False),
        ("attribute_exists(m[0])", False),
        ("attribute_not_exists(gone)", True),
        ("attribute_not_exists(l[9])", True),
    ],
)
def test_functions(text: str, answer: bool) -> None:
    assert holds(text) is answer


# Strings count UTF-16 units: é and € one each, 𝄞 two. Binary counts bytes, collections their elements.
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("size(s) = :three", True),
        ("size(u) = :four", True),
        ("size(b) = :three", True),
        ("size(l) = :three", True),
        ("size(m) = :one", True),
        ("size(ss) > :one", True),
        ("size(:a) = :one", True),
        ("size(n) = :one", False),
        ("size(n) <> :one", True),
        ("size(gone) <> :one", True),
        ("size(t) < :nine", False),
    ],
)
def test_size(text: str, answer: bool) -> None:
    assert holds(text) is answer


def test_a_missing_item_is_the_empty_one() -> None:
    assert compiled("attribute_not_exists(s)")({})
    assert not compiled("attribute_exists(s)")({})


def test_attributes_are_those_touched_at_the_top() -> None:
    test = compiled("#m.k = :a AND size(l) > n OR attribute_exists(x[0].y)")
    assert test.attributes == {"m", "l", "n", "x"}
    assert test.nested == {"m", "x"}


TYPE = "Incorrect operand type for operator or function; operator or function: "
COUNT = "Incorrect number of operands for operator or function; operator or function: "
DISTINCT = "The first operand must be distinct from the remaining operands for this operator or function; operator: "


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("s < :true", TYPE + "<, operand type: BOOL"),
        (":list >= s", TYPE + ">=, operand type: L"),
        ("s BETWEEN :set AND :set", TYPE + "BETWEEN, operand type: SS"),
        ("begins_with(s, :one)", TYPE + "begins_with, operand type: N"),
        ("begins_with(size(s), :a)", TYPE + "begins_with, operand type: N"),
        ("size(:one) = :one", TYPE + "size, operand type: N"),
        ("size(size(s)) = :one", TYPE + "size, operand type: N"),
        ("attribute_type(s, :one)", TYPE + "attribute_type, operand type: N"),
        ("contains(s)", COUNT + "contains, number of operands: 1"),
        ("attribute_exists(s, n)", COUNT + "attribute_exists, number of operands: 2"),
        ("size(s, n) = :one", COUNT + "size, number of operands: 2"),
        (
            "attribute_exists(:a)",
            "Operator or function requires a document path; operator or function: attribute_exists",
        ),
        ("s = s", DISTINCT + "=, first operand: [s]"),
        ("#s = s", DISTINCT + "=, first operand: [s]"),
        ("l[0] IN (n, l[0])", DISTINCT + "IN, first operand: [l, [0]]"),
        ("contains(m.k, m.k)", DISTINCT + "contains, first operand: [m, k]"),
        (
            "attribute_type(s, :a)",
            "Invalid attribute type name found; type: a, valid types: {N,BS,L,B,NULL,M,S,SS,NS,BOOL}",
        ),
        (
            "n BETWEEN :nine AND :one",
            "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
            "lower bound operand: AttributeValue: {N:9}, upper bound operand: AttributeValue: {N:1}",
        ),
        (
            "n BETWEEN :a AND :one",
            "The BETWEEN operator requires same data type for lower and upper bounds; "
            "lower bound operand: AttributeValue: {S:a}, upper bound operand: AttributeValue: {N:1}",
        ),
    ],
)
def test_what_can_never_hold_is_rejected(text: str, error: str) -> None:
    with rejected(f"Invalid ConditionExpression: {error}"):
        compiled(text)


# Both operands are checked from left to right, before the operator checks their types.
def test_the_first_error_in_the_text_is_reported() -> None:
    with rejected(
        "Invalid ConditionExpression: An expression attribute value used in expression is not defined; "
        "attribute value: :w"
    ):
        compiled(":w = #nothing AND s < :true")


def test_three_hundred_operators() -> None:
    assert compiled(" AND ".join(f"a{i} <> b" for i in range(150)))({})
    with rejected("Invalid ConditionExpression: The expression contains too many operators; operator count: 301"):
        compiled(" AND ".join(f"a{i} <> b" for i in range(151)))


def test_a_hundred_choices() -> None:
    assert not compiled(f"n IN ({', '.join(f'a{i}' for i in range(100))})")({})
    with rejected(
        "Invalid ConditionExpression: The IN operator is provided with too many operands; number of operands: 101"
    ):
        compiled(f"n IN ({', '.join(f'a{i}' for i in range(101))})")


# Compiling takes ten times as long as evaluating, and what requests have in common is their text.
def test_a_text_is_compiled_once_for_all_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "#seen < :once"
    low = condition(text, Bindings({"#seen": "n"}, {":once": {"N": "4"}}), "ConditionExpression")
    monkeypatch.setattr(import_module("sortkey.expressions.condition"), "parse_condition", None)
    high = condition(text, Bindings({"#seen": "s"}, {":once": {"S": "b"}}), "ConditionExpression")
    assert (low(ITEM), high(ITEM)) == (False, True)


# A hundred choices for each of 200,000 rows took a minute, compared one by one.
def test_choices_of_in_are_looked_up() -> None:
    compared = 0

    class Counted(dict[str, Any]):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return super().__eq__(other)

        __hash__ = None

    values = {f":{number}": {"N": str(number)} for number in range(100)}
    test = condition(f"a IN ({', '.join(values)})", Bindings(None, values), "FilterExpression")
    assert test({"a": Counted(N="99")})
    assert not test({"a": Counted(N="100")})
    assert not test({"a": Counted(S="99")})
    assert compared == 0


# 30 conditions with `contains` on 400 KB held the writer for ten seconds, most of them to decode the same base64.
def test_binary_is_decoded_once_for_all_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []
    predicates = import_module("sortkey.expressions.condition")
    bindings = import_module("sortkey.expressions.bindings")

    def counted(text: str) -> bytes:
        decoded.append(text)
        return a2b_base64(text)

    monkeypatch.setattr(predicates, "_decoded", lru_cache(maxsize=8)(counted))
    monkeypatch.setattr(bindings, "a2b_base64", counted)
    whole, part = {"B": "AAECAwQF"}, {"B": "CQkJ"}
    text = " OR ".join(["contains(a, :v)"] * 100)
    assert not condition(text, Bindings(None, {":v": part}), "ConditionExpression")({"a": whole})
    assert sorted(decoded) == ["AAECAwQF", "CQkJ"]


@pytest.mark.parametrize("length", range(9))
def test_begins_with_binary_of_any_length(length: int) -> None:
    raw = bytes(range(8))
    text = b2a_base64(raw, newline=False).decode()

    def begins_with(prefix: bytes) -> bool:
        values = {":v": {"B": b2a_base64(prefix, newline=False).decode()}}
        return condition("begins_with(a, :v)", Bindings(None, values), "FilterExpression")({"a": {"B": text}})

    assert begins_with(raw[:length])
    assert not begins_with(raw[:length] + b"\xff")


# Short-circuits as the whole does, and says the same.
@pytest.mark.parametrize(
    "text", ["a = :v", "NOT a = :v", "a = :v AND (b = :v OR NOT c = :v)", "(a = :v OR b = :v) AND c = :v"]
)
@pytest.mark.parametrize("item", [{}, {"a": {"N": "1"}}, {"a": {"N": "1"}, "b": {"N": "1"}}, {"c": {"N": "1"}}])
def test_steps_give_the_same_verdict(text: str, item: dict[str, Any]) -> None:
    test = condition(text, Bindings(None, {":v": {"N": "1"}}), "FilterExpression")
    verdicts = []

    def collect() -> Iterator[None]:
        verdicts.append((yield from test.steps(item)))

    assert 1 <= sum(1 for _ in collect()) <= 3
    assert verdicts == [test(item)]
