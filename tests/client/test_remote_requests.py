"""Request bodies are the ones that botocore writes."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from botocore.exceptions import ParamValidationError

import sortkey as sk
from sortkey.client import service_model
from sortkey.client.remote_requests import Serialiser, request_body
from tests.client.orders import EVERY_TYPE, ORDERS, key

USUAL: list[tuple[str, dict[str, Any]]] = [
    ("GetItem", {"TableName": "orders", "Key": key(1), "ConsistentRead": True}),
    ("PutItem", {"TableName": "orders", "Item": EVERY_TYPE, "ConditionExpression": "attribute_not_exists(customer)"}),
    (
        "UpdateItem",
        {
            "TableName": "orders",
            "Key": key(1),
            "UpdateExpression": "SET #n = :n",
            "ExpressionAttributeNames": {"#n": "näme"},
            "ExpressionAttributeValues": {":n": {"B": b"\xff"}},
        },
    ),
    ("DeleteItem", {"TableName": "orders", "Key": key(1), "ReturnValues": "ALL_OLD"}),
    ("Query", {"TableName": "orders", "KeyConditionExpression": "customer = :c", "Limit": 5}),
    ("Scan", {"TableName": "orders", "Segment": 0, "TotalSegments": 2}),
    ("BatchGetItem", {"RequestItems": {"orders": {"Keys": [key(1), key(2)], "ConsistentRead": True}}}),
    (
        "BatchWriteItem",
        {"RequestItems": {"orders": [{"PutRequest": {"Item": EVERY_TYPE}}, {"DeleteRequest": {"Key": key(2)}}]}},
    ),
]


@pytest.mark.parametrize(("operation", "members"), USUAL)
def test_bodies_are_botocores(operation: str, members: dict[str, Any]) -> None:
    model = service_model.operation_model(operation)
    theirs: Any = service_model._serialiser().serialize_to_request(members, model)
    ours = Serialiser(None).serialize_to_request(members, model)
    assert orjson.loads(ours.pop("body")) == orjson.loads(theirs.pop("body"))
    assert ours == theirs


# DynamoDB would ignore a misspelt name without an error.
UNUSUAL: list[tuple[str, dict[str, Any]]] = [
    ("GetItem", {"TableName": "orders", "Key": key(1), "ConsistentReed": True}),
    ("PutItem", {"TableName": "orders", "Item": {}, "Expected": {"a": {"Exist": False}}}),
    ("BatchGetItem", {"RequestItems": {"orders": {"Keys": [key(1)], "ConsistentReed": True}}}),
    ("BatchWriteItem", {"RequestItems": {"orders": [{"PutRequest": {"Item": {}, "Itme": {}}}]}}),
    ("BatchWriteItem", {"RequestItems": {"orders": [{"PutRequest": {"Item": {}}, "PutRequests": {}}]}}),
]


@pytest.mark.parametrize(("operation", "members"), UNUSUAL)
def test_botocore_rejects_misspelt_members(our_endpoint: str, operation: str, members: dict[str, Any]) -> None:
    with sk.client(our_endpoint) as client, pytest.raises(ParamValidationError, match="Unknown parameter"):
        client._call(operation, members)


@pytest.mark.parametrize("value", [{"SS": ("a",)}, {"B": bytearray(b"x")}, {"S": "\ud800"}, {"S": None}, {"N": 2**70}])
def test_other_types_are_left_to_botocore(value: dict[str, Any]) -> None:
    assert request_body("PutItem", {"TableName": "orders", "Item": {"a": value}}) is None
    assert request_body("CreateTable", ORDERS) is None


# Attribute values are not checked before they are sent, and the store's error would not have botocore's words.
@pytest.mark.parametrize("value", [{"S": 1}, {"N": 1}, {"T": "x"}, {"L": {}}, {"SS": "x"}])
def test_errors_in_values_are_botocores(our_endpoint: str, value: dict[str, Any]) -> None:
    with sk.client(f"{our_endpoint}?prefix=values-") as client:
        client.create_table(**ORDERS)
        with pytest.raises(ParamValidationError, match=r"Item\.wrong"):
            client.put_item(TableName="orders", Item={**key(1), "wrong": value})
        client.delete_table(TableName="orders")
