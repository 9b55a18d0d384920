"""Batches decoded item by item are those decoded at once; so are their errors."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from sortkey.engine.requests import decode
from sortkey.engine.requests.pieces import PIECE_BYTES, decode_in_pieces
from sortkey.errors import DynamoDBError, ValidationException

ITEM = {"p": {"S": "a"}, "l": {"L": [{"N": "1"}, {"M": {"x": {"NULL": True}}}]}}
PUT = {"PutRequest": {"Item": ITEM}}
DELETE = {"DeleteRequest": {"Key": {"p": {"S": "b"}}}}
ACTIONS = [
    {"Put": {"TableName": "one", "Item": ITEM}},
    {"Update": {"TableName": "one", "Key": {"p": {"S": "b"}}, "UpdateExpression": "REMOVE l"}},
    {"ConditionCheck": {"TableName": "two", "Key": {"p": {"S": "c"}}, "ConditionExpression": "attribute_exists(p)"}},
]


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("BatchWriteItem", {"RequestItems": {"one": [PUT, DELETE], "two": [PUT]}, "ReturnConsumedCapacity": "TOTAL"}),
        ("BatchWriteItem", {"RequestItems": {"one": [PUT]}, "ReturnItemCollectionMetrics": "SIZE"}),
        ("TransactWriteItems", {"TransactItems": ACTIONS, "ClientRequestToken": "t"}),
        ("PutItem", {"TableName": "one", "Item": ITEM}),
        # A null means that the member is absent.
        ("BatchWriteItem", {"RequestItems": {"one": [PUT | {"DeleteRequest": None}]}, "ReturnConsumedCapacity": None}),
    ],
)
def test_the_request_is_the_same(operation: str, members: dict[str, Any]) -> None:
    body = orjson.dumps(members)
    assert decode_in_pieces(operation, body) == decode(operation, body)


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("BatchWriteItem", b"{"),
        ("BatchWriteItem", b"{}"),
        ("BatchWriteItem", orjson.dumps({"RequestItems": {"one": [PUT] * 26}})),
        ("BatchWriteItem", orjson.dumps({"RequestItems": {"one": [{"PutRequest": {"Item": "x"}}]}})),
        ("BatchWriteItem", orjson.dumps({"RequestItems": {"one": [PUT, {"PutRequest": {}}]}})),
        ("TransactWriteItems", orjson.dumps({"TransactItems": [*ACTIONS, {"Put": {"TableName": "one"}}]})),
        ("TransactWriteItems", orjson.dumps({"TransactItems": []})),
    ],
)
def test_the_error_is_the_same(operation: str, body: bytes) -> None:
    with pytest.raises(DynamoDBError) as expected:
        decode(operation, body)
    with pytest.raises(DynamoDBError) as found:
        decode_in_pieces(operation, body)
    assert (found.value.code, found.value.message) == (expected.value.code, expected.value.message)


# Decoding it would stop every other thread.
def test_an_item_that_is_surely_too_large_is_not_decoded() -> None:
    large = {"PutRequest": {"Item": ITEM | {"t": {"S": "x" * PIECE_BYTES}}}}
    with pytest.raises(ValidationException, match="Item size has exceeded the maximum allowed size"):
        decode_in_pieces("BatchWriteItem", orjson.dumps({"RequestItems": {"one": [PUT, large]}}))
