"""Growth: what a call costs in a store of 10,000 rows, of 1,000,000, and of 10,000,000

There are three kinds of rows, one after the other: orders, counts of restaurants, and prices. Each store is a synced
folder with so many rows of one kind. The stores of a kind are open at once and take turns with the same calls, so that
a noisy moment hits all of them. A number is the median of all turns, in microseconds; it stands beside that of the
smallest store. Every call is of one of 10,000 rows, which are spread over the whole table and were read before; `any
row` is a get of a row that was not, whose page the system has to map or to read.

`SORTKEY_GROWTH_ROWS=10000,1000000` and `SORTKEY_GROWTH_KINDS=orders` measure other sizes and fewer kinds. 10,000,000
rows take about 95 (orders), 280 (counts) and 185 seconds (prices) of processor time to load, and up to 8 GB of disk.
`SORTKEY_GROWTH_FOLDER=DIR` keeps the stores there: what is loaded, a later run opens.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
from abc import ABC, abstractmethod
from array import array
from collections.abc import Awaitable, Callable, Iterator, Mapping
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
from sortkey.storage import Store
from sortkey.values.key_bytes import partition_hash
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
PER_PARTITION: Final = 100
PRODUCTS: Final = 500
COUNTED: Final = 1000
"""Different counts."""
MARKS: Final = 100
"""Of one batch of the change feed."""
ORDERS: Final = sk.Table("growth-orders")

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


class Tree(NamedTuple):
    """The one tree of a store, which has all its tables."""

    gibibytes: float
    """Of the file."""
    depth: int
    """The pages that a lookup passes."""
    leaves: int


def run() -> Iterator[Result]:
    sizes = [int(size) for size in os.environ.get("SORTKEY_GROWTH_ROWS", "").split(",") if size] or list(SIZES)
    kinds = [kind for kind in os.environ.get("SORTKEY_GROWTH_KINDS", "").split(",") if kind] or list(KINDS)
    kept = os.environ.get("SORTKEY_GROWTH_FOLDER")
    for kind in kinds:
        if kept is not None:
            yield from measure(Path(kept), kind, sizes)
        else:
            with TemporaryDirectory(dir=working_folder()) as made:
                yield from measure(Path(made), kind, sizes)


def measure(folder: Path, kind: str, sizes: list[int], turns: int = TURNS) -> Iterator[Result]:
    costs, trees = uvloop.run(measured(folder, kind, sizes, turns))
    smallest = sizes[0]
    for call, of_sizes in costs.items():
        for size in sizes[1:]:
            for part, name in enumerate(("", ", processor time")):
                beside = {f"{smallest:,} rows": of_sizes[smallest][part]}
                yield Result(f"{call} of {size:,} rows{name}", of_sizes[size][part], "µs", peers=beside)
        for size in sizes:
            yield Result(f"{call} of {size:,} rows, page faults", of_sizes[size].mapped, "")
    for size, tree in trees.items():
        yield Result(f"file of {size:,} {kind}", tree.gibibytes, "GiB")
        yield Result(f"depth of its tree, of {tree.leaves:,} leaves", tree.depth, "pages")


async def measured(
    folder: Path, kind: str, sizes: list[int], turns: int
) -> tuple[dict[str, dict[int, Cost]], dict[int, Tree]]:
    rows = KINDS[kind]
    async with AsyncExitStack() as stack:
        stores: dict[int, Rows] = {}
        for size in sizes:
            session = await sk.async_connect(folder / f"{kind}-{size}", tables=rows.tables)
            stores[size] = rows(await stack.enter_async_context(session), size)
            await stores[size].load()
        for store in stores.values():
            await store.warm_up()
        calls = stores[sizes[0]].calls
        costs: dict[str, dict[int, list[Cost]]] = {call: {size: [] for size in sizes} for call in calls}
        draw = random.Random(7)
        for _ in range(turns):
            for call, (_, times) in calls.items():
                numbers = [draw.randrange(POPULATION) for _ in range(times)]
                for size, store in stores.items():
                    costs[call][size].append(await timed(store.calls[call][0], numbers))
        trees = {size: store.tree() for size, store in stores.items()}
    return {call: {size: typical(each) for size, each in of.items()} for call, of in costs.items()}, trees


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


class Rows(ABC):
    """A store with so many rows of one kind."""

    tables: tuple[sk.Table, ...]
    calls: Mapping[str, tuple[Call, int]]
    """And how many of each in a turn."""

    def __init__(self, session: sk.AsyncSession, rows: int) -> None:
        self.session = session
        self.rows = rows
        self._step = max(1, rows // POPULATION)

    @abstractmethod
    def row(self, number: int) -> sk.Item: ...

    @abstractmethod
    def path(self, number: int) -> sk.AccessPath[Any]: ...

    async def load(self) -> None:
        """Load the rows, unless they are there: they are written in order, so they all are if the last one is."""
        await self.session.create_tables()
        if await self.session.get(self.path(self.rows - 1)) is None:
            await self.session.load(map(self.row, range(self.rows)))
        # A large store that is opened again is checked meanwhile, and until then it answers more slowly.
        check = self._store().check
        while check is not None and not check.ended:
            await asyncio.sleep(0.1)

    async def warm_up(self) -> None:
        """The first access to a page of the file costs a page fault, which is the system's."""
        for number in range(POPULATION):
            await self.get(number)

    def tree(self) -> Tree:
        found = self._store()._environment.stat()
        return Tree(self._store().bytes_used() / (1 << 30), found["depth"], found["leaf_pages"])

    def _store(self) -> Store[WriteBatch]:
        database = self.session.client.database
        assert database is not None
        return database.store

    def spread(self, number: int) -> int:
        """One of the population, in the whole table."""
        return number * self._step % self.rows

    async def get(self, number: int) -> object:
        return await self.get_row(self.spread(number))

    async def get_row(self, number: int) -> object:
        found = await self.session.get(self.path(number))
        assert found is not None
        return found


