"""Requests are the ones that botocore writes, and answers those that it reads."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import boto3
import orjson
import pytest
from botocore.awsrequest import AWSResponse, HeadersDict
from botocore.exceptions import ParamValidationError
from botocore.session import Session

import sortkey as sk
from sortkey.client import remote_formats, service_model
from sortkey.client.remote_formats import headers, read_answer, request_body
from sortkey.client.service_model import METHOD_OF
from tests.client.orders import EVERY_TYPE, ORDERS, key

CREDENTIALS: Any = {"aws_access_key_id": "k", "aws_secret_access_key": "s", "region_name": "us-east-1"}


def without_metadata(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: member for name, member in answer.items() if name != "ResponseMetadata"}


READS: list[tuple[str, dict[str, Any]]] = [
    ("get_item", {"TableName": "answers", "Key": key(1)}),
    ("get_item", {"TableName": "answers", "Key": key(2)}),
    ("get_item", {"TableName": "answers", "Key": key(3)}),
    ("scan", {"TableName": "answers", "ReturnConsumedCapacity": "INDEXES"}),
    ("batch_get_item", {"RequestItems": {"answers": {"Keys": [key(1), key(2)]}}}),
    ("transact_get_items", {"TransactItems": [{"Get": {"TableName": "answers", "Key": key(1)}}]}),
    ("describe_table", {"TableName": "answers"}),
    ("describe_time_to_live", {"TableName": "answers"}),
    ("describe_continuous_backups", {"TableName": "answers"}),
    ("list_tables", {}),
]


def test_answers_are_boto3s(our_endpoint: str) -> None:
    theirs: Any = boto3.client("dynamodb", endpoint_url=our_endpoint, **CREDENTIALS)
    with sk.client(our_endpoint) as ours:
        ours.create_table(**{**ORDERS, "TableName": "answers"})
        ours.put_item(TableName="answers", Item=EVERY_TYPE)
        ours.put_item(TableName="answers", Item={**key(2), "note": {"S": "x"}})
        for method, members in READS:
            answer, expected = getattr(ours, method)(**members), getattr(theirs, method)(**members)
            assert without_metadata(answer) == without_metadata(expected)
            assert answer["ResponseMetadata"].keys() == expected["ResponseMetadata"].keys()
        ours.delete_table(TableName="answers")
    theirs.close()


def test_records_have_times_and_binary(our_endpoint: str) -> None:
    theirs: Any = boto3.client("dynamodbstreams", endpoint_url=our_endpoint, **CREDENTIALS)
    with sk.client(f"{our_endpoint}?prefix=records-") as ours:
        arn = ours.create_table(**ORDERS)["TableDescription"]["LatestStreamArn"]
        ours.put_item(TableName="orders", Item=EVERY_TYPE)
        for shard in theirs.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
            asked = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            iterator = theirs.get_shard_iterator(**asked)["ShardIterator"]
            records = ours.get_records(ShardIterator=iterator)["Records"]
            assert records == theirs.get_records(ShardIterator=iterator)["Records"]
    theirs.close()


# botocore reads bodies that are not JSON.
@pytest.mark.parametrize("body", [b"", b"<html>", b"[]"])
@pytest.mark.parametrize("operation", ["Query", "PutItem"])
def test_botocore_reads_the_rest(operation: str, body: bytes) -> None:
    assert read_answer(operation, body) is None


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
    theirs = service_model._serialiser().serialize_to_request(members, service_model.operation_model(operation))
    ours = request_body(operation, members)
    assert ours is not None
    assert orjson.loads(ours) == orjson.loads(theirs["body"])
    assert headers(operation) == theirs["headers"]


@pytest.fixture(scope="module")
def session() -> Session:
    """It reads the service's description once."""
    return Session()


# botocore is left a short request, which it must accept, for the same tables: they may decide about the address.
@pytest.mark.parametrize(("operation", "members"), USUAL)
def test_botocore_sends_the_same_body(session: Session, operation: str, members: dict[str, Any]) -> None:
    client: Any = session.create_client("dynamodb", endpoint_url="http://localhost:1", **CREDENTIALS)
    remote_formats.install(client)
    sent: list[Any] = []

    def send(request: Any, **_: Any) -> AWSResponse:
        sent.append(request)
        no_headers: Any = HeadersDict({})
        return AWSResponse(request.url, 200, no_headers, Answer())

    client.meta.events.register("before-send", send)
    given = deepcopy(members)
    getattr(client, METHOD_OF[operation])(**members)
    assert members == given
    (request,) = sent
    assert request.body == request_body(operation, members)
    assert int(request.headers["Content-Length"]) == len(request.body)
    client.close()


class Answer:
    def stream(self) -> Iterator[bytes]:
        yield b"{}"


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
