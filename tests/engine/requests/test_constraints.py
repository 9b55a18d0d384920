"""Missing members and violated bounds, reported together with AWS's messages.

DynamoDB Local checks few of them, and answers "Value null at 'tableName' …" without AWS's count in front.
"""

from __future__ import annotations

import json
import re
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sortkey.engine import requests
from sortkey.engine.requests.shapes import AWS_PATTERN
from sortkey.engine.requests.transfers import Bucket
from sortkey.errors import ValidationException

KEY = {"pk": {"S": "a"}}


def error(operation: str, members: dict[str, Any]) -> str:
    """The message, which is the same for both entry points."""
    with pytest.raises(ValidationException) as from_bytes:
        requests.decode(operation, json.dumps(members).encode())
    with pytest.raises(ValidationException) as from_dictionary:
        requests.convert(operation, members)
    assert from_bytes.value.message == from_dictionary.value.message
    return from_bytes.value.message


def one(value: str, path: str, constraint: str) -> str:
    return f"1 validation error detected: Value {value} at '{path}' failed to satisfy constraint: {constraint}"


NOT_NULL = "Member must not be null"


def test_required_members() -> None:
    assert error("GetItem", {"TableName": "abc"}) == one("null", "key", NOT_NULL)
    assert error("GetItem", {"TableName": None, "Key": {}}) == one("null", "tableName", NOT_NULL)


def test_all_broken_constraints_are_counted_and_listed_in_the_order_of_the_service_model() -> None:
    assert error("Query", {"Limit": 0, "Select": "x", "AttributesToGet": [], "TableName": ""}) == (
        "4 validation errors detected: "
        "Value '' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 1; "
        "Value 'x' at 'select' failed to satisfy constraint: Member must satisfy enum value set: "
        "[SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]; "
        "Value '[]' at 'attributesToGet' failed to satisfy constraint: "
        "Member must have length greater than or equal to 1; "
        "Value at 'Limit' failed to satisfy constraint: Member must have value greater than or equal to 1"
    )


def test_the_first_broken_constraint_of_an_update_is_reported_alone() -> None:
    assert error(
        "UpdateItem", {"TableName": "abc", "Key": KEY, "ReturnValues": "x", "ReturnConsumedCapacity": "y"}
    ) == (
        "1 validation error detected: Value 'x' at 'returnValues' failed to satisfy constraint: "
        "Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"
    )


# Operations on tables check their parameter before anything else, and have another message.
@pytest.mark.parametrize(
    "operation", ["CreateTable", "DescribeTable", "DeleteTable", "UpdateTable", "UpdateTimeToLive"]
)
def test_table_operations_name_the_missing_parameter(operation: str) -> None:
    expected = "The parameter 'TableName' is required but was not present in the request"
    assert error(operation, {"BillingMode": "x"}) == expected


@pytest.mark.parametrize(
    ("operation", "members", "path", "words"),
    [
        ("GetItem", {"ReturnConsumedCapacity": "x"}, "returnConsumedCapacity", "[INDEXES, TOTAL, NONE]"),
        ("DeleteItem", {"ReturnItemCollectionMetrics": "x"}, "returnItemCollectionMetrics", "[SIZE, NONE]"),
        (
            "UpdateItem",
            {"ReturnValues": "x"},
            "returnValues",
            "[ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]",
        ),
        ("DeleteItem", {"ConditionalOperator": "x"}, "conditionalOperator", "[OR, AND]"),
        (
            "UpdateItem",
            {"AttributeUpdates": {"a": {"Action": "x"}}},
            "attributeUpdates.a.member.action",
            "[DELETE, PUT, ADD]",
        ),
        (
            "UpdateItem",
            {"Expected": {"a": {"ComparisonOperator": "x"}}},
            "expected.a.member.comparisonOperator",
            "[IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, BEGINS_WITH, GE, CONTAINS]",
        ),
    ],
)
def test_words(operation: str, members: dict[str, Any], path: str, words: str) -> None:
    expected = one("'x'", path, f"Member must satisfy enum value set: {words}")
    assert error(operation, {"TableName": "abc", "Key": {}, **members}) == expected


def test_pattern_comes_before_length() -> None:
    assert error("Scan", {"TableName": "abc", "IndexName": "a;"}) == (
        "2 validation errors detected: "
        "Value 'a;' at 'indexName' failed to satisfy constraint: "
        "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+; "
        "Value 'a;' at 'indexName' failed to satisfy constraint: Member must have length greater than or equal to 3"
    )


