"""The sync client as its users see it."""

from __future__ import annotations

import threading
from typing import Any, assert_type

import pytest
from botocore.exceptions import ClientError, ParamValidationError

import sortkey as sk
from sortkey.client import Client
from tests.client.orders import key


def iterator(client: Client, kind: str = "TRIM_HORIZON") -> str:
    arn = client.list_streams(TableName="orders")["Streams"][0]["StreamArn"]
    shard = client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    found: str = client.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType=kind)["ShardIterator"]
    return found


def test_answers_are_typed(client: Client) -> None:
    assert_type(client.list_tables(), dict[str, Any])


def test_absent_members_are_left_out(orders: Client) -> None:
    assert set(orders.get_item(TableName="orders", Key=key(1))) == {"ResponseMetadata"}
    assert set(orders.put_item(TableName="orders", Item=key(1))) == {"ResponseMetadata"}


def test_meta_has_the_url_and_the_region(client: Client) -> None:
    assert client.meta.endpoint_url == "memory:"
    assert client.meta.region_name == "local"
    assert client.meta.service_model.service_name == "dynamodb"


def test_records_can_be_awaited(orders: Client) -> None:
    start = iterator(orders, "LATEST")
    assert orders.wait_for_records(ShardIterator=start, Timeout=0) is False
    writer = threading.Timer(0.02, orders.put_item, kwargs={"TableName": "orders", "Item": key(1)})
    writer.start()
    assert orders.wait_for_records(ShardIterator=start, Timeout=60) is True
    writer.join()
    (record,) = orders.get_records(ShardIterator=start)["Records"]
    assert record["dynamodb"]["NewImage"] == key(1)


@pytest.mark.parametrize(("iterator", "kind"), [("nonsense", ClientError), (None, ParamValidationError)])
def test_waiting_at_a_bad_iterator_is_rejected(client: Client, iterator: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        client.wait_for_records(ShardIterator=iterator, Timeout=0)


# Concurrent writes share a commit; no thread may get the answer of another.
def test_threads_share_a_client(orders: Client) -> None:
    totals: list[int] = []

    def count(thread: int) -> None:
        for _ in range(50):
            answer = orders.update_item(
                TableName="orders",
                Key=key(thread),
                UpdateExpression="ADD hits :one",
                ExpressionAttributeValues={":one": {"N": "1"}},
                ReturnValues="UPDATED_NEW",
            )
        totals.append(int(answer["Attributes"]["hits"]["N"]))

    threads = [threading.Thread(target=count, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert totals == [50] * 4


def test_a_client_closes_with_its_block() -> None:
    with sk.client("memory:") as client:
        pass
    with pytest.raises(RuntimeError, match="closed"):
        client.list_tables()
