"""Paginators are botocore's own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from botocore.exceptions import OperationNotPageableError

import sortkey as sk
from sortkey.client import Client
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
