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


# What Java's int or long cannot hold is no such number, whatever the constraints say of it.
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (2**31, "NUMBER_VALUE cannot be converted to Integer"),
        (-(2**31) - 1, "NUMBER_VALUE cannot be converted to Integer"),
        (10**4000, "NUMBER_VALUE cannot be converted to Integer"),
        (1e300, "DECIMAL_VALUE cannot be converted to Integer"),
        (-1e10, "DECIMAL_VALUE cannot be converted to Integer"),
    ],
)
def test_an_integer_out_of_range(value: float, message: str) -> None:
    assert error("Query", {"TableName": "abc", "Limit": value}) == message
    assert error("ListContributorInsights", {"MaxResults": value}) == message


@pytest.mark.parametrize("member", ["OnDemandThroughput", "WarmThroughput", "ProvisionedThroughput"])
@pytest.mark.parametrize("value", [2**63, 2**64, -(2**63) - 1])
def test_a_long_out_of_range(member: str, value: int) -> None:
    names = {
        "OnDemandThroughput": ("MaxReadRequestUnits", "MaxWriteRequestUnits"),
        "WarmThroughput": ("ReadUnitsPerSecond", "WriteUnitsPerSecond"),
        "ProvisionedThroughput": ("ReadCapacityUnits", "WriteCapacityUnits"),
    }[member]
    members = {"TableName": "abc", member: dict.fromkeys(names, value)}
    message = "NUMBER_VALUE cannot be converted to Long"
    assert error("UpdateTable", members) == error("CreateTable", members) == message
    index = {"IndexName": "by_a", "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}], "Projection": {}}
    for action in ({"Update": {"IndexName": "by_a"}}, {"Create": index}):
        updates = [{name: content | {member: members[member]} for name, content in action.items()}]
        assert error("UpdateTable", {"TableName": "abc", "GlobalSecondaryIndexUpdates": updates}) == message


def test_the_largest_long_is_accepted() -> None:
    requests.convert("UpdateTable", {"TableName": "abc", "OnDemandThroughput": {"MaxReadRequestUnits": 2**63 - 1}})


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
