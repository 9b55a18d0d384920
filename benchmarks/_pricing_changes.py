"""Prices that change: a list over HTTP, reads of PostgreSQL and of pricing during a bulk change, and a midnight.

The midnight of pricing is that of `tests.faults.midnight`, with readers in processes of their own. In PostgreSQL the
cron job begins at midnight exactly, so what it takes is what it takes at best: one that looks every minute begins half
a minute later on average.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from threading import Event, Thread
from time import perf_counter
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

import sortkey as sk
from benchmarks._folder_check import wait_until_idle
from benchmarks._prices_postgres import PostgresPrices, PriceRow
from benchmarks._pricing_calls import PAGE, Timed, timed
from benchmarks._pricing_http import served
from benchmarks._pricing_market import Questions, Sizes, product_of, store_of
from benchmarks.stalls import Probe
from sortkey_services.pricing.model import CHANGES, StoreUpdate
from sortkey_services.pricing.prices import ChangeInput
from sortkey_services.pricing.reads import page_request
from sortkey_services.pricing.service import PricingService

LEAST_READS: Final = 300
BULKS: Final = 2
PERMANENT_SECONDS: Final = 300.0


class DuringChange(NamedTuple):
    alone: Timed
    """A page by store."""
    during: Timed
    rate: float
    """Changes a second."""


class CronMidnight(NamedTuple):
    seconds: float
    """Of the cron job."""
    reads: int
    stale: int
    """Reads that showed the old price after midnight."""


class ListOverHttp(NamedTuple):
    """A list of changes of a few stores, as one request."""

    changes: int
    accepted: float
    """Seconds until the answer."""
    permanent: float
    """Seconds from then on, until the transition has made all of them permanent. It begins three seconds after them."""
    stall: float
    """The longest that another request waited meanwhile, in milliseconds."""


def list_over_http(folder: Path, sizes: Sizes) -> ListOverHttp:
    """On a server of its own that follows its changes. The stores have been changed before: the first change of a
    loaded price lists the loaded one, too."""
    with served(folder, follows=True) as server, sk.connect(folder, tables=[CHANGES]) as session:
        wait_until_idle(server.pid)
        _change_over_http(server.url, session, sizes, "5.25")
        probe = Probe(urlsplit(server.url).port or 80)
        accepted, permanent = _change_over_http(server.url, session, sizes, "6.25")
        return ListOverHttp(sizes.bulk, accepted, permanent, probe.end().worst)


def _change_over_http(url: str, session: sk.Session, sizes: Sizes, amount: str) -> tuple[float, float]:
    changes = [
        {"store": store_of(each // sizes.products), "product": product_of(each % sizes.products), "amount": amount}
        for each in range(sizes.bulk)
    ]
    stores = sorted({change["store"] for change in changes})
    before = _permanent(session, stores)
    connection = HTTPConnection(urlsplit(url).netloc, timeout=PERMANENT_SECONDS)
    body = msgspec.json.encode(changes)
    began = perf_counter()
    connection.request("POST", "/pricing/changes", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    content = answer.read()
    accepted = perf_counter() - began
    connection.close()
    if answer.status != 202:
        raise RuntimeError(f"the list was not accepted: {answer.status} {content[:300]!r}")
    while _permanent(session, stores) < before + len(changes):
        if perf_counter() - began > PERMANENT_SECONDS:
            raise RuntimeError("the changes did not become permanent")
        time.sleep(0.1)  # nothing tells another process
    return accepted, perf_counter() - began - accepted


def _permanent(session: sk.Session, stores: Sequence[str]) -> int:
    return sum(update.changes for store in stores for update in session.iterate(StoreUpdate.key(store=store)))


def bulk_rows(sizes: Sizes, seed: int) -> list[PriceRow]:
    """Prices of different products, all over the stores."""
    draw, now = Random(seed), datetime.now(UTC)
    chosen = draw.sample(range(sizes.prices), min(sizes.bulk, sizes.prices))
    return [
        PriceRow(store_of(each // sizes.products), product_of(each % sizes.products), f"{seed + 1}.25", now)
        for each in chosen
    ]


async def during_ours(session: sk.AsyncSession, sizes: Sizes) -> DuringChange:
    """Reads in the process that makes the changes, a bulk at a time."""
    pricing, asked = PricingService(session), Questions(sizes, sizes.stores)

    async def reads_while(goes_on: Callable[[int], bool]) -> Timed:
        taken: list[float] = []
        while goes_on(len(taken)):
            began = perf_counter()
            await pricing.base_prices(asked.store(), page_request(first=PAGE))
            taken.append((perf_counter() - began) * 1000)
            await asyncio.sleep(0)
        return timed(taken)

    await reads_while(lambda made: made < LEAST_READS)
    alone = await reads_while(lambda made: made < LEAST_READS)
    began = perf_counter()
    changing = asyncio.create_task(_change_ours(pricing, sizes))
    during = await reads_while(lambda _: not changing.done())
    await changing
    return DuringChange(alone, during, BULKS * min(sizes.bulk, sizes.prices) / (perf_counter() - began))


async def _change_ours(pricing: PricingService, sizes: Sizes) -> None:
    for seed in range(BULKS):
        rows = bulk_rows(sizes, seed)
        await pricing.change_prices(
            [ChangeInput(store=row.store, product=row.product, amount=row.amount) for row in rows], "bench"
        )


def during_theirs(url: str, sizes: Sizes) -> DuringChange:
    reading, changing = PostgresPrices(url), PostgresPrices(url)
    asked, ended = Questions(sizes, sizes.stores), Event()

    def reads_while(goes_on: Callable[[int], bool]) -> Timed:
        taken: list[float] = []
        while goes_on(len(taken)):
            began = perf_counter()
            reading.by_store(asked.store())
            taken.append((perf_counter() - began) * 1000)
        return timed(taken)

    def change() -> None:
        for seed in range(BULKS):
            changing.change(bulk_rows(sizes, seed))
        ended.set()

    reads_while(lambda made: made < LEAST_READS)
    alone = reads_while(lambda made: made < LEAST_READS)
    began = perf_counter()
    thread = Thread(target=change)
    thread.start()
    during = reads_while(lambda made: made == 0 or not ended.is_set())
    thread.join()
    rate = BULKS * min(sizes.bulk, sizes.prices) / (perf_counter() - began)
    reading.close()
    changing.close()
    return DuringChange(alone, during, rate)


def cron_midnight(url: str, sizes: Sizes) -> CronMidnight:
    """The cron job of a midnight, and a reader beside it."""
    cron, reading = PostgresPrices(url), PostgresPrices(url)
    midnight = datetime.now(UTC)
    cron.schedule(_due(sizes, midnight))
    reads = stale = 0
    ended = Event()
    draw = Random(7)

    def look() -> None:
        nonlocal reads, stale
        while not ended.is_set() or reads == 0:
            store = store_of(draw.randrange(sizes.midnight_stores))
            found = reading.price(store, product_of(0))
            reads += 1
            stale += found is None or found[1] < midnight

    thread = Thread(target=look)
    began = time.perf_counter()
    thread.start()
    made = cron.run_cron(midnight)
    seconds = time.perf_counter() - began
    ended.set()
    thread.join()
    assert made >= sizes.midnight, f"the cron job has made {made} changes"
    cron.close()
    reading.close()
    return CronMidnight(seconds, reads, stale)


def _due(sizes: Sizes, at: datetime) -> Iterator[PriceRow]:
    for store in range(sizes.midnight_stores):
        for product in range(sizes.midnight // sizes.midnight_stores):
            yield PriceRow(store_of(store), product_of(product), "88.88", at)
