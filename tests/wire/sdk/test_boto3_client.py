"""boto3's low-level client."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.wire.sdk.orders import BY_STATUS, CREDENTIALS, OF_ANN, SHIP, key, order, orders
from tests.wire.serving import ServerProcess


def test_session(server: ServerProcess) -> None:
    db: Any = boto3.client("dynamodb", endpoint_url=server.url, **CREDENTIALS)
    name = "boto3-client"
    db.create_table(**orders(name))
    db.get_waiter("table_exists").wait(TableName=name)
    db.put_item(TableName=name, Item=order(1) | {"blob": {"B": b"\x00\xff"}})
    assert db.get_item(TableName=name, Key=key(1))["Item"]["blob"] == {"B": b"\x00\xff"}

    db.update_item(TableName=name, Key=key(1), **SHIP)
    with pytest.raises(db.exceptions.ConditionalCheckFailedException) as caught:
        db.update_item(TableName=name, Key=key(1), ReturnValuesOnConditionCheckFailure="ALL_OLD", **SHIP)
    assert caught.value.response["Item"]["status"] == {"S": "shipped"}

    requests = [{"PutRequest": {"Item": order(number)}} for number in range(2, 27)]
    assert db.batch_write_item(RequestItems={name: requests})["UnprocessedItems"] == {}
    found = db.batch_get_item(RequestItems={name: {"Keys": [key(number) for number in range(1, 27)]}})
    assert len(found["Responses"][name]) == 26

    assert db.query(TableName=name, **BY_STATUS)["Count"] == 25
    pages = list(db.get_paginator("query").paginate(TableName=name, PaginationConfig={"PageSize": 10}, **OF_ANN))
    assert [page["Count"] for page in pages] == [10, 10, 6]
    assert [int(item["number"]["N"]) for page in pages for item in page["Items"]] == list(range(1, 27))

    put = {"Put": {"TableName": name, "Item": order(99)}}
    db.transact_write_items(TransactItems=[put, {"Delete": {"TableName": name, "Key": key(2)}}])
    never = {"TableName": name, "Key": key(3), "ConditionExpression": "attribute_not_exists(customer)"}
    with pytest.raises(ClientError) as rejected:
        db.transact_write_items(TransactItems=[put, {"ConditionCheck": never}])
    reasons = rejected.value.response["CancellationReasons"]
    assert [reason["Code"] for reason in reasons] == ["None", "ConditionalCheckFailed"]

    events = [record["eventName"] for record in records(server, db, name)]
    assert events == ["INSERT", "MODIFY", *["INSERT"] * 25, "INSERT", "REMOVE"]
    db.delete_table(TableName=name)


def records(server: ServerProcess, db: Any, name: str) -> list[dict[str, Any]]:
    streams: Any = boto3.client("dynamodbstreams", endpoint_url=server.url, **CREDENTIALS)
    arn = db.describe_table(TableName=name)["Table"]["LatestStreamArn"]
    (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")
    found: list[dict[str, Any]] = streams.get_records(ShardIterator=iterator["ShardIterator"])["Records"]
    return found
