"""The reads of pricing in the process, and the same reads of PostgreSQL over a connection, in turns.

Few prices and many are read in turns, too, so that a noisy moment affects all of them. Of each round the quantiles are
taken, and the median over the rounds.
"""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Mapping, Sequence
from statistics import median
from time import perf_counter
from typing import Any, Final, NamedTuple

import sortkey as sk
from benchmarks._prices_postgres import PostgresPrices
from benchmarks._pricing_market import UPCOMING_CHANNEL, Questions, Sizes
from benchmarks._recorder import Recorder
from sortkey_services.pricing.reads import page_request
from sortkey_services.pricing.service import PricingService

PAGE: Final = 64
BY_STORE: Final = "page by store"
BY_PRODUCT: Final = "page by product"
DEEP: Final = "last page by product"
DEEP_OFFSET: Final = "last page by product, OFFSET"
ONE: Final = "one price"
UPCOMING: Final = "upcoming changes"
DEEP_PRODUCTS: Final = 8
LONGEST_ROUND_SECONDS: Final = 2.0
LEAST_CALLS: Final = 3

Call = Callable[[], Awaitable[Any]]


class Timed(NamedTuple):
    """Milliseconds."""

    p50: float
    p95: float
    p99: float


def timed(milliseconds: Sequence[float]) -> Timed:
    ordered = sorted(milliseconds)
    return Timed(*(ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.95, 0.99)))


class Rounds:
    """What the rounds of one operation have taken."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._rounds: list[Timed] = []

    async def round(self, calls: int) -> None:
        """Fewer calls, if they take long: PostgreSQL's OFFSET would take minutes."""
        taken: list[float] = []
        until = perf_counter() + LONGEST_ROUND_SECONDS
        while len(taken) < calls and (perf_counter() < until or len(taken) < LEAST_CALLS):
            began = perf_counter()
            found = await self._call()
            taken.append((perf_counter() - began) * 1000)
            assert found is not None
        self._rounds.append(timed(taken))

    def forget(self) -> None:
        self._rounds.clear()

    @property
    def median(self) -> Timed:
        return Timed(*(median(each) for each in zip(*self._rounds, strict=True)))


class OurReads:
    """Pricing on an open store."""

    def __init__(self, session: sk.AsyncSession, sizes: Sizes, stores: int) -> None:
        self._session = session
        self._pricing = PricingService(session)
        self._asked = Questions(sizes, stores)
        self._deep: list[tuple[str, str]] = []
        self._next = 0

    async def prepare(self) -> None:
        """Walk to the last pages of some products."""
        while len(self._deep) < DEEP_PRODUCTS:
            product, cursor = self._asked.product(), None
            while True:
                page = await self._pricing.product_prices(product, page_request(first=2048, after=cursor))
                if not page.has_next:
                    break
                cursor = page.end_cursor
            self._deep.append((product, page.cursor(max(0, len(page) - PAGE - 1))))

    @property
    def calls(self) -> dict[str, Call]:
        return {
            BY_STORE: self.by_store,
            BY_PRODUCT: self.by_product,
            DEEP: self.deep,
            ONE: self.one,
            UPCOMING: self.upcoming,
        }

    async def by_store(self) -> object:
        return await self._pricing.base_prices(self._asked.store(), page_request(first=PAGE))

    async def by_product(self) -> object:
        return await self._pricing.product_prices(self._asked.product(), page_request(first=PAGE))

    async def deep(self) -> object:
        self._next += 1
        product, cursor = self._deep[self._next % len(self._deep)]
        return await self._pricing.product_prices(product, page_request(first=PAGE, after=cursor))

    async def one(self) -> object:
        return await self._pricing.price(self._asked.store(), self._asked.product())

    async def upcoming(self) -> object:
        store = self._asked.store_with_changes()
        return await self._pricing.price_changes(store, page_request(first=PAGE), UPCOMING_CHANNEL)

    async def units(self) -> dict[str, float]:
        """Read units of one call of each; without the fast reads of an embedded store, which report none."""
        session = self._session
        client, fast = session.client, session._fast
        found = {}
        for name, call in self.calls.items():
            recorder = session.client = Recorder(client)
            session._fast = None
            await call()
            session.client, session._fast = client, fast
            found[name] = recorder.units
        return found


class TheirReads:
    """PostgreSQL over one connection. The calls are synchronous underneath."""

    def __init__(self, prices: PostgresPrices, sizes: Sizes, stores: int) -> None:
        self._prices = prices
        self._asked = Questions(sizes, stores)
        self._offset = max(0, stores - PAGE)

    @property
    def calls(self) -> dict[str, Call]:
        return {
            BY_STORE: self._later(lambda: self._prices.by_store(self._asked.store())),
            BY_PRODUCT: self._later(lambda: self._prices.by_product(self._asked.product())),
            DEEP: self._later(lambda: self._prices.by_product(self._asked.product(), self._asked.deep_store)),
            DEEP_OFFSET: self._later(lambda: self._prices.by_product_offset(self._asked.product(), self._offset)),
            ONE: self._later(lambda: self._prices.price(self._asked.store(), self._asked.product())),
            UPCOMING: self._later(lambda: self._prices.upcoming(self._asked.store_with_changes())),
        }

    def _later(self, call: Callable[[], Any]) -> Call:
        async def called() -> Any:
            return call()

        return called


class CallTimes(NamedTuple):
    few: Mapping[str, Timed]
    many: Mapping[str, Timed]


class CallCosts(NamedTuple):
    ours: CallTimes
    theirs: CallTimes
    units: Mapping[str, float]
    """Of ours, with many prices."""


async def call_costs(
    sizes: Sizes,
    few: sk.AsyncSession,
    many: sk.AsyncSession,
    few_postgres: PostgresPrices,
    many_postgres: PostgresPrices,
) -> CallCosts:
    ours = OurReads(few, sizes, sizes.few_stores), OurReads(many, sizes, sizes.stores)
    for reads in ours:
        await reads.prepare()
    theirs = TheirReads(few_postgres, sizes, sizes.few_stores), TheirReads(many_postgres, sizes, sizes.stores)
    measured = [{name: Rounds(call) for name, call in each.calls.items()} for each in (*ours, *theirs)]
    await _take_turns(measured, sizes)
    found = [{name: rounds.median for name, rounds in each.items()} for each in measured]
    return CallCosts(CallTimes(*found[:2]), CallTimes(*found[2:]), await ours[1].units())


async def calls_of(prices: PostgresPrices, sizes: Sizes, names: Sequence[str]) -> dict[str, Timed]:
    """Of PostgreSQL alone, with many prices."""
    calls = TheirReads(prices, sizes, sizes.stores).calls
    measured = {name: Rounds(calls[name]) for name in names}
    await _take_turns([measured], sizes)
    return {name: rounds.median for name, rounds in measured.items()}


async def _take_turns(measured: Sequence[Mapping[str, Rounds]], sizes: Sizes) -> None:
    everything = [rounds for each in measured for rounds in each.values()]
    for rounds in everything:
        # psycopg prepares a statement when it is used for the fifth time.
        await rounds.round(max(10, sizes.calls // 5))
        rounds.forget()
    gc.collect()
    gc.freeze()
    for _ in range(sizes.rounds):
        for rounds in everything:
            await rounds.round(sizes.calls)
    gc.unfreeze()
