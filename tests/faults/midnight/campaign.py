"""Many changes of many stores are due at one instant, and readers ask all the while.

No answer may show a store half changed, or a price that is wrong for the instant it asks about: while no processor
runs, while processors make the changes permanent, and while they are killed. In the end everything must be permanent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from typing import Final, NamedTuple

import sortkey as sk
from sortkey_services.pricing.checks import MAX_CHANGES
from sortkey_services.pricing.model import CHANGES, PRICES, ChangeRow, PriceRow
from sortkey_services.pricing.prices import PriceKind
from sortkey_services.pricing.reads import page_request
from sortkey_services.pricing.service import PricingService
from tests.faults.midnight.prices import Expected, Midnight, is_right
from tests.faults.midnight.processes import Processors, Readers
from tests.faults.midnight.reader import Tally

LOOK_SECONDS: Final = 0.05
SOON: Final = timedelta(seconds=2)
"""Between the last scheduled change and midnight, for the readers to start."""


class Plan(NamedTuple):
    seed: int
    changes: int
    stores: int
    kills: int
    reads: int = 50
    """Each reader makes so many in each phase: before midnight, after it without a processor, and in the end."""
    readers: int = 2
    processors: int = 2
    running_before: bool = False
    """Whether the processors run when midnight comes; otherwise they start later, and find everything late."""
    lease_seconds: float = 1.0
    lead_seconds: float = 2.0
    """For scheduling; if it takes longer, everything begins again with more time."""


@dataclass
class Result:
    scheduling: float = 0.0
    """Seconds until all changes were accepted."""
    without_processor: float = 0.0
    """Seconds from midnight until processors started."""
    permanent: float = 0.0
    """Seconds from midnight, or from the processors' start after it, until every change was permanent."""
    kills: int = 0
    tallies: list[Tally] = field(default_factory=list)
    unfinished: int = 0
    """Stores that are wrong at the end: now, or just before midnight."""

    @property
    def reads(self) -> int:
        return sum(tally.reads for tally in self.tallies)

    @property
    def wrong(self) -> int:
        return sum(tally.wrong for tally in self.tallies)

    @property
    def named(self) -> list[str]:
        return [line for tally in self.tallies for line in tally.named]


Show = Callable[[str], None]


def run(plan: Plan, store: str, show: Show = lambda _: None) -> Result:
    """`show` is called when a phase has ended."""
    return asyncio.run(_run(plan, store, show))


async def _run(plan: Plan, store: str, show: Show) -> Result:
    async with sk.async_connect(store, tables=[PRICES, CHANGES]) as session:
        pricing = PricingService(session)
        await pricing.start()
        result = Result()
        processors = Processors(store, plan.lease_seconds, Random(f"kills {plan.seed}"))
        try:
            if plan.running_before:
                for _ in range(plan.processors):
                    await processors.start()
            midnight = await _scheduled(session, pricing, plan, result)
            show(f"{plan.changes:,} changes scheduled in {result.scheduling:.1f} s")
            async with _reading(plan, store, midnight) as readers:
                await _pass(session, midnight, plan, readers, processors, result, show)
                result.tallies = await asyncio.to_thread(readers.stop)
            await asyncio.to_thread(processors.stop)
        finally:
            processors.kill()
        result.kills = processors.kills
        result.unfinished = await _unfinished(pricing, midnight)
        return result


async def _scheduled(session: sk.AsyncSession, pricing: PricingService, plan: Plan, result: Result) -> Midnight:
    """A midnight that is still to come when all its changes are accepted."""
    lead = timedelta(seconds=plan.lead_seconds)
    for attempt in count():
        products = plan.changes // plan.stores
        at = datetime.now(UTC) + lead + SOON
        midnight = Midnight(f"S{attempt}-", plan.stores, products, at.timestamp())
        await session.load(
            PriceRow(
                store=midnight.store(store),
                channel="ALL",
                kind=PriceKind.BASE,
                product=product,
                cents=cents,
                since=0,
            )
            for store in range(plan.stores)
            for product, cents in midnight.before(store).items()
        )
        began = time.monotonic()
        changes = list(midnight.changes(at))
        for first in range(0, len(changes), MAX_CHANGES):
            await pricing.change_prices(changes[first : first + MAX_CHANGES], "the midnight test")
        result.scheduling = time.monotonic() - began
        if datetime.now(UTC) < at - SOON:
            return midnight
        lead *= 3
    raise AssertionError("unreachable")


@asynccontextmanager
async def _reading(plan: Plan, store: str, midnight: Midnight) -> AsyncIterator[Readers]:
    readers = Readers(store, midnight, plan.readers, plan.seed)
    try:
        yield readers
    finally:
        readers.kill()


async def _pass(
    session: sk.AsyncSession,
    midnight: Midnight,
    plan: Plan,
    readers: Readers,
    processors: Processors,
    result: Result,
    show: Show,
) -> None:
    await asyncio.sleep(max(0.0, midnight.at - time.time()))
    began = time.monotonic()
    if not plan.running_before:
        await readers.read(plan.reads, after=True)
        result.without_processor = time.monotonic() - began
        show(f"midnight, {result.without_processor:.1f} s without a processor")
        began = time.monotonic()
        for _ in range(plan.processors):
            await processors.start()
    permanent = asyncio.create_task(_permanent(session, midnight))
    for _ in range(plan.kills):
        await processors.kill_one()
        show(f"{processors.kills} processors killed")
    await permanent
    result.permanent = time.monotonic() - began
    show(f"everything is permanent after {result.permanent:.1f} s")
    await readers.read(plan.reads, after=True)


async def _permanent(session: sk.AsyncSession, midnight: Midnight) -> None:
    """Wait until no change of the midnight is scheduled any more."""
    at = datetime.fromtimestamp(midnight.at, UTC)
    for number in range(midnight.stores):
        path = ChangeRow.key(store=midnight.store(number), effective_at=at)
        while any([row.status == "SCHEDULED" async for row in session.iterate(path, consistent=True)]):
            await asyncio.sleep(LOOK_SECONDS)  # the processors are other processes


async def _unfinished(pricing: PricingService, midnight: Midnight) -> int:
    """Stores that do not have the prices after midnight now, or those before it just before it."""
    at = datetime.fromtimestamp(midnight.at, UTC) - timedelta(microseconds=1)
    wrong = 0
    for number in range(midnight.stores):
        store = midnight.store(number)
        now = await pricing.base_prices(store, page_request(first=2048))
        then = await pricing.base_prices(store, page_request(first=2048), at=at)
        is_done = is_right(midnight, number, now.items, Expected(before=False, after=True))
        was_kept = is_right(midnight, number, then.items, Expected(before=True, after=False))
        wrong += not (is_done and was_kept)
    return wrong
