"""Values of a wrong JSON type, in the words of AWS's deserialiser.

DynamoDB Local cannot be compared with here: it turns numbers and booleans into strings, and answers most of the rest
with InternalFailure.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from sortkey.engine import requests
from sortkey.errors import SerializationException

PACKAGE = "com.amazonaws.dynamodb.v20120810"
ATTRIBUTE_MAP = f"java.util.Map<java.lang.String, {PACKAGE}.AttributeValue>"
UNEXPECTED_MAP = "Start of structure or map found where not expected"


def error(operation: str, members: dict[str, Any]) -> str:
    """The message, which is the same for both entry points."""
    with pytest.raises(SerializationException) as from_bytes:
        requests.decode(operation, json.dumps(members).encode())
    with pytest.raises(SerializationException) as from_dictionary:
        requests.convert(operation, members)
    assert from_bytes.value.message == from_dictionary.value.message
    return from_bytes.value.message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "TRUE_VALUE cannot be converted to String"),
        (False, "FALSE_VALUE cannot be converted to String"),
        (12, "NUMBER_VALUE cannot be converted to String"),
        (1.5, "DECIMAL_VALUE cannot be converted to String"),
        ([], "Unrecognized collection type class java.lang.String"),
        ({}, UNEXPECTED_MAP),
    ],
)
def test_string_expected(value: object, message: str) -> None:
    assert error("GetItem", {"TableName": value, "Key": {}}) == message


# An enumeration is a string to the deserialiser, which does not check the words.
def test_word_expected() -> None:
    assert error("Scan", {"TableName": "abc", "Select": 1}) == "NUMBER_VALUE cannot be converted to String"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "TRUE_VALUE cannot be converted to Integer"),
        ("1", "STRING_VALUE cannot be converted to Integer"),
        ([], "Unrecognized collection type class java.lang.Integer"),
        ({}, UNEXPECTED_MAP),
    ],
)
def test_integer_expected(value: object, message: str) -> None:
    assert error("Query", {"TableName": "abc", "Limit": value}) == message


def test_long_expected() -> None:
    throughput = {"ReadCapacityUnits": "1", "WriteCapacityUnits": 1}
    message = error("UpdateTable", {"TableName": "abc", "ProvisionedThroughput": throughput})
    assert message == "STRING_VALUE cannot be converted to Long"


def test_timestamp_expected() -> None:
    assert error("ListBackups", {"TimeRangeLowerBound": "now"}) == "STRING_VALUE cannot be converted to Date"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("true", "STRING_VALUE cannot be converted to Boolean"),
        (1, "NUMBER_VALUE cannot be converted to Boolean"),
        (1.5, "DECIMAL_VALUE cannot be converted to Boolean"),
        ([], "Unrecognized collection type class java.lang.Boolean"),
        ({}, UNEXPECTED_MAP),
    ],
)
def test_boolean_expected(value: object, message: str) -> None:
    assert error("GetItem", {"TableName": "abc", "Key": {}, "ConsistentRead": value}) == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("x", "Unexpected field type"),
        (1, "Unexpected field type"),
        (True, "Unexpected field type"),
        ({}, UNEXPECTED_MAP),
        ([1], "NUMBER_VALUE cannot be converted to String"),
    ],
)
def test_list_expected(value: object, message: str) -> None:
    assert error("GetItem", {"TableName": "abc", "Key": {}, "AttributesToGet": value}) == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("x", "Unexpected field type"),
        (1, "Unexpected field type"),
        (False, "Unexpected field type"),
        ([], f"Unrecognized collection type {ATTRIBUTE_MAP}"),
    ],
)
def test_map_expected(value: object, message: str) -> None:
    assert error("GetItem", {"TableName": "abc", "Key": value}) == message


def test_map_of_lists_expected() -> None:
    expected = f"java.util.Map<java.lang.String, java.util.List<{PACKAGE}.WriteRequest>>"
    assert error("BatchWriteItem", {"RequestItems": []}) == f"Unrecognized collection type {expected}"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("x", "Unexpected field type"),
        (1, "Unexpected field type"),
        ([], f"Unrecognized collection type class {PACKAGE}.ProvisionedThroughput"),
    ],
)
def test_structure_expected(value: object, message: str) -> None:
    assert error("CreateTable", {"TableName": "abc", "ProvisionedThroughput": value}) == message


def test_attribute_value_expected() -> None:
    expected: dict[str, Any] = {"a": {"Value": []}}
    message = error("PutItem", {"TableName": "abc", "Item": {}, "Expected": expected})
    assert message == f"Unrecognized collection type class {PACKAGE}.AttributeValue"


# Types are checked before constraints, wherever in the request the wrong type is.
def test_wrong_type_is_reported_before_missing_members() -> None:
    request = {"TransactItems": [{"Put": {}}, {"Put": {"TableName": 1}}]}
    assert error("TransactWriteItems", request) == "NUMBER_VALUE cannot be converted to String"


# Only the first error is reported, in the order of the request, not of the service model.
def test_first_wrong_type_in_the_request_is_reported() -> None:
    assert error("Query", {"Limit": "1", "TableName": 1}) == "STRING_VALUE cannot be converted to Integer"
