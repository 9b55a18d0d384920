"""Growth: what a call costs in a store of 10,000 rows, of 1,000,000, and of 10,000,000

Each store is a synced folder with so many orders, counts of restaurants and prices. All are open at once and take turns
with the same calls, so that a noisy moment hits all of them. A number is the median of all turns, in microseconds;
it stands beside that of the smallest store. Every call is of one of 10,000 rows, which are spread over the whole table
and were read before; `any row` is a get of a row that was not, whose page the system has to map or to read.

`SORTKEY_GROWTH_ROWS=10000,1000000` measures other sizes. 10,000,000 rows of each kind take ten minutes of processor
time to load, and 12 GB of disk. `SORTKEY_GROWTH_FOLDER=DIR` keeps the stores there: what is loaded, a later run opens.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, time_ns
from typing import Any, Final, NamedTuple

import uvloop

import sortkey as sk
from benchmarks._peers import working_folder
from benchmarks._results import Result
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.storage import Store as EngineStore
from sortkey_services.favourites.model import COUNTS, FAVOURITES, Favourite, FavouriteCount, counts_of
from sortkey_services.favourites.service import FavouritesService, top_page
from sortkey_services.pricing.model import CHANGES, PRICES, PriceRow
from sortkey_services.pricing.prices import PriceKind
from sortkey_services.pricing.reads import page_request
from sortkey_services.pricing.service import PricingService

SIZES: Final = (10_000, 1_000_000, 10_000_000)
POPULATION: Final = 10_000
"""How many different rows are read, whatever the size: they are spread over the whole table, and read before."""
TURNS: Final = 15
CALLS: Final = {
    "get": 1000,
    "any row": 200,
    "query": 100,
    "page": 100,
    "top list": 20,
    "price page": 50,
    "put": 50,
    "aggregate": 3,
}
"""How many of each in a turn."""
PER_PARTITION: Final = 100
PRODUCTS: Final = 500
MARKS: Final = 100
"""Of one batch of the change feed."""
ORDERS: Final = sk.Table("growth-orders")
TABLES: Final = (ORDERS, FAVOURITES, COUNTS, PRICES, CHANGES)

Call = Callable[[int], Awaitable[object]]


class Order(sk.Item, table=ORDERS):
    customer: str
    order: str
    address: str = "14 Long Street, a town whose name goes on for a while, 12345, somewhere not far from here"
    items: int = 3
    total: int = 49

    key = sk.Key("CUSTOMER#{customer}", "{order}")


class Cost(NamedTuple):
    """Of one call, in microseconds."""

    passed: float
    worked: float
    """Processor time, which is steadier where others use the machine."""
    mapped: float
    """How many pages the system mapped into the process, whether it had them in memory or not."""


def run() -> Iterator[Result]:
    named = os.environ.get("SORTKEY_GROWTH_ROWS", "")
    sizes = [int(size) for size in named.split(",") if size] or list(SIZES)
    kept = os.environ.get("SORTKEY_GROWTH_FOLDER")
    if kept is not None:
        yield from measure(Path(kept), sizes)
        return
    with TemporaryDirectory(dir=working_folder()) as made:
        yield from measure(Path(made), sizes)


def measure(folder: Path, sizes: list[int], turns: int = TURNS) -> Iterator[Result]:
    costs, trees = uvloop.run(measured(folder, sizes, turns))
    smallest = sizes[0]
    for call in CALLS:
        for size in sizes[1:]:
            for part, kind in enumerate(("", ", processor time")):
                beside = {f"{smallest:,} rows": costs[smallest][call][part]}
                yield Result(f"{call} of {size:,} rows{kind}", costs[size][call][part], "µs", peers=beside)
        for size in sizes:
            yield Result(f"{call} of {size:,} rows, page faults", costs[size][call].mapped, "")
    for size, tree in trees.items():
        yield Result(f"file of {size:,} rows of each kind", tree.gibibytes, "GiB")
        yield Result(f"depth of its tree, of {tree.leaves:,} leaves", tree.depth, "pages")


async def measured(folder: Path, sizes: list[int], turns: int) -> tuple[dict[int, dict[str, Cost]], dict[int, Tree]]:
    async with AsyncExitStack() as stack:
        stores = {}
        for size in sizes:
            session = await sk.async_connect(folder / f"{size}", tables=TABLES)
            stores[size] = Store(await stack.enter_async_context(session), size)
            await stores[size].load()
        for store in stores.values():
            await store.warm_up()
        costs: dict[int, dict[str, list[Cost]]] = {size: {call: [] for call in CALLS} for size in sizes}
        draw = random.Random(7)
        for _ in range(turns):
            for call, calls in CALLS.items():
                numbers = [draw.randrange(POPULATION) for _ in range(calls)]
                for size, store in stores.items():
                    costs[size][call].append(await timed(store.calls[call], numbers))
        trees = {size: store.tree() for size, store in stores.items()}
    return {size: {call: typical(each) for call, each in of_size.items()} for size, of_size in costs.items()}, trees


async def timed(call: Call, numbers: list[int]) -> Cost:
    gc.collect()
    began, working, mapped = perf_counter(), process_time(), page_faults()
    for number in numbers:
        await call(number)
    worked, passed = process_time() - working, perf_counter() - began
    each = 1 / len(numbers)
    return Cost(1e6 * passed * each, 1e6 * worked * each, (page_faults() - mapped) * each)


def page_faults() -> int:
    used = getrusage(RUSAGE_SELF)
    return used.ru_minflt + used.ru_majflt


def typical(turns: list[Cost]) -> Cost:
    passed, worked, mapped = zip(*turns, strict=True)
    return Cost(median(passed), median(worked), median(mapped))


class Tree(NamedTuple):
    """The one tree of a store, which has all its tables."""

    gibibytes: float
    """Of the file."""
    depth: int
    """The pages that a lookup passes."""
    leaves: int


class Store:
    """One folder, with `rows` rows of each kind."""

    def __init__(self, session: sk.AsyncSession, rows: int) -> None:
        self._session = session
        self._rows = rows
        self._step = max(1, rows // POPULATION)
        self._favourites = FavouritesService(session)
        self._pricing = PricingService(session)
        self._counts = counts_of("UTC").aggregator(session)
        self._marks = time_ns()
        """A store that is kept has counted the marks of earlier runs."""
        self._draw = random.Random(rows)
        self.calls: dict[str, Call] = {
            "get": self.get,
            "any row": self.get_any,
            "put": self.put,
            "query": self.query,
            "page": self.page,
            "aggregate": self.aggregate,
            "top list": self.top_list,
            "price page": self.price_page,
        }

    async def load(self) -> None:
        """Load each kind that is not loaded yet. Rows are written in order, so a kind is loaded if its last row is."""
        await self._session.create_tables()
        for row, path in ((order, order_path), (count, count_path), (price, price_path)):
            if await self._session.get(path(self._rows - 1)) is None:
                await self._session.load(map(row, range(self._rows)))
        # A large store that is opened again is checked meanwhile, and until then it answers more slowly.
        check = self._store().check
        while check is not None and not check.ended:
            await asyncio.sleep(0.1)

    async def warm_up(self) -> None:
        """The first access to a page of the file costs a page fault, which is the system's."""
        for number in range(POPULATION):
            await self.get(number)
        for name in ("query", "price page"):
            for number in range(POPULATION):
                await self.calls[name](number)

    def tree(self) -> Tree:
        found = self._store()._environment.stat()
        return Tree(self._store().bytes_used() / (1 << 30), found["depth"], found["leaf_pages"])

    def _store(self) -> EngineStore[WriteBatch]:
        database = self._session.client.database
        assert database is not None
        return database.store

    def _number(self, number: int) -> int:
        return number * self._step % self._rows

    async def get(self, number: int) -> object:
        return await self._get_order(self._number(number))

    async def get_any(self, _: int) -> object:
        return await self._get_order(self._draw.randrange(self._rows))

    async def _get_order(self, number: int) -> object:
        found = await self._session.get(order_path(number))
        assert found is not None
        return found

    async def put(self, number: int) -> object:
        return await self._session.put(order(self._number(number)))

    async def query(self, number: int) -> object:
        """As a program without the model sends it."""
        partition = f"CUSTOMER#{customer(self._number(number))}"
        answer = await self._session.client.query(
            TableName=ORDERS.name,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": partition}},
            Limit=64,
        )
        assert answer["Count"] == 64
        return answer

    async def page(self, number: int) -> object:
        found = await self._session.page(Order.key(customer=customer(self._number(number))), first=64)
        assert len(found) == 64
        return found

    async def aggregate(self, number: int) -> object:
        """A batch of marks of different restaurants, as the feed delivers it."""
        now, marks = datetime.now(UTC), []
        for each in range(MARKS):
            self._marks += 1
            mark = Favourite(user=f"u{self._marks}", restaurant=restaurant(self._number(number + 37 * each)), since=now)
            marks.append(sk.Change("INSERT", None, mark, {}, f"{self._marks:040}", now, "shardId-growth"))
        await self._counts.on_changes(marks)
        return marks

    async def top_list(self, _: int) -> object:
        found = await self._favourites.top("ALL_TIME", top_page(10, None))
        assert len(list(found)) == 10
        return found

    async def price_page(self, number: int) -> object:
        found: Any = await self._pricing.base_prices(shop(self._number(number)), page_request(first=64))
        assert len(found) == 64
        return found