class Orders(Rows):
    tables = (ORDERS,)

    def __init__(self, session: sk.AsyncSession, rows: int) -> None:
        super().__init__(session, rows)
        self._draw = random.Random(rows)
        self.calls = {
            "get": (self.get, 1000),
            "any row": (self.get_any, 200),
            "query": (self.query, 100),
            "page": (self.page, 100),
            "put": (self.put, 50),
        }

    async def warm_up(self) -> None:
        await super().warm_up()
        for number in range(POPULATION):
            await self.query(number)

    def row(self, number: int) -> Order:
        return Order(customer=customer(number), order=f"{number % PER_PARTITION:04}")

    def path(self, number: int) -> sk.AccessPath[Order]:
        return Order.key(customer=customer(number), order=f"{number % PER_PARTITION:04}")

    async def get_any(self, _: int) -> object:
        return await self.get_row(self._draw.randrange(self.rows))

    async def put(self, number: int) -> object:
        return await self.session.put(self.row(self.spread(number)))

    async def query(self, number: int) -> object:
        """As a program without the model sends it."""
        answer = await self.session.client.query(
            TableName=ORDERS.name,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": f"CUSTOMER#{customer(self.spread(number))}"}},
            Limit=64,
        )
        assert answer["Count"] == 64
        return answer

    async def page(self, number: int) -> object:
        found = await self.session.page(Order.key(customer=customer(self.spread(number))), first=64)
        assert len(found) == 64
        return found


class Counts(Rows):
    tables = (FAVOURITES, COUNTS)

    def __init__(self, session: sk.AsyncSession, rows: int) -> None:
        super().__init__(session, rows)
        self._favourites = FavouritesService(session)
        self._counts = counts_of("UTC").aggregator(session)
        self._marks = time_ns()
        """A store that is kept has counted the marks of earlier runs."""
        self._restaurants = array("L", sorted(range(rows), key=place_in_table))
        self.calls = {"top list": (self.top_list, 20), "aggregate": (self.aggregate, 3)}

    def row(self, number: int) -> FavouriteCount:
        """Both the table and its index are loaded in their order: at random places, it takes three times as long."""
        return FavouriteCount(
            restaurant=self._restaurant(number), window="ALL_TIME", count=number * COUNTED // self.rows
        )

    def path(self, number: int) -> sk.AccessPath[FavouriteCount]:
        return FavouriteCount.key(restaurant=self._restaurant(number), window="ALL_TIME")

    def _restaurant(self, number: int) -> str:
        return restaurant(self._restaurants[number])

    async def top_list(self, _: int) -> object:
        found = await self._favourites.top("ALL_TIME", top_page(10, None))
        assert len(list(found)) == 10
        return found

    async def aggregate(self, number: int) -> object:
        """A batch of marks of different restaurants, as the feed delivers it."""
        now, marks = datetime.now(UTC), []
        for each in range(MARKS):
            self._marks += 1
            marked = self._restaurant(self.spread(number + 37 * each))
            mark = Favourite(user=f"u{self._marks}", restaurant=marked, since=now)
            marks.append(sk.Change("INSERT", None, mark, {}, f"{self._marks:040}", now, "shardId-growth"))
        await self._counts.on_changes(marks)
        return marks


class Prices(Rows):
    tables = (PRICES, CHANGES)

    def __init__(self, session: sk.AsyncSession, rows: int) -> None:
        super().__init__(session, rows)
        self._pricing = PricingService(session)
        self.calls = {"price page": (self.price_page, 50)}

    async def warm_up(self) -> None:
        for number in range(POPULATION):
            await self.price_page(number)

    def row(self, number: int) -> PriceRow:
        return PriceRow(
            store=shop(number),
            channel="ALL",
            kind=PriceKind.BASE,
            product=product(number),
            cents=number % 4000 + 99,
            since=0,
        )

    def path(self, number: int) -> sk.AccessPath[PriceRow]:
        return PriceRow.key(store=shop(number), channel="ALL", kind=PriceKind.BASE, product=product(number))

    async def price_page(self, number: int) -> object:
        found: Any = await self._pricing.base_prices(shop(self.spread(number)), page_request(first=64))
        assert len(found) == 64
        return found


KINDS: Final[Mapping[str, type[Rows]]] = {"orders": Orders, "counts": Counts, "prices": Prices}


def customer(number: int) -> str:
    return f"{number // PER_PARTITION:08}"


def restaurant(number: int) -> str:
    return f"r{number:08}"


def place_in_table(number: int) -> bytes:
    return partition_hash("S", restaurant(number))


def shop(number: int) -> str:
    return f"{number // PRODUCTS:06}"


def product(number: int) -> str:
    return f"P{number % PRODUCTS:04}"
