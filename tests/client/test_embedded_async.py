"""The async embedded client: the same answers and errors, without blocking the event loop."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, assert_type

import pytest
from botocore.exceptions import ParamValidationError

import sortkey as sk
from sortkey.client import AsyncClient
from sortkey.engine.rows.write_batch import WriteBatch
from tests.client.orders import EVERY_TYPE, ORDERS, database_of, key


def run(session: Callable[[AsyncClient], Awaitable[None]]) -> None:
    """A session with a client in memory that has the table `orders`."""

    async def main() -> None:
        async with sk.async_client("memory:") as client:
            await client.create_table(**ORDERS)
            await session(client)

    asyncio.run(main())


def hold_writer(client: AsyncClient) -> Callable[[], None]:
    """Let the writer's thread stand still in a transaction; returns how to let it go on."""
    entered, release = threading.Event(), threading.Event()

    def work(_: WriteBatch) -> None:
        entered.set()
        release.wait()

    database_of(client).store.submit(work, lambda _answer, _error: None)
    entered.wait()
    return release.set


def test_answers_and_errors_are_those_of_the_sync_client() -> None:
    async def session(client: AsyncClient) -> None:
        await client.put_item(TableName="orders", Item=EVERY_TYPE)
        answer = assert_type(await client.get_item(TableName="orders", Key=key(1)), dict[str, Any])
        assert answer["Item"] == EVERY_TYPE
        assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200
        with pytest.raises(client.exceptions.ConditionalCheckFailedException) as error:
            await client.delete_item(TableName="orders", Key=key(1), ConditionExpression="attribute_exists(paid)")
        assert error.value.operation_name == "DeleteItem"
        with pytest.raises(client.exceptions.ResourceNotFoundException):
            await client.put_item(TableName="missing", Item=key(1))
        with pytest.raises(ParamValidationError):
            await client.put_item(TableName="orders", Item={"customer": "ada"})
        with pytest.raises(client.exceptions.ResourceNotFoundException):
            await client.describe_table(TableName="missing")

    run(session)


# Many writers are cheap because waiting writes share one commit.
def test_writes_made_together_share_commits() -> None:
    async def session(client: AsyncClient) -> None:
        let_go = hold_writer(client)
        writing = [asyncio.ensure_future(client.put_item(TableName="orders", Item=key(n))) for n in range(64)]
        await asyncio.sleep(0)
        before = database_of(client).store.queue.commits
        let_go()
        await asyncio.gather(*writing)
        assert database_of(client).store.queue.commits - before <= 3
        assert (await client.scan(TableName="orders", Select="COUNT"))["Count"] == 64

    run(session)


def puts(*numbers: int) -> list[tuple[str, dict[str, Any]]]:
    return [("PutItem", {"TableName": "orders", "Item": key(number)}) for number in numbers]


# Each write has its own fate, and all share a commit.
@pytest.mark.parametrize("store", ["memory:", "memory:?prefix=our-"])
def test_writes_that_are_sent_together_are_answered_each_by_itself(store: str) -> None:
    async def session() -> None:
        async with sk.async_client(store) as client:
            await client.create_table(**ORDERS)
            await client.put_item(TableName="orders", Item=EVERY_TYPE)
            assert client.write_together is not None
            database = client.database
            assert database is not None
            before = database.store.queue.commits
            taken = {"TableName": "orders", "Item": EVERY_TYPE, "ConditionExpression": "attribute_not_exists(flag)"}
            found = await client.write_together(
                [
                    *puts(2),
                    ("PutItem", {**taken, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}),
                    ("PutItem", {"TableName": "orders", "Item": {"customer": "ada"}}),
                    ("DeleteItem", {"TableName": "missing", "Key": key(1)}),
                    ("DeleteItem", {"TableName": "orders", "Key": key(1), "ReturnValues": "ALL_OLD"}),
                    ("PutItem", {**puts(3)[0][1], "ReturnConsumedCapacity": "TOTAL"}),
                ]
            )
            assert database.store.queue.commits - before <= 3
            put, unmet, wrong, missing, deleted, metered = found
            assert put == {}
            assert isinstance(unmet, client.exceptions.ConditionalCheckFailedException)
            response: Any = unmet.response
            assert response["Item"] == EVERY_TYPE
            assert isinstance(wrong, ParamValidationError)
            assert isinstance(missing, client.exceptions.ResourceNotFoundException)
            assert deleted == {"Attributes": EVERY_TYPE}
            assert metered == {"ConsumedCapacity": {"TableName": "orders", "CapacityUnits": 1.0}}
            assert (await client.scan(TableName="orders", Select="COUNT"))["Count"] == 2

    asyncio.run(session())