def order(number: int) -> Order:
    return Order(customer=customer(number), order=f"{number % PER_PARTITION:04}")


def order_path(number: int) -> sk.AccessPath[Order]:
    return Order.key(customer=customer(number), order=f"{number % PER_PARTITION:04}")


def customer(number: int) -> str:
    return f"{number // PER_PARTITION:08}"


def count(number: int) -> FavouriteCount:
    return FavouriteCount(restaurant=restaurant(number), window="ALL_TIME", count=number % 1000)


def count_path(number: int) -> sk.AccessPath[FavouriteCount]:
    return FavouriteCount.key(restaurant=restaurant(number), window="ALL_TIME")


def restaurant(number: int) -> str:
    return f"r{number:08}"


def price(number: int) -> PriceRow:
    return PriceRow(
        store=shop(number),
        channel="ALL",
        kind=PriceKind.BASE,
        product=product(number),
        cents=number % 4000 + 99,
        since=0,
    )


def price_path(number: int) -> sk.AccessPath[PriceRow]:
    return PriceRow.key(store=shop(number), channel="ALL", kind=PriceKind.BASE, product=product(number))


def shop(number: int) -> str:
    return f"{number // PRODUCTS:06}"


def product(number: int) -> str:
    return f"P{number % PRODUCTS:04}"
