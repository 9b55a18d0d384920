"""Answers of the endpoint are the ones that botocore reads."""

from __future__ import annotations

from typing import Any

import boto3
import pytest

import sortkey as sk
from sortkey.client.remote_answers import read
from sortkey.client.service_model import operation_model
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


# botocore reads errors, and bodies that are not JSON.
@pytest.mark.parametrize("body", [b"", b"<html>"])
def test_botocore_reads_the_rest(body: bytes) -> None:
    shape: Any = operation_model("Query").output_shape
    assert read(lambda *_: "botocore", body, shape) == "botocore"
    error: Any = operation_model("PutItem").service_model.shape_for("ConditionalCheckFailedException")
    assert read(lambda *_: "botocore", b"{}", error) == "botocore"
