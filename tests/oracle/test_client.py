"""Our client beside boto3's: one session, the same answers in the same shapes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ParamValidationError

import sortkey as sk

TABLE: dict[str, Any] = {
    "TableName": "shapes",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "B"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
}
KEY = {"id": {"B": b"\x00\xff"}}
ITEM = {**KEY, "blobs": {"BS": [b"a", b"b"]}, "nested": {"L": [{"M": {"B": {"B": b"x"}}}]}, "text": {"S": "é"}}
ONCE = {"TableName": "shapes", "Item": ITEM, "ConditionExpression": "attribute_not_exists(id)"}
SHOW_OLD = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}

SESSION: list[tuple[str, dict[str, Any]]] = [
    ("put_item", ONCE),
    ("put_item", {**ONCE, **SHOW_OLD}),
    ("get_item", {"TableName": "shapes", "Key": KEY, "ReturnConsumedCapacity": "TOTAL"}),
    ("get_item", {"TableName": "shapes", "Key": {"id": {"B": "text"}}}),
    ("get_item", {"TableName": "shapes", "Key": {"id": "text"}}),
    ("get_item", {"TableName": "shapes", "Key": KEY, "Consistent": True}),
    ("scan", {"TableName": "shapes", "Limit": 1}),
    ("batch_get_item", {"RequestItems": {"shapes": {"Keys": [KEY]}}}),
    ("transact_write_items", {"TransactItems": [{"Put": {**ONCE, **SHOW_OLD}}]}),
    ("update_item", {"TableName": "shapes", "Key": KEY, "UpdateExpression": "REMOVE x", "ReturnValues": "ALL_NEW"}),
    ("delete_item", {"TableName": "shapes", "Key": KEY, "ReturnValues": "ALL_OLD"}),
    ("list_tables", {}),
]


@pytest.fixture
def boto3_client(dynamodb_local: str) -> Iterator[Any]:
    client = boto3.client(
        "dynamodb",
        endpoint_url=dynamodb_local,
        region_name="us-east-1",
        aws_access_key_id="shapesofboto3",
        aws_secret_access_key="x",
    )
    client.create_table(**TABLE)
    yield client
    client.delete_table(TableName="shapes")
    client.close()


def outcome(client: Any, method: str, members: dict[str, Any]) -> tuple[str, Any]:
    """The answer or error of a call, without the metadata of a network."""
    try:
        result = getattr(client, method)(**members)
    except ParamValidationError as error:
        return "mistake", str(error)
    except ClientError as error:
        caught = isinstance(error, client.exceptions.from_code(error.response["Error"]["Code"]))
        result = {**error.response, "operation": error.operation_name, "caught by its code": caught}
        # DynamoDB Local writes it in capitals, unlike DynamoDB, so boto3 does not recognise it.
        result.pop("message", None)
    metadata = result.pop("ResponseMetadata")
    assert {"RequestId", "HTTPStatusCode", "HTTPHeaders", "RetryAttempts"} <= set(metadata)
    return metadata["HTTPStatusCode"], result


def test_a_session_gives_the_same_shapes(boto3_client: Any) -> None:
    with sk.client("memory:") as client:
        client.create_table(**TABLE)
        for method, members in SESSION:
            assert outcome(client, method, members) == outcome(boto3_client, method, members), method


def test_moments_are_datetimes_in_local_time(boto3_client: Any) -> None:
    with sk.client("memory:") as client:
        client.create_table(**TABLE)
        ours, theirs = (each.describe_table(TableName="shapes")["Table"] for each in (client, boto3_client))
    assert isinstance(ours["CreationDateTime"], datetime)
    assert ours["CreationDateTime"].tzinfo == theirs["CreationDateTime"].tzinfo
