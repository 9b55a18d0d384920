"""Counts under everything at once: throttling, conflicts, shards that split, batches that come again, a repair."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from random import Random

import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.engine.streams.stream_writer import reshard
from sortkey.feeds.shards.leases import handled_by
from tests.passing_time import BRIEF, while_time_passes
from tests.patterns.aggregates.favourites import (
    COUNTED,
    COUNTS,
    FAVOURITES,
    RANGED,
    RANGES,
    START,
    Favourite,
    SpendingRange,
    counted,
    truth,
)

WRITERS = 8
WRITES = 60
SPLITS = {10: 2, 25: 4, 40: 8}
"""After how many writes of the first writer there are how many shards."""
FAULTS = sk.testing.Faults(seed=14, throttle=0.02, transaction_conflicts=0.02)
RESTAURANTS = ("nopi", "honey")


class Redelivering:
    """A consumer that gets some batches again, whole or in part, as after a lost checkpoint."""

    def __init__(self, aggregator: sk.patterns.Aggregator, random: Random) -> None:
        self._aggregator = aggregator
        self._random = random

    async def on_changes(self, changes: Sequence[sk.Change[Favourite]]) -> None:
        await self._aggregator.on_changes(changes)
        if self._random.random() < 0.3:
            middle = self._random.randrange(len(changes))
            await self._aggregator.on_changes(changes[: middle + 1])
            await self._aggregator.on_changes(changes[middle:])


async def write(db: sk.AsyncSession, writer: int) -> None:
    """Marks and unmarks; the first writer splits the shards now and then."""
    random = Random(writer)
    database = db.client.database
    assert database is not None
    for number in range(WRITES):
        if writer == 0 and number in SPLITS:
            await asyncio.to_thread(reshard, database, FAVOURITES.name, SPLITS[number])
        user, restaurant = f"u{writer}-{random.randrange(6)}", random.choice(RESTAURANTS)
        if random.random() < 0.4:
            await db.delete(Favourite.key(user=user, restaurant=restaurant))
        else:
            since = START + timedelta(days=random.randrange(40))
            spent = Decimal(random.randrange(10_000)) / 100
            await db.put(Favourite(user=user, restaurant=restaurant, since=since, spent=spent))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_counts_are_right_in_the_end(seed: int) -> None:
    async def play() -> None:
        clock, tables = ManualClock(), [FAVOURITES, COUNTS, RANGES]
        async with sk.async_connect("memory:", tables=tables, faults=FAULTS, pacing=BRIEF) as db:
            await db.create_tables()
            counts, ranges = COUNTED.aggregator(db), RANGED.aggregator(db)
            feeds = [
                sk.feeds.ChangeFeed("counts", Favourite, Redelivering(counts, Random(seed)).on_changes, max_batch=20),
                sk.feeds.ChangeFeed("ranges", Favourite, Redelivering(ranges, Random(seed)).on_changes, max_batch=20),
            ]
            followers = [sk.feeds.Follower(db, feeds, clock=clock) for _ in range(2)]
            async with followers[0] as first, followers[1] as second:
                async with asyncio.TaskGroup() as tasks:
                    for writer in range(WRITERS):
                        tasks.create_task(write(db, writer))
                    assert (await counts.recount(repair=True)).wrong == 0
                    first.stop()
                await while_time_passes(clock, second.caught_up())
            left = [each async for each in db.scan(Favourite, consistent=True)]
            assert await counted(db, RESTAURANTS) == truth(left)
            for aggregator, feed in zip((counts, ranges), feeds, strict=True):
                assert (await aggregator.recount(repair=True, handled=await handled_by(db, feed.name))).is_clean
            for restaurant in RESTAURANTS:
                spent = [each.spent for each in left if each.restaurant == restaurant]
                found = await db.get(SpendingRange.key(restaurant=restaurant))
                assert found is not None
                assert (found.count, found.largest, found.smallest) == (len(spent), max(spent), min(spent))

    asyncio.run(play())