def test_writes_that_are_sent_together_and_cancelled_are_whole() -> None:
    async def session(client: AsyncClient) -> None:
        let_go = hold_writer(client)
        assert client.write_together is not None
        writing = asyncio.create_task(client.write_together(puts(*range(100))))
        for _ in range(3):
            await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        let_go()
        await client.put_item(TableName="orders", Item=key(100))
        assert (await client.scan(TableName="orders", Select="COUNT"))["Count"] == 101

    run(session)


# Faults are injected into requests.
def test_a_store_with_faults_gets_each_write_by_itself() -> None:
    async def session() -> None:
        async with sk.async_client("memory:", faults=sk.testing.Faults(throttle=0.1)) as client:
            assert client.write_together is None

    asyncio.run(session())


# The loop goes on while the disk is busy.
def test_reads_do_not_wait_for_writes() -> None:
    async def session(client: AsyncClient) -> None:
        let_go = hold_writer(client)
        writing = asyncio.create_task(client.put_item(TableName="orders", Item=key(1)))
        await asyncio.sleep(0)
        assert "Item" not in await client.get_item(TableName="orders", Key=key(1))
        assert not writing.done()
        let_go()
        await writing
        assert "Item" in await client.get_item(TableName="orders", Key=key(1))

    run(session)


def test_a_cancelled_caller_leaves_a_whole_write() -> None:
    async def session(client: AsyncClient) -> None:
        let_go = hold_writer(client)
        both = [{"Put": {"TableName": "orders", "Item": key(n)}} for n in (1, 2)]
        writing = asyncio.create_task(client.transact_write_items(TransactItems=both))
        await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        let_go()
        await client.put_item(TableName="orders", Item=key(3))
        assert (await client.scan(TableName="orders", Select="COUNT"))["Count"] == 3

    run(session)


# The writer serves all clients: a loop that is closed too early must not stop it.
def test_a_closed_loop_does_not_harm_the_writer(tmp_path: Path) -> None:
    holder = sk.async_client(tmp_path)
    with sk.client(tmp_path) as client:
        client.create_table(**ORDERS)
        let_go = hold_writer(holder)

        async def abandon() -> None:
            writing = asyncio.create_task(holder.put_item(TableName="orders", Item=key(1)))
            await asyncio.sleep(0)
            writing.cancel()

        asyncio.run(abandon())
        let_go()
        client.put_item(TableName="orders", Item=key(2))
        assert client.scan(TableName="orders", Select="COUNT")["Count"] == 2
        asyncio.run(holder.close())
    gc.collect()


def test_one_client_serves_several_loops() -> None:
    client = sk.async_client("memory:")
    asyncio.run(client.create_table(**ORDERS))
    asyncio.run(client.put_item(TableName="orders", Item=key(1)))
    assert asyncio.run(client.list_tables())["TableNames"] == ["orders"]
    asyncio.run(client.close())


def test_closing_waits_for_running_writes(tmp_path: Path) -> None:
    async def session() -> None:
        client = sk.async_client(tmp_path)
        await client.create_table(**ORDERS)
        writing = [asyncio.create_task(client.put_item(TableName="orders", Item=key(n))) for n in range(8)]
        await asyncio.sleep(0)
        await client.close()
        await asyncio.gather(*writing)
        with pytest.raises(RuntimeError, match="closed"):
            await client.put_item(TableName="orders", Item=key(9))

    asyncio.run(session())
    with sk.client(tmp_path) as client:
        assert client.scan(TableName="orders", Select="COUNT")["Count"] == 8


def test_records_can_be_awaited() -> None:
    async def session(client: AsyncClient) -> None:
        arn = (await client.list_streams(TableName="orders"))["Streams"][0]["StreamArn"]
        shards: Any = (await client.describe_stream(StreamArn=arn))["StreamDescription"]["Shards"]
        place = {"StreamArn": arn, "ShardId": shards[0]["ShardId"], "ShardIteratorType": "LATEST"}
        iterator = (await client.get_shard_iterator(**place))["ShardIterator"]
        assert await client.wait_for_records(ShardIterator=iterator, Timeout=0) is False
        waiting = asyncio.create_task(client.wait_for_records(ShardIterator=iterator, Timeout=60))
        await asyncio.sleep(0)
        await client.put_item(TableName="orders", Item=key(1))
        assert await waiting is True
        with pytest.raises(client.exceptions.ValidationException):
            await client.wait_for_records(ShardIterator="nonsense", Timeout=0)

    run(session)
