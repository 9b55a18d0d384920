"""Bulk writes, rows a second, beside db.batch and boto3's batch_writer; and what others wait meanwhile

In the process, `db.load` and `db.batch` write the same items to a folder, every commit synced; processor time is
without the waiting for the disk. Another task puts and gets one item after the other, without a load and during one; on
Linux, also the gets alone without the time that their thread waited for a core. On an endpoint, all three write to one
`sortkey db` in memory; boto3 makes its rows of plain dictionaries, without a model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any, Final, NamedTuple

import boto3

import sortkey as sk
from benchmarks._results import Result
from tests.wire.serving import ServerProcess

ROWS = 100_000
ENDPOINT_ROWS = 10_000
CALLS = 300
"""Puts and gets without a load."""
STORES = 1000
PRICES = sk.Table("loaded-prices")

PLAIN = sk.Table("loaded-plain-prices")

SCHEDSTAT: Final = Path("/proc/thread-self/schedstat")
"""Of Linux: how long the thread has run, and how long it was ready to run and had no core, in nanoseconds."""


class Latencies(NamedTuple):
    """In milliseconds."""

    put: list[float]
    get: list[float]
    get_on_core: list[float]
    """The same gets without the time that the thread waited for a core."""


class Price(sk.Item, table=PRICES):
    store: str
    product: str
    amount: int
    updated: int
    channel: str = "ALL"

    key = sk.Key("STORE#{store}", "PRODUCT#{product}")
    by_product = sk.Index("gsi1", "PRODUCT#{product}", "{store}")


class PlainPrice(sk.Item, table=PLAIN):
    """The same without an index."""

    store: str
    product: str
    amount: int
    updated: int
    channel: str = "ALL"

    key = sk.Key("STORE#{store}", "PRODUCT#{product}")


def plain_prices(rows: int) -> Iterator[PlainPrice]:
    for number in range(rows):
        yield PlainPrice(store=f"{number % STORES:05}", product=f"P{number:07}", amount=number, updated=number)


def prices(rows: int, product: str = "P") -> Iterator[Price]:
    for number in range(rows):
        yield Price(store=f"{number % STORES:05}", product=f"{product}{number:07}", amount=number, updated=number)


def run() -> Iterator[Result]:
    with TemporaryDirectory() as folder:
        batch = in_process(Path(folder) / "batch", lambda db: db.batch(put=prices(ROWS)), ROWS)
        load = in_process(Path(folder) / "load", lambda db: db.load(prices(ROWS)), ROWS)
        yield Result("db.load, in the process", load, "/s", peers={"db.batch": batch})
        plain = in_process(Path(folder) / "plain", lambda db: db.load(plain_prices(ROWS)), ROWS)
        yield Result("db.load without an index, in the process", plain, "/s")
        indexed = in_process(Path(folder) / "1", lambda db: db.load(prices(ROWS)), ROWS, process_time)
        yield Result("db.load, a second of processor time", indexed, "/s")
        plain = in_process(Path(folder) / "2", lambda db: db.load(plain_prices(ROWS)), ROWS, process_time)
        yield Result("db.load without an index, a second of processor time", plain, "/s")
        alone, during = asyncio.run(others(Path(folder) / "others", ROWS, CALLS))
    names = ("put", "get", "get, without waiting for a core,")
    for name, calm, busy in zip(names, alone, during, strict=True):
        yield Result(f"{name} during a load, p50", quantile(busy, 0.5), "ms", quantile(calm, 0.5))
        yield Result(f"{name} during a load, p99", quantile(busy, 0.99), "ms", quantile(calm, 0.99))
    yield on_endpoint(ENDPOINT_ROWS)


def in_process(
    folder: Path, write: Callable[[sk.Session], object], rows: int, clock: Callable[[], float] = perf_counter
) -> float:
    """Rows per second."""
    with sk.connect(folder, tables=[PRICES, PLAIN]) as db:
        db.create_tables()
        return rows_per_second(lambda: write(db), rows, clock)


async def others(folder: Path, rows: int, calls: int) -> tuple[Latencies, Latencies]:
    """Latencies without a load, and during one."""
    async with sk.async_connect(folder, tables=[PRICES]) as db:
        await db.create_tables()
        alone = await calls_while(db, lambda made: made < calls)
        load = asyncio.create_task(db.load(prices(rows)))
        during = await calls_while(db, lambda _: not load.done())
        await load
        return alone, during


async def calls_while(db: sk.AsyncSession, goes_on: Callable[[int], bool]) -> Latencies:
    """Latencies of a put and a get at a time, with a moment between them."""
    found = Latencies([], [], [])
    for price in prices(ROWS, "Q"):
        if not goes_on(len(found.put)):
            break
        began = perf_counter()
        await db.put(price)
        found.put.append(1000 * (perf_counter() - began))
        waited, began = waited_for_core(), perf_counter()
        await db.get(Price.key(store=price.store, product=price.product))
        took = 1000 * (perf_counter() - began)
        found.get.append(took)
        found.get_on_core.append(max(0.0, took - 1000 * (waited_for_core() - waited)))
        await asyncio.sleep(0.001)
    return found


def waited_for_core() -> float:
    """How long this thread was ready to run and had no core, in seconds; 0 where that is not known."""
    return int(SCHEDSTAT.read_text().split()[1]) / 1e9 if SCHEDSTAT.exists() else 0.0


def on_endpoint(rows: int) -> Result:
    server = ServerProcess("--memory")
    try:
        with sk.connect(server.url, tables=[PRICES]) as db:
            db.create_tables()
            load = rows_per_second(lambda: db.load(prices(rows)), rows)
            batch = rows_per_second(lambda: db.within(None).batch(put=prices(rows, "B")), rows)
        writer = rows_per_second(lambda: batch_writer(server.url, rows), rows)
    finally:
        server.stop()
    return Result("db.load, on an endpoint", load, "/s", peers={"db.batch": batch, "batch_writer": writer})


def batch_writer(url: str, rows: int) -> None:
    """The same rows by boto3's Table resource."""
    session = boto3.Session("bench", "bench", region_name="us-east-1")
    resource: Any = session.resource("dynamodb", endpoint_url=url)
    with resource.Table(PRICES.name).batch_writer() as writer:
        for price in prices(rows, "W"):
            store, product = price.store, price.product
            writer.put_item(
                Item={
                    "pk": f"STORE#{store}",
                    "sk": f"PRODUCT#{product}",
                    "gsi1pk": f"PRODUCT#{product}",
                    "gsi1sk": store,
                    "store": store,
                    "product": product,
                    "amount": price.amount,
                    "updated": price.updated,
                    "channel": price.channel,
                }
            )


def rows_per_second(write: Callable[[], object], rows: int, clock: Callable[[], float] = perf_counter) -> float:
    began = clock()
    write()
    return rows / (clock() - began)


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