# `$` in a search would let a trailing line break pass.
def test_pattern_covers_the_whole_text() -> None:
    expected = one("'abc\n'", "indexName", "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+")
    assert error("Scan", {"TableName": "abc", "IndexName": "abc\n"}) == expected


# AWS's own pattern would take hours for this text, on the server's loop.
@pytest.mark.parametrize("letters", ["a", "_"])
def test_a_long_name_of_a_bucket_is_rejected_at_once(letters: str) -> None:
    members = {"TableArn": "a", "S3Bucket": f"a{letters * 100_000}!"}
    message = error("ExportTableToPointInTime", members)
    assert r"regular expression pattern: ^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$; " in message
    assert message.endswith("Member must have length less than or equal to 255")


@given(st.text("aZ0._-é !\n", max_size=6))
def test_our_pattern_of_a_bucket_means_what_awss_does(name: str) -> None:
    (meta,) = get_args(Bucket)[1:]
    awss = meta.extra[AWS_PATTERN].removesuffix("$")
    assert bool(re.search(meta.pattern, name)) is bool(re.fullmatch(awss, name))


@pytest.mark.parametrize(
    ("members", "value", "path", "constraint"),
    [
        ({"Segment": -1}, "'-1'", "segment", "Member must have value greater than or equal to 0"),
        ({"Segment": 1_000_000}, "'1000000'", "segment", "Member must have value less than or equal to 999999"),
        ({"TotalSegments": 0}, "'0'", "totalSegments", "Member must have value greater than or equal to 1"),
        ({"Limit": -5.5}, "'-5'", "limit", "Member must have value greater than or equal to 1"),
    ],
)
def test_numbers(members: dict[str, Any], value: str, path: str, constraint: str) -> None:
    assert error("Scan", {"TableName": "abc", **members}) == one(value, path, constraint)


def test_structures_in_a_list_are_numbered_from_one() -> None:
    schema = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "", "KeyType": "x"}]
    assert error("CreateTable", {"TableName": "abc", "KeySchema": schema}) == (
        "2 validation errors detected: "
        "Value '' at 'keySchema.2.member.attributeName' failed to satisfy constraint: "
        "Member must have length greater than or equal to 1; "
        "Value 'x' at 'keySchema.2.member.keyType' failed to satisfy constraint: "
        "Member must satisfy enum value set: [HASH, RANGE]"
    )


def test_attribute_types() -> None:
    definitions = [{"AttributeName": "pk", "AttributeType": "Q"}]
    assert error("CreateTable", {"TableName": "abc", "AttributeDefinitions": definitions}) == one(
        "'Q'", "attributeDefinitions.1.member.attributeType", "Member must satisfy enum value set: [B, N, S]"
    )


