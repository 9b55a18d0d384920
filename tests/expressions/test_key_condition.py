"""Key conditions: the key ranges that they select, and what is rejected."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.expressions import Bindings, KeyAttribute, KeyAttributes, KeyRange, key_condition
from tests.expressions.rejected import rejected

VALUES: dict[str, Any] = {
    ":v": {"S": "a"},
    ":w": {"S": "b"},
    ":n": {"N": "1"},
    ":b": {"B": "YQ=="},
    ":true": {"BOOL": True},
    ":none": {"S": ""},
}
PK, SK = KeyAttribute("pk", "S"), KeyAttribute("sk", "S")

NESTED = "Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes"


def resolved(text: str, *sorts: KeyAttribute, partitions: KeyAttributes = (PK,)) -> KeyRange:
    return key_condition(text, Bindings({"#pk": "pk"}, VALUES)).resolve(partitions, sorts)


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
    ranged = None if operator is None else SK
    expected = KeyRange({"pk": VALUES[":v"]}, (), ranged, operator, tuple(VALUES[operand] for operand in operands))
    assert resolved(text, SK) == expected


UNUSABLE = "Invalid operator used in KeyConditionExpression: "
INVALID_CONDITION = "Invalid condition in KeyConditionExpression: "
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
        ("pk = sk", INVALID_CONDITION + "Multiple attribute names used in one condition"),
        (":v = :v", INVALID_CONDITION + "No key attribute specified"),
        (
            "pk = :v AND :v BETWEEN sk AND :w",
            INVALID_CONDITION + "BETWEEN operator must have the key attribute as its first operand",
        ),
        (
            "pk = :v AND begins_with(:v, sk)",
            INVALID_CONDITION + "begins_with operator must have the key attribute as its first operand",
        ),
        ("pk = :n", MISMATCH),
        ("pk = :v AND begins_with(sk, :b)", MISMATCH),
        (
            "pk = :none",
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
            "empty string value. Key: pk",
        ),
        ("pk.a = :v", NESTED),
        ("pk = :v AND x.a = :v", NESTED),
        ("pk.a = :v OR x = :v", "Invalid operator used in KeyConditionExpression: OR"),
        (
            "pk = :v AND sk > :true",
            "Invalid KeyConditionExpression: Incorrect operand type for operator or function; "
            "operator or function: >, operand type: BOOL",
        ),
    ],
)
def test_what_no_key_answers(text: str, message: str) -> None:
    with rejected(message):
        resolved(text, SK)


def test_a_key_without_sort_attribute_takes_one_condition() -> None:
    assert resolved("pk = :v") == KeyRange({"pk": VALUES[":v"]}, (), None, None, ())
    with rejected(UNSUPPORTED):
        resolved("pk = :v AND sk = :v")


def test_the_sort_key_has_its_own_type() -> None:
    assert resolved("pk = :v AND sk = :n", KeyAttribute("sk", "N")).operands == ({"N": "1"},)
    with rejected(MISMATCH):
        resolved("pk = :v AND sk = :v", KeyAttribute("sk", "N"))


# Multi-attribute keys: two partition attributes, then three sort attributes, each of its own type.
P1, P2 = KeyAttribute("p1", "S"), KeyAttribute("p2", "N")
S1, S2, S3 = KeyAttribute("s1", "S"), KeyAttribute("s2", "N"), KeyAttribute("s3", "B")
WHOLE = "p1 = :v AND p2 = :n"


def resolved_multi(text: str) -> KeyRange:
    return resolved(text, S1, S2, S3, partitions=(P1, P2))


@pytest.mark.parametrize(
    ("text", "leading", "ranged", "operator", "operands"),
    [
        ("", (), None, None, ()),
        (" AND s1 = :w", (), S1, "=", (":w",)),
        (" AND begins_with(s1, :w)", (), S1, "begins_with", (":w",)),
        (" AND s1 = :w AND s2 > :n", (S1,), S2, ">", (":n",)),
        (" AND s2 BETWEEN :n AND :n AND s1 = :w", (S1,), S2, "BETWEEN", (":n", ":n")),
        (" AND s1 = :w AND s2 = :n AND :b >= s3", (S1, S2), S3, "<=", (":b",)),
    ],
)
def test_multi_attribute_ranges(
    text: str, leading: KeyAttributes, ranged: KeyAttribute | None, operator: str | None, operands: tuple[str, ...]
) -> None:
    found = resolved_multi(WHOLE + text)
    values = {P1: ":v", P2: ":n", S1: ":w", S2: ":n"}
    assert found.equal == {key.name: VALUES[values[key]] for key in (P1, P2, *leading)}
    assert found[1:] == (leading, ranged, operator, tuple(VALUES[operand] for operand in operands))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # Every attribute of the partition key, and each with "=".
        ("p1 = :v", "Query condition missed key schema element: p2"),
        ("p2 = :n AND s1 = :w", "Query condition missed key schema element: p1"),
        ("p1 = :v AND p2 > :n", UNSUPPORTED),
        # Those of the sort key from left to right, without a gap.
        (f"{WHOLE} AND s2 = :n", "Query condition missed key schema element: s1"),
        (f"{WHOLE} AND s1 = :w AND s3 = :b", "Query condition missed key schema element: s2"),
        (f"{WHOLE} AND x = :w", "Query condition missed key schema element: s1"),
        # Only the last that is given may be a range.
        (
            f"{WHOLE} AND s1 > :w AND s2 = :n",
            "Query key condition not supported: s1 must be equal to a value, since s2 after it has a condition too",
        ),
        (f"{WHOLE} AND s1 = :w AND s2 = :n AND s3 = :b AND x = :w", "Conditions can be of length 1 to 5 only"),
        ("p1 = :n AND p2 = :n", MISMATCH),
        (f"{WHOLE} AND s1 = :w AND s2 = :w", MISMATCH),
        (f"{WHOLE} AND s1 = :n AND s2 = :n", MISMATCH),
    ],
)
def test_what_no_multi_attribute_key_answers(text: str, message: str) -> None:
    with rejected(message):
        resolved_multi(text)
