"""Growth: what a call costs in a store of 10,000 rows, of 1,000,000, and of 10,000,000

Each store is a synced folder with so many orders, counts of restaurants and prices. All are open at once and take turns
with the same calls, so that a noisy moment hits all of them. A number is the median of all turns, in microseconds;
it stands beside that of the smallest store. `SORTKEY_GROWTH_ROWS=10000,1000000` measures other sizes.
"""

from __future__ import annotations

import gc
import os
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any, Final, NamedTuple

import uvloop

import sortkey as sk
from benchmarks._peers import working_folder
from benchmarks._results import Result
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
CALLS: Final = {"get": 1000, "query": 100, "page": 100, "top list": 20, "price page": 50, "put": 50, "aggregate": 3}
PER_PARTITION: Final = 100
PRODUCTS: Final = 500
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


def run() -> Iterator[Result]:
    named = os.environ.get("SORTKEY_GROWTH_ROWS", "")
    yield from measure([int(size) for size in named.split(",") if size] or SIZES)


def measure(sizes: tuple[int, ...] | list[int], turns: int = TURNS) -> Iterator[Result]:
    with TemporaryDirectory(dir=working_folder()) as made:
        found = uvloop.run(measured(Path(made), sizes, turns))
    smallest = sizes[0]
    for call in CALLS:
        for size in sizes[1:]:
            for part, kind in enumerate(("", ", processor time")):
                beside = {f"{smallest:,} rows": found[smallest][call][part]}
                yield Result(f"{call} of {size:,} rows{kind}", found[size][call][part], "µs", peers=beside)


async def measured(folder: Path, sizes: tuple[int, ...] | list[int], turns: int) -> dict[int, dict[str, Cost]]:
    async with AsyncExitStack() as stack:
        stores = {}
        for size in sizes:
            session = await sk.async_connect(folder / f"{size}", tables=[ORDERS, FAVOURITES, COUNTS, PRICES, CHANGES])
            stores[size] = Store(await stack.enter_async_context(session), size)
            await stores[size].load()
            await stores[size].warm_up()
        costs: dict[int, dict[str, list[Cost]]] = {size: {call: [] for call in CALLS} for size in sizes}
        draw = random.Random(7)
        for _ in range(turns):
            for call, calls in CALLS.items():
                numbers = [draw.randrange(POPULATION) for _ in range(calls)]
                for size, store in stores.items():
                    costs[size][call].append(await timed(store.calls[call], numbers))
    return {size: {call: typical(each) for call, each in of_size.items()} for size, of_size in costs.items()}


async def timed(call: Call, numbers: list[int]) -> Cost:
    gc.collect()
    began, working = perf_counter(), process_time()
    for number in numbers:
        await call(number)
    worked, passed = process_time() - working, perf_counter() - began
    return Cost(1e6 * passed / len(numbers), 1e6 * worked / len(numbers))


def typical(turns: list[Cost]) -> Cost:
    return Cost(median(each.passed for each in turns), median(each.worked for each in turns))


class Store:
    """One folder, with `rows` rows of each kind."""

    def __init__(self, session: sk.AsyncSession, rows: int) -> None:
        self._session = session
        self._rows = rows
        self._step = max(1, rows // POPULATION)
        self._favourites = FavouritesService(session)
        self._pricing = PricingService(session)
        self._counts = counts_of("UTC").aggregator(session)
        self._marks = 0
        self.calls: dict[str, Call] = {
            "get": self.get,
            "put": self.put,
            "query": self.query,
            "page": self.page,
            "aggregate": self.aggregate,
            "top list": self.top_list,
            "price page": self.price_page,
        }

    async def load(self) -> None:
        await self._session.create_tables()
        numbers = range(self._rows)
        await self._session.load(order(number) for number in numbers)
        await self._session.load(
            FavouriteCount(restaurant=restaurant(number), window="ALL_TIME", count=number % 1000) for number in numbers
        )
        await self._session.load(price(number) for number in numbers)

    async def warm_up(self) -> None:
        """The first access to a page of the file costs a page fault, which is the system's."""
        for number in range(POPULATION):
            await self.get(number)
        for name in ("query", "price page"):
            for number in range(0, POPULATION, 10):
                await self.calls[name](number)

    def _number(self, number: int) -> int:
        return number * self._step % self._rows

    async def get(self, number: int) -> object:
        asked = order(self._number(number))
        found = await self._session.get(Order.key(customer=asked.customer, order=asked.order))
        assert found is not None
        return found

    async def put(self, number: int) -> object:
        return await self._session.put(order(self._number(number)))

    async def query(self, number: int) -> object:
        """As a program without the model sends it."""
        partition = f"CUSTOMER#{order(self._number(number)).customer}"
        answer = await self._session.client.query(
            TableName=ORDERS.name,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": partition}},
            Limit=64,
        )
        assert answer["Count"] == 64
        return answer

    async def page(self, number: int) -> object:
        found = await self._session.page(Order.key(customer=order(self._number(number)).customer), first=64)
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
        found: Any = await self._pricing.base_prices(price(self._number(number)).store, page_request(first=64))
        assert len(found) == 64
        return found


def order(number: int) -> Order:
    return Order(customer=f"{number // PER_PARTITION:08}", order=f"{number % PER_PARTITION:04}")


def restaurant(number: int) -> str:
    return f"r{number:08}"


def price(number: int) -> PriceRow:
    return PriceRow(
        store=f"{number // PRODUCTS:06}",
        channel="ALL",
        kind=PriceKind.BASE,
        product=f"P{number % PRODUCTS:04}",
        cents=number % 4000 + 99,
        since=0,
    )
