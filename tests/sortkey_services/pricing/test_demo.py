"""The demonstration data, and the price managers."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from html import escape
from random import Random

import pytest

from sortkey_services.pricing import demo
from sortkey_services.pricing.prices import PriceKind
from sortkey_services.pricing.reads import page_request
from sortkey_services.pricing.schema import OPENING
from tests.sortkey_services.pricing.conftest import NOON, Service
from tests.sortkey_services.pricing.serving import Served

in_memory = pytest.mark.parametrize("store", ["memory"], indirect=True)


@pytest.mark.slow
def test_it_is_40_stores_with_500_products_the_same_every_time() -> None:
    rows = list(demo.prices())
    assert rows == list(demo.prices())
    assert len(rows) == demo.COUNT
    assert sum(row.kind is PriceKind.BASE for row in rows) == 40 * 500
    assert (rows[-1].store, rows[-1].product) == (demo.LAST.store, demo.LAST.product)


@pytest.mark.slow
@in_memory
def test_it_is_loaded_once_with_progress(service: Service) -> None:
    shown: list[tuple[int, int]] = []
    service.wait(service.pricing.load_demo(lambda done, total: shown.append((done, total))))
    assert shown[-1] == (demo.COUNT, demo.COUNT)
    loaded = len(shown)
    service.wait(service.pricing.load_demo(lambda done, total: shown.append((done, total))))
    assert len(shown) == loaded
    page = service.wait(service.pricing.product_prices(demo.PRODUCTS[0], page_request()))
    assert [price.store for price in page.items] == list(demo.STORES)


# What a visitor of GraphiQL sees first: one press of a button, and there are prices.
@pytest.mark.slow
def test_the_query_that_graphiql_opens_with_works_on_it(served: Served) -> None:
    served.load_demo()
    answer = served.ask(OPENING)
    assert "errors" not in answer
    assert [each["product"] for each in answer["data"]["basePrices"]["nodes"]] == list(demo.PRODUCTS[:5])
    assert len(answer["data"]["swapPrices"]["nodes"]) == 3
    page = served.call("GET", "/graphql").body.decode()
    assert escape(OPENING) in page


def test_managers_schedule_changes_that_come_due_in_one_to_three_minutes() -> None:
    managers = demo.PriceManagers(Random(1))
    for seconds in range(0, 600, 7):
        now = NOON + timedelta(seconds=seconds)
        changes = managers.next(now)
        (at,) = {change.effective_at for change in changes}
        assert isinstance(at, datetime)
        assert timedelta(seconds=60) <= at - now <= timedelta(seconds=180)


@in_memory
def test_the_changes_of_the_managers_are_accepted(service: Service) -> None:
    async def one_change() -> None:
        running = asyncio.create_task(service.pricing.run_demo())
        while not any([(await service.pricing.price_changes(store, page_request())).items for store in demo.STORES]):
            await asyncio.sleep(0)
        running.cancel()

    service.wait(one_change())
