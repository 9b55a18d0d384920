"""Requests have a table's name or its ARN, and names have rules."""

from __future__ import annotations

import pytest

from sortkey.engine.requests import table_name_of
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


@pytest.mark.parametrize("name", ["ab", "x" * 256, "arn:aws:dynamodb:eu-west-1:123456789012:table/ab"])
def test_length(name: str) -> None:
    with pytest.raises(ValidationException) as rejected:
        table_name_of(name)
    assert rejected.value.message == "TableName must be at least 3 characters long and at most 255 characters long"


# The ARN of an index or a stream is not that of a table, and must not be read as one.
@pytest.mark.parametrize("name", ["abc;", "a c", "abc\n", "arn:aws:dynamodb:eu-west-1:123456789012:table/abc/index/i"])
def test_characters(name: str) -> None:
    with pytest.raises(ValidationException) as rejected:
        table_name_of(name)
    assert rejected.value.message == (
        f"1 validation error detected: Value '{name}' at 'tableName' failed to satisfy constraint: "
        "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
    )
