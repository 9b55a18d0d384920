"""Key conditions: the range that they ask a key for, and what no key can answer."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.expressions import Bindings, KeyAttribute, KeyRange, key_condition
from tests.expressions.refused import refused

VALUES: dict[str, Any] = {
    ":v": {"S": "a"},
    ":w": {"S": "b"},
    ":n": {"N": "1"},
    ":b": {"B": "YQ=="},
    ":true": {"BOOL": True},
    ":none": {"S": ""},
}
PK, SK = KeyAttribute("pk", "S"), KeyAttribute("sk", "S")


def resolved(text: str, sort: KeyAttribute | None = SK) -> KeyRange:
    return key_condition(text, Bindings({"#pk": "pk"}, VALUES)).resolve(PK, sort)


@pytest.mark.parametrize(
    ("text", "operator", "operands"),
    [
        ("pk = :v", None, ()),
        ("#pk = :v AND sk = :w", "=", (":w",)),
        ("sk < :w AND :v = pk", "<", (":w",)),
        # A mirrored comparison is turned around.
        ("pk = :v AND :w < sk", ">", (":w",)),
        ("pk = :v AND :w >= sk", "<=", (":w",)),
        ("(pk = :v) AND (sk BETWEEN :v AND :w)", "BETWEEN", (":v", ":w")),
        ("(pk = :v AND begins_with(sk, :w))", "begins_with", (":w",)),
    ],
)
def test_ranges(text: str, operator: str | None, operands: tuple[str, ...]) -> None:
    assert resolved(text) == KeyRange({"S": "a"}, operator, tuple(VALUES[operand] for operand in operands))


UNUSABLE = "Invalid operator used in KeyConditionExpression: "
UNUSUAL = "Invalid condition in KeyConditionExpression: "
MISMATCH = "One or more parameter values were invalid: Condition parameter type does not match schema type"
UNSUPPORTED = "Query key condition not supported"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sk = :v", "Query condition missed key schema element: pk"),
        ("pk = :v AND x = :v", "Query condition missed key schema element: sk"),
        ("pk > :v", UNSUPPORTED),
        ("begins_with(pk, :v) AND sk = :v", UNSUPPORTED),
        ("pk = :v OR sk = :v", UNUSABLE + "OR"),
        ("NOT pk = :v", UNUSABLE + "NOT"),
        ("pk = :v AND sk <> :v", UNUSABLE + "<>"),
        ("pk = :v AND sk IN (:v)", UNUSABLE + "IN"),
        ("pk = :v AND attribute_exists(sk)", UNUSABLE + "attribute_exists"),
        ("pk = :v AND size(sk) = :n", "KeyConditionExpressions cannot contain nested operations"),
        ("pk = :v AND pk = :w", "KeyConditionExpressions must only contain one condition per key"),
        ("pk = :v AND sk > :v AND sk < :w", "KeyConditionExpressions must only contain one condition per key"),
        ("pk = :v AND sk = :v AND x = :v", "Conditions can be of length 1 or 2 only"),
        ("pk = sk", UNUSUAL + "Multiple attribute names used in one condition"),
        (":v = :v", UNUSUAL + "No key attribute specified"),
        (
            "pk = :v AND :v BETWEEN sk AND :w",
            UNUSUAL + "BETWEEN operator must have the key attribute as its first operand",
        ),
        (
            "pk = :v AND begins_with(:v, sk)",
            UNUSUAL + "begins_with operator must have the key attribute as its first operand",
        ),
        ("pk = :n", MISMATCH),
        ("pk = :v AND begins_with(sk, :b)", MISMATCH),
        (
            "pk = :none",
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
            "empty string value. Key: pk",
        ),
        (
            "pk.a = :v OR x = :v",
            "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: pk",
        ),
        ("pk = :v AND x.a = :v", "KeyConditionExpressions cannot have conditions on nested attributes"),
        (
            "pk = :v AND sk > :true",
            "Invalid KeyConditionExpression: Incorrect operand type for operator or function; "
            "operator or function: >, operand type: BOOL",
        ),
    ],
)
def test_what_no_key_answers(text: str, message: str) -> None:
    with refused(message):
        resolved(text)


def test_a_key_without_sort_attribute_takes_one_condition() -> None:
    assert resolved("pk = :v", sort=None) == KeyRange({"S": "a"}, None, ())
    with refused(UNSUPPORTED):
        resolved("pk = :v AND sk = :v", sort=None)


def test_the_sort_key_has_its_own_type() -> None:
    assert resolved("pk = :v AND sk = :n", KeyAttribute("sk", "N")).operands == ({"N": "1"},)
    with refused(MISMATCH):
        resolved("pk = :v AND sk = :v", KeyAttribute("sk", "N"))
