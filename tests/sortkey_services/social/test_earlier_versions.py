"""Tables that an earlier version of the service has made: two rows for an order, both in one index."""

from __future__ import annotations

import asyncio
from datetime import date
from decimal import Decimal
from typing import Annotated

import pytest

import sortkey as sk
from sortkey.model.tables.provision import add_index_request
from sortkey.services.pages import sized_page
from sortkey_services.social.model import SOCIAL, FormerOrder
from sortkey_services.social.orders import ALL_DAYS
from sortkey_services.social.service import SocialService

pytestmark = pytest.mark.usefixtures("brief_polls")

FORMER = sk.Table("social", stream="NEW_AND_OLD_IMAGES")
DAYS = {f"o{number:04}": date(2026, 1, 1 + number % 28) for number in range(600)}


class OrderBefore(sk.Item, table=FORMER):
    order: Annotated[str, sk.in_key]
    customer: str
    status: str
    placed: date
    total: Decimal

    key = sk.Key("ORDER#{order}", "STATUS")
    by_status = sk.Index("gsi1", "STATUS#{status}", "{placed}#{order}")


class CustomerOrderBefore(sk.Item, table=FORMER):
    order: Annotated[str, sk.in_key]
    customer: str
    status: str
    placed: date
    total: Decimal

    key = sk.Key("ORDER#{order}", "CUSTOMER")
    by_customer = sk.Index("gsi1", "CUSTOMER#{customer}", "{placed}#{order}")


async def earlier(store: str) -> sk.AsyncSession:
    """A store with orders of the earlier version."""
    session = await sk.async_connect(store, tables=[OrderBefore])
    await session.create_tables()
    for made in (OrderBefore, CustomerOrderBefore):
        await session.batch(
            put=[made(order=each, customer="ada", status="SENT", placed=DAYS[each], total=Decimal(9)) for each in DAYS]
        )
    return session


async def check(session: sk.AsyncSession, service: SocialService) -> None:
    """Every order is in both lists, and no former row is left."""
    expected = sorted(DAYS, key=lambda each: (DAYS[each], each))
    everything = sized_page(1000, None, None, None, default=1000, most=1000)
    assert [each.order for each in await service.orders.of_customer("ada", ALL_DAYS, everything)] == expected
    assert [each.order for each in await service.orders.of_status("SENT", ALL_DAYS, everything)] == expected
    assert [row async for row in session.scan(FormerOrder)] == []
    assert await session.diff_tables(SOCIAL) == []
    assert (await session.audit(SOCIAL)).is_clean


@pytest.mark.slow
def test_the_service_starts_and_lists_the_orders_of_before(store: str) -> None:
    async def play() -> None:
        async with await earlier(store) as session:
            service = SocialService(session)
            await service.start()
            await check(session, service)
            await service.start()

    asyncio.run(play())


# The index is there then, so the table is as declared; the orders are not in it.
@pytest.mark.slow
def test_a_start_that_was_killed_is_gone_on_with(store: str) -> None:
    async def play() -> None:
        async with await earlier(store) as session:
            await session.client.update_table(**add_index_request(SOCIAL, "gsi2"))
            service = SocialService(session)
            await service.start()
            await check(session, service)

    asyncio.run(play())
