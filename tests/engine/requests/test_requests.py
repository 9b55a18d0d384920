"""Both entry points: what they accept, and that they agree."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from sortkey.engine import requests
from sortkey.engine.requests import items, tables
from sortkey.errors import SerializationException, UnknownOperationException

KEY = {"pk": {"S": "a"}}

COMPLETE: dict[str, dict[str, Any]] = {
    "GetItem": {"TableName": "orders", "Key": KEY, "ConsistentRead": True, "ExpressionAttributeNames": {"#a": "a"}},
    "PutItem": {"TableName": "orders", "Item": KEY, "Expected": {"a": {"Value": {"N": "1"}, "Exists": True}}},
    "UpdateItem": {"TableName": "orders", "Key": KEY, "AttributeUpdates": {"a": {"Action": "ADD"}}},
    "DeleteItem": {"TableName": "orders", "Key": KEY, "ReturnValues": "ALL_OLD"},
    "Query": {"TableName": "orders", "KeyConditions": {"pk": {"ComparisonOperator": "EQ"}}, "Limit": 5},
    "Scan": {"TableName": "orders", "Segment": 0, "TotalSegments": 4, "Select": "COUNT"},
    "BatchGetItem": {"RequestItems": {"orders": {"Keys": [KEY], "ConsistentRead": False}}},
    "BatchWriteItem": {"RequestItems": {"orders": [{"PutRequest": {"Item": KEY}}, {"DeleteRequest": {"Key": KEY}}]}},
    "TransactGetItems": {"TransactItems": [{"Get": {"TableName": "orders", "Key": KEY}}]},
    "TransactWriteItems": {"TransactItems": [{"Put": {"TableName": "orders", "Item": KEY}}], "ClientRequestToken": "t"},
    "CreateTable": {
        "TableName": "orders",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
        "SSESpecification": {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "k"},
    },
    "ListBackups": {"TimeRangeLowerBound": 1700000000.5, "TimeRangeUpperBound": 1700000001},
    "DescribeLimits": {},
}


@pytest.mark.parametrize("operation", COMPLETE)
def test_bytes_and_dictionary_give_the_same_request(operation: str) -> None:
    members = COMPLETE[operation]
    request = requests.convert(operation, members)
    assert requests.decode(operation, json.dumps(members).encode()) == request
    assert type(request) is requests.OPERATIONS[operation]


# The encoder writes AWS's member names, so a round trip proves that none is misspelt.
@pytest.mark.parametrize("operation", COMPLETE)
def test_every_member_is_found_under_its_own_name(operation: str) -> None:
    encoded = json.loads(msgspec.json.encode(requests.convert(operation, COMPLETE[operation])))
    assert without_nulls(encoded) == COMPLETE[operation]


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(member) for name, member in value.items() if member is not None}
    return [without_nulls(element) for element in value] if isinstance(value, list) else value


def test_nested_structures_are_typed() -> None:
    request = requests.convert("BatchWriteItem", COMPLETE["BatchWriteItem"])
    assert isinstance(request, items.BatchWriteItem)
    put, delete = request.request_items["orders"]
    assert put.put_request == items.PutRequest(item=KEY)
    assert put.delete_request is None
    assert delete.delete_request == items.DeleteRequest(key=KEY)


def test_absent_members_are_none() -> None:
    request = requests.convert("GetItem", {"TableName": "orders", "Key": KEY})
    assert request == items.GetItem(table_name="orders", key=KEY)
    assert isinstance(request, items.GetItem)
    assert request.consistent_read is None


def test_null_is_the_same_as_absent() -> None:
    nulls = b'{"TableName": "orders", "ConsistentRead": null, "Key": {}, "AttributesToGet": null}'
    assert requests.decode("GetItem", nulls) == items.GetItem(table_name="orders", key={})


def test_unknown_members_are_ignored() -> None:
    assert requests.decode("DescribeTable", b'{"TableName": "orders", "Colour": [1]}') == tables.DescribeTable(
        table_name="orders"
    )


# The general path must ignore unknown members too.
def test_unknown_members_are_ignored_when_something_else_needs_a_second_look() -> None:
    assert requests.decode("Query", b'{"TableName": "orders", "Colour": [1], "Limit": 2.0}') == items.Query(
        table_name="orders", limit=2
    )


# DynamoDB Local cuts fractions off, too.
@pytest.mark.parametrize(("sent", "limit"), [("1.0", 1), ("1.9", 1), ("2e1", 20)])
def test_fractions_of_whole_numbers_are_cut_off(sent: str, limit: int) -> None:
    body = f'{{"TableName": "orders", "Limit": {sent}}}'.encode()
    assert requests.decode("Query", body) == items.Query(table_name="orders", limit=limit)


def test_a_dictionary_is_never_changed() -> None:
    members = {"TableName": "orders", "Limit": 1.9, "ExclusiveStartKey": {"pk": {"S": "a"}}}
    before = json.dumps(members)
    requests.convert("Query", members)
    assert json.dumps(members) == before


@pytest.mark.parametrize("operation", ["getItem", "", "GetItems"])
def test_unknown_operation(operation: str) -> None:
    with pytest.raises(UnknownOperationException, match=r"^An unknown operation was requested\.$"):
        requests.decode(operation, b"{}")
    with pytest.raises(UnknownOperationException):
        requests.convert(operation, {})


# AWS's answer to these has no message at all.
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"{'TableName': 1}",
        b'{"TableName": "orders",}',
        b'{"TableName": "orders"} x',
        b'{"TableName": NaN}',
        b'{"TableName": "\xff\xfe"}',
        b'{"TableName": "\\ud800"}',
        b'{"TableName": 1, "Key": ',
        b'{"TableName": "orders", "Key": ' + b"[" * 100_000,
        b"[" * 100_000,
    ],
)
def test_a_body_that_is_not_json(body: bytes) -> None:
    with pytest.raises(SerializationException) as rejected:
        requests.decode("GetItem", body)
    assert rejected.value.message == ""


@pytest.mark.parametrize("body", [b"[]", b'"x"', b"1", b"true", b"null"])
def test_a_body_that_is_not_an_object(body: bytes) -> None:
    with pytest.raises(SerializationException):
        requests.decode("GetItem", body)


# A dictionary can have values that JSON cannot; none of them may raise another type of error.
@pytest.mark.parametrize(
    "members",
    [
        {"TableName": b"orders", "Key": {}},
        {"TableName": "orders", "Key": {1: {"S": "a"}}},
        {"TableName": "orders", "Key": {}, "AttributesToGet": {"a"}, "ConsistentRead": 1},
        {"TableName": "orders", "Key": {}, "ProjectionExpression": object()},
    ],
)
def test_a_dictionary_with_values_that_json_does_not_know(members: dict[str, Any]) -> None:
    with pytest.raises(SerializationException):
        requests.convert("GetItem", members)


def test_a_number_beyond_all_floats() -> None:
    with pytest.raises(SerializationException):
        requests.decode("ListBackups", b'{"TimeRangeUpperBound": 1' + b"0" * 400 + b"}")


@pytest.mark.parametrize("limit", [float("inf"), float("nan")])
def test_a_dictionary_with_a_number_that_json_does_not_know(limit: float) -> None:
    with pytest.raises(SerializationException):
        requests.convert("Query", {"TableName": "orders", "Limit": limit})
