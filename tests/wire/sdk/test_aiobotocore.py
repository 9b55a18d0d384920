"""aiobotocore: the asynchronous client, many requests at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiobotocore.session import get_session

from tests.wire.sdk.orders import BY_STATUS, CREDENTIALS, OF_ANN, SHIP, key, order, orders
from tests.wire.serving import ServerProcess


def client(service: str, server: ServerProcess) -> Any:
    return get_session().create_client(service, endpoint_url=server.url, **CREDENTIALS)


async def session(server: ServerProcess) -> None:
    async with client("dynamodb", server) as db, client("dynamodbstreams", server) as streams:
        name = "aiobotocore"
        await db.create_table(**orders(name))
        await db.put_item(TableName=name, Item=order(0))
        # One of them wins; the others see that it did.
        attempts = [db.update_item(TableName=name, Key=key(0), **SHIP) for _ in range(5)]
        outcomes = await asyncio.gather(*attempts, return_exceptions=True)
        assert sum(isinstance(outcome, db.exceptions.ConditionalCheckFailedException) for outcome in outcomes) == 4

        await asyncio.gather(*(db.put_item(TableName=name, Item=order(number)) for number in range(1, 41)))
        assert (await db.query(TableName=name, **BY_STATUS))["Count"] == 40
        pages = [page async for page in db.get_paginator("query").paginate(TableName=name, Limit=15, **OF_ANN)]
        assert [page["Count"] for page in pages] == [15, 15, 11]
        writes = [{"DeleteRequest": {"Key": key(number)}} for number in range(1, 11)]
        assert (await db.batch_write_item(RequestItems={name: writes}))["UnprocessedItems"] == {}
        keys = [key(number) for number in range(41)]
        found = await db.batch_get_item(RequestItems={name: {"Keys": keys}})
        assert len(found["Responses"][name]) == 31
        put = {"Put": {"TableName": name, "Item": order(99)}}
        await db.transact_write_items(TransactItems=[put, {"Delete": {"TableName": name, "Key": key(0)}}])
        condition = {"TableName": name, "Key": key(0), "ConditionExpression": "attribute_exists(customer)"}
        with pytest.raises(db.exceptions.TransactionCanceledException):
            await db.transact_write_items(TransactItems=[put, {"ConditionCheck": condition}])

        arn = (await db.describe_table(TableName=name))["Table"]["LatestStreamArn"]
        shard = (await streams.describe_stream(StreamArn=arn))["StreamDescription"]["Shards"][0]["ShardId"]
        start = {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
        iterator = (await streams.get_shard_iterator(**start))["ShardIterator"]
        assert len((await streams.get_records(ShardIterator=iterator))["Records"]) == 54
        await db.delete_table(TableName=name)


@pytest.mark.slow
def test_session(server: ServerProcess) -> None:
    asyncio.run(session(server))
