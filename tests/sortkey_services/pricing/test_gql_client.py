"""A real client, gql, as users have it: it fetches the schema, validates by it, walks pages and writes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from gql import Client, gql
from gql.transport.aiohttp import AIOHTTPTransport
from gql.transport.exceptions import TransportQueryError
from graphql import GraphQLError

from tests.sortkey_services.pricing.process import PricingProcess

PAGE = gql("""
    query Page($after: String) {
      basePrices(store: "s1", first: 2, after: $after) {
        nodes { product amount }
        pageInfo { hasNextPage endCursor }
      }
    }
""")
CHANGE = gql("""
    mutation Change($changes: [PriceChangeInput!]!) {
      changePrices(changes: $changes, requestedBy: "gql") { ids changes { status amount } }
    }
""")


@pytest.fixture(scope="module")
def server() -> Iterator[PricingProcess]:
    with PricingProcess() as process:
        yield process


@pytest.mark.slow
def test_it_reads_the_schema_walks_pages_and_changes_prices(server: PricingProcess) -> None:
    async def use() -> None:
        transport = AIOHTTPTransport(f"{server.url}/graphql")
        async with Client(transport=transport, fetch_schema_from_transport=True) as session:
            found: list[str] = []
            after: str | None = None
            while True:
                page: dict[str, Any] = (await session.execute(with_variables(PAGE, after=after)))["basePrices"]
                found += [each["product"] for each in page["nodes"]]
                after = page["pageInfo"]["endCursor"]
                if not page["pageInfo"]["hasNextPage"]:
                    break
            assert found == ["p1", "p2", "p3", "p4", "p5"]
            change = {"store": "s2", "product": "p1", "amount": "9.90"}
            made = await session.execute(with_variables(CHANGE, changes=[change]))
            assert made["changePrices"]["changes"] == [{"status": "APPLIED", "amount": "9.90"}]
            assert Decimal(made["changePrices"]["changes"][0]["amount"]) == Decimal("9.9")
            with pytest.raises(TransportQueryError) as refused:
                await session.execute(with_variables(CHANGE, changes=[{**change, "amount": "cheap"}]))
            assert refused.value.errors is not None
            assert refused.value.errors[0]["extensions"]["code"] == "BAD_REQUEST"
            with pytest.raises(GraphQLError, match="Cannot query field 'nothing'"):
                await session.execute(gql("{ nothing }"))

    asyncio.run(use())


def with_variables(request: Any, **variables: Any) -> Any:
    request.variable_values = variables
    return request