def test_deeply_nested_members() -> None:
    indexes = [{"IndexName": "abc", "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}], "Projection": {}}]
    updates = [{"Create": {**indexes[0], "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 1}}}]
    assert error("UpdateTable", {"TableName": "abc", "GlobalSecondaryIndexUpdates": updates}) == one(
        "'0'",
        "globalSecondaryIndexUpdates.1.member.create.provisionedThroughput.readCapacityUnits",
        "Member must have value greater than or equal to 1",
    )


# Observed on AWS: the message has the whole map and every constraint of its values, violated or not.
def test_batch_of_no_writes() -> None:
    assert error("BatchWriteItem", {"RequestItems": {"abc": []}}) == one(
        "'{abc=[]}'",
        "requestItems",
        "Map value must satisfy constraint: "
        "[Member must have length less than or equal to 25, Member must have length greater than or equal to 1]",
    )


# AWS shows structures by class and hash. The hash varies; the rest of the text does not.
def test_batch_of_too_many_writes() -> None:
    message = error("BatchWriteItem", {"RequestItems": {"abc": [{"DeleteRequest": {"Key": KEY}}] * 26}})
    assert message.startswith(
        "1 validation error detected: Value '{abc=[WriteRequest(deleteRequest=DeleteRequest(key={pk=com.amazonaws."
    )
    assert message.endswith(
        "]}' at 'requestItems' failed to satisfy constraint: Map value must satisfy constraint: "
        "[Member must have length less than or equal to 25, Member must have length greater than or equal to 1]"
    )


def test_batch_of_nothing() -> None:
    constraint = "Member must have length greater than or equal to 1"
    detected = "1 validation error detected: Value at '{}' failed to satisfy constraint: " + constraint
    assert error("BatchGetItem", {"RequestItems": {}}) == detected.format("RequestItems")
    # Names of tables may have points.
    for name in ("abc", "a.keys"):
        message = error("BatchGetItem", {"RequestItems": {name: {"Keys": []}}})
        assert message == detected.format(f"RequestItems.{name}.member.Keys")
    assert error("BatchWriteItem", {"RequestItems": {}}) == "The requestItems parameter is required for BatchWriteItem"


def test_batch_of_a_table_without_a_name() -> None:
    message = error("BatchGetItem", {"RequestItems": {"": {"Keys": [KEY]}}})
    assert message.endswith(
        "at 'requestItems' failed to satisfy constraint: Map keys must satisfy constraint: "
        "[Member must have length less than or equal to 255, Member must have length greater than or equal to 3, "
        "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+]"
    )


def test_members_missing_inside_a_batch() -> None:
    assert error("BatchGetItem", {"RequestItems": {"abc": {}}}) == one("null", "requestItems.abc.member.keys", NOT_NULL)
    assert error("BatchWriteItem", {"RequestItems": {"abc": [{"PutRequest": {}}]}}) == one(
        "null", "requestItems.abc.member.1.member.putRequest.item", NOT_NULL
    )


def test_null_in_a_list() -> None:
    assert error("TransactGetItems", {"TransactItems": [None]}) == one("null", "transactItems.1.member", NOT_NULL)
    names = {"TableName": "abc", "Key": {}, "AttributesToGet": ["a", None]}
    assert error("GetItem", names) == one("null", "attributesToGet.2.member", NOT_NULL)


# DynamoDB Local agrees on the paths.
def test_members_missing_inside_a_transaction() -> None:
    assert error("TransactWriteItems", {"TransactItems": [{"Put": {}}]}) == (
        "2 validation errors detected: "
        "Value null at 'transactItems.1.member.put.item' failed to satisfy constraint: Member must not be null; "
        "Value null at 'transactItems.1.member.put.tableName' failed to satisfy constraint: Member must not be null"
    )
    assert error("TransactGetItems", {"TransactItems": [{}]}) == one("null", "transactItems.1.member.get", NOT_NULL)


def test_transaction_bounds() -> None:
    assert error("TransactWriteItems", {"TransactItems": []}) == one(
        "'[]'", "transactItems", "Member must have length greater than or equal to 1"
    )
    actions = [{"Delete": {"TableName": "abc", "Key": KEY}}]
    assert error("TransactWriteItems", {"TransactItems": actions * 101}).endswith(
        "at 'transactItems' failed to satisfy constraint: Member must have length less than or equal to 100"
    )
    assert error("TransactWriteItems", {"TransactItems": actions, "ClientRequestToken": "x" * 37}) == one(
        f"'{'x' * 37}'", "clientRequestToken", "Member must have length less than or equal to 36"
    )


# Bounds of the strings in a list are reported for the list.
def test_strings_in_a_list() -> None:
    assert error("UntagResource", {"ResourceArn": "arn", "TagKeys": ["good", ""]}) == one(
        "'[good, ]'",
        "tagKeys",
        "Member must satisfy constraint: "
        "[Member must have length less than or equal to 128, Member must have length greater than or equal to 1]",
    )


def test_streams() -> None:
    shard = "shardId-" + "0" * 20
    arn = "arn:aws:dynamodb:us-east-1:000000000000:table/abc/stream/1"
    request = {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "x"}
    assert error("GetShardIterator", request).startswith(
        "1 validation error detected: Value 'x' at 'shardIteratorType' failed to satisfy constraint: "
        "Member must satisfy enum value set: ["
    )
    assert error("GetRecords", {"ShardIterator": "i", "Limit": 1001}) == one(
        "'1001'", "limit", "Member must have value less than or equal to 1000"
    )


# An invalid attribute before a violated bound must not matter: attribute values are checked elsewhere.
def test_attributes_of_any_shape_can_be_shown() -> None:
    deletions = [{"DeleteRequest": {"Key": {"pk": value}}} for value in (5, None)]
    assert error("BatchWriteItem", {"RequestItems": {"abc": deletions * 13}}).endswith(
        "at 'requestItems' failed to satisfy constraint: Map value must satisfy constraint: "
        "[Member must have length less than or equal to 25, Member must have length greater than or equal to 1]"
    )
