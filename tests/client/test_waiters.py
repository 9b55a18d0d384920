"""Waiters: botocore's in the sync client, and ours, with the same configurations, in the async one."""

from __future__ import annotations

import asyncio
import threading

import pytest
from botocore.exceptions import WaiterError

import sortkey as sk
from sortkey.client import AsyncClient, Client
from tests.client.orders import ORDERS

AT_ONCE = {"Delay": 0, "MaxAttempts": 2}
PATIENT = {"Delay": 0.01, "MaxAttempts": 3000}


def test_a_table_that_exists_is_not_waited_for(orders: Client) -> None:
    orders.get_waiter("table_exists").wait(TableName="orders", WaiterConfig={"Delay": 3600})
    orders.delete_table(TableName="orders")
    orders.get_waiter("table_not_exists").wait(TableName="orders", WaiterConfig={"Delay": 3600})


def test_a_waiter_waits(client: Client) -> None:
    creator = threading.Timer(0.05, client.create_table, kwargs=ORDERS)
    creator.start()
    client.get_waiter("table_exists").wait(TableName="orders", WaiterConfig=PATIENT)
    creator.join()
    assert client.describe_table(TableName="orders")["Table"]["TableStatus"] == "ACTIVE"


# A waiter for an operation that the engine lacks does not exist.
@pytest.mark.parametrize("name", ["table_gone", "TableExists"])
def test_unknown_waiters_are_rejected(client: Client, name: str) -> None:
    with pytest.raises(ValueError, match=f"Waiter does not exist: {name}"):
        client.get_waiter(name)


async def wait(client: AsyncClient, name: str) -> None:
    await client.get_waiter(name).wait(TableName="orders", WaiterConfig=AT_ONCE)


def test_the_async_waiter_succeeds_and_fails_as_botocores(orders: Client) -> None:
    async def session() -> str:
        async with sk.async_client("memory:") as client:
            await wait(client, "table_not_exists")
            with pytest.raises(WaiterError) as late:
                await wait(client, "table_exists")
            await client.create_table(**ORDERS)
            await wait(client, "table_exists")
            return str(late.value)

    orders.delete_table(TableName="orders")
    with pytest.raises(WaiterError) as late:
        orders.get_waiter("table_exists").wait(TableName="orders", WaiterConfig=AT_ONCE)
    assert asyncio.run(session()) == str(late.value)


# An error that no acceptor expects ends the waiting at once.
def test_an_unexpected_error_ends_the_wait(client: Client) -> None:
    async def session() -> str:
        async with sk.async_client("memory:") as client:
            with pytest.raises(WaiterError) as error:
                await client.get_waiter("table_exists").wait(TableName="a b", WaiterConfig={"Delay": 3600})
            return str(error.value)

    with pytest.raises(WaiterError) as error:
        client.get_waiter("table_exists").wait(TableName="a b", WaiterConfig={"Delay": 3600})
    assert asyncio.run(session()) == str(error.value)


def test_the_async_waiter_waits() -> None:
    async def session() -> None:
        async with sk.async_client("memory:") as client:
            waiting = asyncio.create_task(
                client.get_waiter("table_exists").wait(TableName="orders", WaiterConfig=PATIENT)
            )
            await asyncio.sleep(0)
            await client.create_table(**ORDERS)
            await waiting

    asyncio.run(session())
