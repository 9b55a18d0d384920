"""Paginators are botocore's own; the async ones give the same pages."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import OperationNotPageableError

import sortkey as sk
from sortkey.client import AsyncClient, Client
from sortkey.client.paginators import AsyncPaginator
from tests.client.orders import ORDERS, key

ADA = {
    "TableName": "orders",
    "KeyConditionExpression": "customer = :c",
    "ExpressionAttributeValues": {":c": {"S": "ada"}},
}


def test_pages_are_read_to_the_end(orders: Client) -> None:
    for number in range(7):
        orders.put_item(TableName="orders", Item=key(number))
    pages = list(orders.get_paginator("query").paginate(**ADA, PaginationConfig={"PageSize": 3}))
    assert [page["Count"] for page in pages] == [3, 3, 1]


def test_a_listing_goes_on_where_it_stopped(orders: Client) -> None:
    for number in range(7):
        orders.put_item(TableName="orders", Item=key(number))
    paginator = orders.get_paginator("query")
    first = paginator.paginate(**ADA, PaginationConfig={"MaxItems": 5}).build_full_result()
    rest = paginator.paginate(**ADA, PaginationConfig={"StartingToken": first["NextToken"]}).build_full_result()
    assert [item["number"]["N"] for item in first["Items"] + rest["Items"]] == list("0123456")


@pytest.mark.parametrize(
    ("method", "expected"),
    [("query", True), ("scan", True), ("list_tables", True), ("get_item", False), ("restore_table", False)],
)
def test_what_can_be_paginated(client: Client, method: str, expected: bool) -> None:
    assert client.can_paginate(method) is expected


@pytest.mark.parametrize("method", ["get_item", "nonsense"])
def test_what_cannot_is_rejected(client: Client, method: str) -> None:
    with pytest.raises(OperationNotPageableError, match=method):
        client.get_paginator(method)


CONFIGURATIONS: list[dict[str, Any]] = [
    {},
    {"PageSize": 3},
    {"PageSize": 1, "MaxItems": 5},
    {"PageSize": 2, "MaxItems": 4},
    {"PageSize": 3, "MaxItems": 4},
    {"MaxItems": 100},
]


# botocore's paginator is the measure: the same pages, the same token, and the same rest after it.
@pytest.mark.parametrize("config", CONFIGURATIONS, ids=str)
def test_async_pages_are_botocores(tmp_path: Path, config: dict[str, Any]) -> None:
    async def read_async(config: dict[str, Any]) -> tuple[list[dict[str, Any]], Any, dict[str, Any]]:
        async with sk.async_client(tmp_path) as client:
            paginator = client.get_paginator("query")
            pages = paginator.paginate(**ADA, PaginationConfig=config)
            found = [page async for page in pages]
            return (
                found,
                pages.resume_token,
                await paginator.paginate(**ADA, PaginationConfig=config).build_full_result(),
            )

    with sk.client(tmp_path) as client:
        client.create_table(**ORDERS)
        for number in range(7):
            client.put_item(TableName="orders", Item=key(number))
        while True:
            theirs = client.get_paginator("query").paginate(**ADA, PaginationConfig=config)
            expected = [_without_metadata(page) for page in theirs]
            found, token, whole = asyncio.run(read_async(config))
            assert [_without_metadata(page) for page in found] == expected
            assert token == theirs.resume_token
            assert whole == client.get_paginator("query").paginate(**ADA, PaginationConfig=config).build_full_result()
            if token is None:
                return
            config = {**config, "StartingToken": token}


def _without_metadata(page: dict[str, Any]) -> dict[str, Any]:
    return {name: member for name, member in page.items() if name != "ResponseMetadata"}


def test_async_pages_are_searched(tmp_path: Path) -> None:
    async def search() -> list[Any]:
        async with sk.async_client(tmp_path) as client:
            await client.create_table(**ORDERS)
            for number in range(3):
                await client.put_item(TableName="orders", Item=key(number))
            pages = client.get_paginator("query").paginate(**ADA, PaginationConfig={"PageSize": 2})
            with pytest.raises(TypeError, match="async for"):
                list(pages)
            return [found async for found in pages.search("Items[].number.N")]

    assert asyncio.run(search()) == ["0", "1", "2"]


# A long listing must not keep the loop from its other tasks.
def test_async_pages_leave_turns_to_others() -> None:
    async def list_while_ticking() -> tuple[list[dict[str, Any]], int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        async with sk.async_client("memory:") as client:
            await client.create_table(**ORDERS)
            for number in range(7):
                await client.put_item(TableName="orders", Item=key(number))
            ticking = asyncio.create_task(tick())
            pages = client.get_paginator("query").paginate(**ADA, PaginationConfig={"PageSize": 1, "MaxItems": 5})
            found = [page async for page in pages]
            ticking.cancel()
            assert pages.resume_token is not None
            return found, ticks

    pages, ticks = asyncio.run(list_while_ticking())
    assert [page["Items"][0]["number"]["N"] for page in pages] == list("01234")
    assert ticks >= len(pages)


# Each step waits on a thread. The event loop's own threads, which it may need to send requests, stay free.
def test_many_async_listings_at_once() -> None:
    async def count(client: AsyncClient) -> int:
        pages = client.get_paginator("query").paginate(**ADA, PaginationConfig={"PageSize": 1})
        return len([page async for page in pages])

    async def list_all() -> list[int]:
        async with sk.async_client("memory:") as client:
            await client.create_table(**ORDERS)
            for number in range(3):
                await client.put_item(TableName="orders", Item=key(number))
            asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
            return await asyncio.gather(*(count(client) for _ in range(50)))

    assert set(asyncio.run(list_all())) == {4}


def test_a_listing_can_be_cancelled() -> None:
    async def give_up() -> float:
        began = time.monotonic()
        async with sk.async_client("memory:") as client:
            await client.create_table(**ORDERS)
            paginator = AsyncPaginator("query", lambda **_: asyncio.sleep(240, {}))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await paginator.paginate(**ADA).build_full_result()
        return began

    assert time.monotonic() - asyncio.run(give_up()) < 120
