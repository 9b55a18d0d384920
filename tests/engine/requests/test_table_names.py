"""Requests have a table's name or its ARN, and names have rules."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.engine.database import Database
from sortkey.engine.requests import convert, table_name_of
from sortkey.errors import ValidationException


@pytest.mark.parametrize("name", ["abc", "A-b_c.9", "x" * 255])
def test_name(name: str) -> None:
    assert table_name_of(name) == name


def test_arn() -> None:
    assert table_name_of("arn:aws:dynamodb:eu-west-1:123456789012:table/orders") == "orders"
    assert table_name_of("arn:aws-cn:dynamodb:cn-north-1:123456789012:table/orders") == "orders"


# 255 is the limit of the name, not of the ARN around it.
def test_arn_of_the_longest_name() -> None:
    assert table_name_of("arn:aws:dynamodb:eu-west-1:123456789012:table/" + "x" * 255) == "x" * 255


def said(name: str) -> str:
    with pytest.raises(ValidationException) as rejected:
        table_name_of(name)
    return rejected.value.message


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("ab", "greater than or equal to 3"),
        ("x" * 256, "less than or equal to 255"),
        ("arn:aws:dynamodb:eu-west-1:123456789012:table/ab", "greater than or equal to 3"),
    ],
)
def test_length(name: str, bound: str) -> None:
    assert said(name) == (
        f"1 validation error detected: Value '{name}' at 'tableName' failed to satisfy constraint: "
        f"Member must have length {bound}"
    )


def test_all_that_is_wrong_with_a_name() -> None:
    assert said("a;") == (
        "2 validation errors detected: Value 'a;' at 'tableName' failed to satisfy constraint: "
        "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+; Value 'a;' at 'tableName' failed to satisfy "
        "constraint: Member must have length greater than or equal to 3"
    )


# An invalid name is reported alone; other violations are reported once the name is right.
def test_a_name_goes_first() -> None:
    with pytest.raises(ValidationException, match=r"^1 validation error detected: Value 'ab' at 'tableName' "):
        convert("Query", {"TableName": "ab", "Limit": 0, "Select": "x"})


PUT = {"Put": {"TableName": "abc", "Item": {}}}


@pytest.mark.parametrize(
    ("operation", "members", "where"),
    [
        ("BatchGetItem", {"RequestItems": {"ab": {"Keys": [{}]}}}, "'requestItems'"),
        ("BatchWriteItem", {"RequestItems": {"ab": [{"DeleteRequest": {"Key": {}}}]}}, "'requestItems'"),
        (
            "TransactGetItems",
            {"TransactItems": [{"Get": {"TableName": "ab", "Key": {}}}]},
            "'transactItems.1.member.get.tableName'",
        ),
        (
            "TransactWriteItems",
            {"TransactItems": [PUT, {"Put": {"TableName": "ab", "Item": {}}}]},
            "'transactItems.2.member.put.tableName'",
        ),
    ],
)
def test_a_name_inside_a_request_is_found_there(operation: str, members: dict[str, Any], where: str) -> None:
    database = Database(None)
    with pytest.raises(ValidationException, match=f"^1 validation error detected: .* at {where} failed to satisfy"):
        database.call(operation, members)
    database.close()


# The ARN of an index or a stream is not that of a table, and must not be read as one.
@pytest.mark.parametrize("name", ["abc;", "a c", "abc\n", "arn:aws:dynamodb:eu-west-1:123456789012:table/abc/index/i"])
def test_characters(name: str) -> None:
    with pytest.raises(ValidationException) as rejected:
        table_name_of(name)
    assert rejected.value.message == (
        f"1 validation error detected: Value '{name}' at 'tableName' failed to satisfy constraint: "
        "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
    )
