"""Placeholders: their rules, and that each must be used."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.expressions import Bindings, condition
from tests.expressions.rejected import rejected

NAMES, VALUES = "ExpressionAttributeNames", "ExpressionAttributeValues"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({}, f"{NAMES} must not be empty"),
        ({"a": "b"}, f'{NAMES} contains invalid key: Syntax error; key: "a"'),
        ({"#": "b"}, f'{NAMES} contains invalid key: Syntax error; key: "#"'),
        ({"#a-b": "b"}, f'{NAMES} contains invalid key: Syntax error; key: "#a-b"'),
        ({"#a\n": "b"}, f'{NAMES} contains invalid key: Syntax error; key: "#a\n"'),
        ({"": "b"}, f"{NAMES} contains invalid key: The expression attribute map contains an empty key;"),
        ({"#a": ""}, f"{NAMES} contains invalid value: Empty attribute name for key #a"),
        (
            {"#" + "a" * 255: "b"},
            f"{NAMES} contains invalid key: The expression attribute map contains a key that is too long; "
            "size of key: 256",
        ),
        (
            {"#a": "a" * 65536},
            f"{NAMES} contains invalid value: Attribute name is too large, must be less than 65536 bytes for key #a",
        ),
    ],
)
def test_names_are_checked(names: dict[str, str], message: str) -> None:
    with rejected(message):
        Bindings(names, None)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, f"{VALUES} must not be empty"),
        ({"v": {"S": "a"}}, f'{VALUES} contains invalid key: Syntax error; key: "v"'),
        (
            {":v": {}},
            f"{VALUES} contains invalid value: Supplied AttributeValue is empty, must contain exactly one of the "
            "supported datatypes for key :v",
        ),
    ],
)
def test_values_are_checked(values: dict[str, Any], message: str) -> None:
    with rejected(message):
        Bindings(None, values)


# An expression compares canonical values, so the values of a request are made canonical once.
def test_values_are_canonical() -> None:
    bindings = Bindings(None, {":v": {"N": "1.0"}})
    assert condition("a = :v", bindings, "ConditionExpression")({"a": {"N": "1"}})


def test_every_placeholder_must_be_used() -> None:
    bindings = Bindings({"#a": "a", "#b": "b"}, {":v": {"S": "x"}, ":w": {"S": "y"}})
    condition("#a = :v", bindings, "ConditionExpression")
    with rejected(f"Value provided in {NAMES} unused in expressions: keys: {{#b}}"):
        bindings.check_all_used()
    condition("#b = :v", bindings, "ConditionExpression")
    with rejected(f"Value provided in {VALUES} unused in expressions: keys: {{:w}}"):
        bindings.check_all_used()
    condition("#b = :w", bindings, "ConditionExpression")
    bindings.check_all_used()


def test_what_is_not_bound_is_rejected() -> None:
    with rejected(
        "Invalid FilterExpression: An expression attribute name used in the document path is not defined; "
        "attribute name: #a"
    ):
        condition("#a = :v", Bindings(None, None), "FilterExpression")
    with rejected(
        "Invalid FilterExpression: An expression attribute value used in expression is not defined; attribute value: :v"
    ):
        condition("a = :v", Bindings(None, None), "FilterExpression")


def test_a_path_has_at_most_32_levels() -> None:
    bindings = Bindings(None, None)
    assert condition("a" + ".a" * 31 + " = b", bindings, "ConditionExpression")({}) is False
    with rejected("Invalid ConditionExpression: The document path has too many nesting levels; nesting levels: 33"):
        condition("a" + "[0]" * 32 + " = b", bindings, "ConditionExpression")


# DynamoDB lists them in the order of its hash set.
def test_unused_placeholders_are_listed_as_the_service_does() -> None:
    bindings = Bindings({"#e": "e", "#c": "c"}, {":w": {"S": "x"}, ":z": {"S": "x"}})
    with rejected(f"Value provided in {NAMES} unused in expressions: keys: {{#c, #e}}"):
        bindings.check_all_used()
    condition("#c = #e", bindings, "ConditionExpression")
    with rejected(f"Value provided in {VALUES} unused in expressions: keys: {{:z, :w}}"):
        bindings.check_all_used()


MIB = 1024 * 1024


# AWS: the values of an expression may have 2 MB together.
@pytest.mark.parametrize(
    "values",
    [
        {":a": {"S": "x" * (2 * MIB + 1)}},
        {":a": {"S": "x" * MIB}, ":b": {"S": "y" * MIB}, ":c": {"N": "1"}},
        {":a": {"L": [{"S": "x" * MIB}]}, ":b": {"S": "é" * (MIB // 2)}},
        {":a": {"L": [{"NULL": True}] * (2 * MIB)}},
        {":a": {"NS": ["1"] * (3 * MIB)}},
    ],
)
def test_values_are_limited_together(values: dict[str, Any]) -> None:
    with rejected(f"{VALUES} exceeds max size"):
        Bindings(None, values)


def test_names_are_limited_together() -> None:
    with rejected(f"{NAMES} exceeds max size"):
        Bindings({f"#{number}": "x" * 65_000 for number in range(40)}, None)


def test_two_megabytes_of_values_are_allowed() -> None:
    assert Bindings(None, {":a": {"S": "x" * (2 * MIB)}}).size == 2 * MIB
