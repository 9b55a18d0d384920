"""Batches decoded item by item are those decoded at once; so are their errors."""

from __future__ import annotations

import tracemalloc
from typing import Any

import orjson
import pytest

from sortkey.engine.database import Database
from sortkey.engine.requests import decode
from sortkey.engine.requests.items import BatchWriteItem
from sortkey.engine.requests.pieces import PIECE_BYTES, decode_in_pieces
from sortkey.errors import DynamoDBError, SerializationException, ValidationException
from tests.engine.conftest import Call
from tests.engine.samples import create

ITEM = {"p": {"S": "a"}, "l": {"L": [{"N": "1"}, {"M": {"x": {"NULL": True}}}]}}
PUT = {"PutRequest": {"Item": ITEM}}
DELETE = {"DeleteRequest": {"Key": {"p": {"S": "b"}}}}
STATEMENTS = [
    {"Statement": "INSERT INTO one VALUE {'p': ?}", "Parameters": [{"S": "a"}]},
    {"Statement": "DELETE FROM one WHERE p = 'b'", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"},
]
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
        ("BatchExecuteStatement", {"Statements": STATEMENTS, "ReturnConsumedCapacity": "TOTAL"}),
        ("ExecuteTransaction", {"TransactStatements": STATEMENTS, "ClientRequestToken": "t"}),
        # A null means that the member is absent.
        ("BatchWriteItem", {"RequestItems": {"one": [PUT | {"DeleteRequest": None}]}, "ReturnConsumedCapacity": None}),
    ],
)
def test_the_request_is_the_same(operation: str, members: dict[str, Any]) -> None:
    body = orjson.dumps(members)
    found = decode_in_pieces(operation, body)
    if isinstance(found, BatchWriteItem):
        found.request_items = {name: list(writes) for name, writes in found.request_items.items()}
    assert found == decode(operation, body)


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("BatchWriteItem", b"{"),
        ("BatchWriteItem", b"{}"),
        ("BatchWriteItem", orjson.dumps({"RequestItems": {"one": [PUT] * 26}})),
        ("BatchWriteItem", orjson.dumps({"RequestItems": {"one": [{"PutRequest": {"Item": "x"}}]}})),
        ("BatchWriteItem", orjson.dumps({"RequestItems": {"one": [PUT, {"PutRequest": {}}]}})),
        ("BatchWriteItem", orjson.dumps({"RequestItems": {"one": [PUT, {"PutRequest": {"Item": None}}]}})),
        ("BatchWriteItem", orjson.dumps({"RequestItems": {"one": [PUT, {"DeleteRequest": {"Key": [1]}}]}})),
        ("BatchWriteItem", orjson.dumps({"RequestItems": {"one": [PUT, 7]}})),
        ("BatchWriteItem", b'{"RequestItems":{"one":[{"PutRequest":{"Item":{"p":{"S":"\xff"}}}}]}}'),
        ("BatchWriteItem", b'{"RequestItems":{"one":[{"PutRequest":{"Item":{"p":{"S":"\\ud800"}}}}]}}'),
        ("TransactWriteItems", orjson.dumps({"TransactItems": [*ACTIONS, {"Put": {"TableName": "one"}}]})),
        ("TransactWriteItems", orjson.dumps({"TransactItems": []})),
        ("BatchExecuteStatement", orjson.dumps({"Statements": [*STATEMENTS, {}]})),
        ("ExecuteTransaction", orjson.dumps({"TransactStatements": [*STATEMENTS, {"Statement": ""}]})),
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


# The outline of a request does not show it, so it is found when the request is taken.
def test_a_number_out_of_every_range_is_not_json() -> None:
    batch = decode_in_pieces("BatchWriteItem", b'{"RequestItems":{"one":[{"PutRequest":{"Item":{"p":{"N":1e400}}}}]}}')
    assert isinstance(batch, BatchWriteItem)
    with pytest.raises(SerializationException):
        list(batch.request_items["one"])


# 16 MB of tiny attributes took 300 MB, because all items were decoded before the first became text.
@pytest.mark.slow
def test_a_batch_takes_the_memory_of_one_decoded_item(db: Database, call: Call) -> None:
    create(call, "one", "p:S")
    tiny = {f"a{number}": {"N": "1"} for number in range(3000)}
    puts = [{"PutRequest": {"Item": tiny | {"p": {"S": str(number)}}}} for number in range(25)]
    one, many = (orjson.dumps({"RequestItems": {"one": given}}) for given in (puts[:1], puts))
    # An item becomes text if its table is known.
    db.store.write(db.plan("BatchWriteItem", decode_in_pieces("BatchWriteItem", one)))
    assert peak_of_plan(db, many) - len(many) < 3 * peak_of_plan(db, one)


def peak_of_plan(db: Database, body: bytes) -> int:
    """Bytes that decoding and planning the batch took at most."""
    tracemalloc.start()
    try:
        db.plan("BatchWriteItem", decode_in_pieces("BatchWriteItem", body))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
