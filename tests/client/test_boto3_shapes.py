"""boto3's shapes and DynamoDB JSON, compared with what boto3 itself makes of the same JSON."""

from __future__ import annotations

from typing import Any, cast

import pytest
from botocore.model import Shape
from botocore.parsers import create_parser
from botocore.utils import parse_timestamp

from sortkey.client import Client
from sortkey.client.boto3_shapes import TIMESTAMPS, NeedsBotocore, to_datetime, to_dynamodb_json
from sortkey.client.embedded import boto3_answer
from sortkey.client.service_model import operation_model
from sortkey.client.typed_requests import typed_request
from sortkey.engine.operations.answers import to_json
from sortkey.engine.requests import OPERATIONS
from tests.client.orders import EVERY_TYPE, database_of, key


def both(client: Client, operation: str, **members: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """One answer of the engine, as our client gives it and as boto3 would parse it off the wire."""
    answer = database_of(client).execute(operation, typed_request(operation, members))
    response = {"status_code": 200, "headers": {}, "body": to_json(answer)}
    shape: Any = operation_model(operation).output_shape
    parsed = create_parser("json").parse(response, shape)
    ours = boto3_answer(operation, answer)
    del ours["ResponseMetadata"], parsed["ResponseMetadata"]
    return ours, parsed


def test_answers_are_what_boto3_would_parse(orders: Client) -> None:
    orders.put_item(TableName="orders", Item=EVERY_TYPE)
    orders.put_item(TableName="orders", Item=key(2))
    arn = orders.describe_table(TableName="orders")["Table"]["LatestStreamArn"]
    shard = orders.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    iterator = orders.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")[
        "ShardIterator"
    ]
    get = {"TableName": "orders", "Key": key(1)}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("GetItem", get),
        ("GetItem", {**get, "ProjectionExpression": "B, parts[1], flag", "ReturnConsumedCapacity": "INDEXES"}),
        ("GetItem", {"TableName": "orders", "Key": key(3)}),
        ("Scan", {"TableName": "orders", "Limit": 1}),
        ("BatchGetItem", {"RequestItems": {"orders": {"Keys": [key(1), key(2)]}}}),
        ("TransactGetItems", {"TransactItems": [{"Get": get}, {"Get": {"TableName": "orders", "Key": key(9)}}]}),
        ("PutItem", {"TableName": "orders", "Item": EVERY_TYPE, "ReturnValues": "ALL_OLD"}),
        ("DescribeTable", {"TableName": "orders"}),
        ("DescribeStream", {"StreamArn": arn}),
        ("GetRecords", {"ShardIterator": iterator}),
        ("ListTables", {}),
        ("DescribeLimits", {}),
        ("DescribeContinuousBackups", {"TableName": "orders"}),
        ("DeleteTable", {"TableName": "orders"}),
    ]
    for operation, members in calls:
        ours, parsed = both(orders, operation, **members)
        assert ours == parsed, operation


def test_an_item_comes_back_as_it_went_in(orders: Client) -> None:
    orders.put_item(TableName="orders", Item=EVERY_TYPE)
    assert orders.get_item(TableName="orders", Key=key(1))["Item"] == EVERY_TYPE


def test_binary_keys_come_back_as_bytes_in_pages(client: Client) -> None:
    client.create_table(
        TableName="blobs",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "B"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    client.put_item(TableName="blobs", Item={"id": {"B": b"\xff"}})
    page = client.scan(TableName="blobs", Limit=1)
    assert page["LastEvaluatedKey"] == {"id": {"B": b"\xff"}}
    assert client.scan(TableName="blobs", ExclusiveStartKey=page["LastEvaluatedKey"])["Items"] == []


# boto3 accepts text for bytes, and encodes it.
def test_text_under_a_binary_tag_is_utf8() -> None:
    members = {"a": {"B": "é"}, "b": {"BS": ["é", b"x"]}}
    assert to_dynamodb_json(members) == {
        "a": {"B": "w6k="},
        "b": {"BS": ["w6k=", "eA=="]},
    }


# The engine leaves a long text in pieces.
def test_many_megabytes_come_back_as_items(orders: Client) -> None:
    items = [key(number) | {"raw": {"B": b"x" * 300_000}} for number in range(10)]
    for item in items:
        orders.put_item(TableName="orders", Item=item)
    wanted: Any = {"orders": {"Keys": [key(number) for number in range(10)]}}
    assert orders.batch_get_item(RequestItems=wanted)["Responses"]["orders"] == items


# Copying every request would cost more than executing some of them.
def test_members_without_binary_are_not_copied() -> None:
    members = {"Item": {"a": {"S": "x"}, "b": {"L": [{"M": {"c": {"NS": ["1"]}}}]}}, "Limit": 1}
    assert to_dynamodb_json(members) is members


def test_members_with_binary_are_copied_and_not_changed() -> None:
    unchanged = {"M": {"S": {"N": "1"}}}
    numbers = {"L": [{"N": "1"}, {"N": "2"}]}
    members = {"Item": {"a": {"L": [{"N": "1"}, {"B": b"x"}]}, "b": unchanged, "c": numbers}}
    wire = to_dynamodb_json(members)
    assert wire == {"Item": {"a": {"L": [{"N": "1"}, {"B": "eA=="}]}, "b": unchanged, "c": numbers}}
    assert wire["Item"]["b"] is unchanged
    assert wire["Item"]["c"] is numbers
    assert members == {"Item": {"a": {"L": [{"N": "1"}, {"B": b"x"}]}, "b": unchanged, "c": numbers}}


@pytest.mark.parametrize(
    "value",
    [
        None,
        (1,),
        1.5,
        {"B": bytearray(b"x")},
        {"S": b"x"},
        {"L": [None]},
        {"BS": [1]},
        {"L": [{"N": "1"}, {"N": 1.5}]},
        {"L": [{"N": "1"}, None]},
    ],
)
def test_other_types_are_left_to_botocore(value: object) -> None:
    with pytest.raises(NeedsBotocore):
        to_dynamodb_json({"a": value})


def timestamps(shape: Shape | None, seen: tuple[str, ...] = ()) -> set[str]:
    """The names of all timestamp members within a shape of the service model."""
    if shape is None or shape.name in seen:
        return set()
    inner: dict[str, Shape] = getattr(shape, "members", {})
    names = {name for name, member in inner.items() if member.type_name == "timestamp"}
    for part in (*inner.values(), getattr(shape, "member", None), getattr(shape, "value", None)):
        names |= timestamps(part, (*seen, shape.name))
    return names


def test_every_timestamp_of_the_model_is_known() -> None:
    modelled = {name for operation in OPERATIONS for name in timestamps(operation_model(operation).output_shape)}
    assert modelled == TIMESTAMPS


def test_request_ids_differ_and_the_rest_of_the_metadata_is_constant(client: Client) -> None:
    first, second = (client.list_tables()["ResponseMetadata"] for _ in range(2))
    assert first.pop("RequestId") != second.pop("RequestId")
    assert first == second == {"HTTPStatusCode": 200, "HTTPHeaders": {}, "RetryAttempts": 0}


# Equality ignores the time zone, so the text is compared: boto3's times have the machine's zone.
@pytest.mark.parametrize("seconds", [0, 1, 1.5, 1_772_345_678.123, 4_102_444_800])
def test_times_are_botocores(seconds: float) -> None:
    theirs = parse_timestamp(cast(Any, seconds))  # its stub knows text only
    assert repr(to_datetime(seconds)) == repr(theirs)
