"""Capacity units of marks and their counts, as the store reports them, and what they cost at AWS's prices."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, NamedTuple

import sortkey as sk
from benchmarks._add_in_transactions import AddInTransactions
from benchmarks._favourites import LISTED, SHARD
from benchmarks.aggregates import measure
from sortkey.model.costs.explain import read_dollars_per_million, write_dollars_per_million
from sortkey_services.favourites.model import Favourite, FavouriteCount
from sortkey_services.favourites.service import FavouritesService

BUSY_BATCH: Final = 80
"""At seven million marks a day, a consumer that asks once a second gets so many changes."""
CHANGES: Final = 4000


class CountWithoutIndex(sk.Item, table=sk.Table("bench-counts-without-index")):
    restaurant: Annotated[str, sk.in_key]
    window: Annotated[str, sk.in_key]
    count: int = 0
    updated: Annotated[datetime | None, sk.updated] = None

    key = sk.Key("{restaurant}", "{window}")


class CountInOnePartition(sk.Item, table=sk.Table("bench-counts-in-one-partition")):
    restaurant: Annotated[str, sk.in_key]
    window: Annotated[str, sk.in_key]
    count: int = 0
    updated: Annotated[datetime | None, sk.updated] = None

    key = sk.Key("{restaurant}", "{window}")
    top = sk.Index("top", "{window}", "{count}", names=("toppk", "count"))


class MarkCost(NamedTuple):
    """Units of a mark, its counts included."""

    ours: float
    """Write units."""
    reads: float
    """Read units: a count is read before this process writes it for the first time."""
    by_add: float
    """Write units."""

    def dollars(self, marks_a_day: int) -> tuple[float, float]:
        """For a month of 30 days."""
        millions = 30 * marks_a_day / 1e6
        ours = write_dollars_per_million(self.ours) + read_dollars_per_million(self.reads)
        return millions * ours, millions * write_dollars_per_million(self.by_add)


def units_of_a_mark() -> float:
    """Of the service's table of favourites, with its two indexes; nothing is counted yet."""

    async def measured() -> float:
        async with sk.async_connect("memory:", tables=[Favourite, FavouriteCount]) as session:
            service = FavouritesService(session)
            await service.start()
            await service.mark("ada", "r0001")
            return sum(reading.units for reading in session.meter.readings())

    return asyncio.run(measured())


def cost_of_a_mark(batch: int, changes: int = CHANGES) -> MarkCost:
    """With counts in four windows, which get changes in batches of this size."""
    mark = units_of_a_mark()
    ours, added = (measure(counting, 0, 0, batch, changes) for counting in (LISTED.aggregator, AddInTransactions))
    return MarkCost(mark + ours.units / changes, ours.read_units / changes, mark + added.units / changes)


def units_of_a_count(into: type[sk.Item]) -> float:
    """Write units of adding one to a count that exists."""
    counts = sk.patterns.aggregate(
        Favourite,
        into=into,
        by=("restaurant",),
        window=sk.patterns.window("since", "ALL_TIME"),
        values={"count": sk.patterns.count()},
    )

    async def measured() -> float:
        async with sk.async_connect("memory:", tables=[Favourite, into]) as session:
            await session.create_tables()
            aggregator = counts.aggregator(session)
            await aggregator.on_changes(changes_of(["ada"]))
            before = _units(session)
            await aggregator.on_changes(changes_of(["bob"], after=1))
            return _units(session) - before

    return asyncio.run(measured())


def changes_of(users: Sequence[str], after: int = 0) -> list[sk.Change[Any]]:
    """Marks of one restaurant."""
    now = datetime.now(UTC)
    return [
        sk.Change("INSERT", None, Favourite(user=user, restaurant="r0001", since=now), {}, f"{number:040}", now, SHARD)
        for number, user in enumerate(users, after + 1)
    ]


def _units(session: sk.AsyncSession) -> float:
    return sum(reading.units for reading in session.meter.readings())
