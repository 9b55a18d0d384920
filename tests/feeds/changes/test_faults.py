"""Feeds on a store that throttles, conflicts, splits its shards and delivers records again."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.feeds.changes.shard_reader import ShardReader
from tests.feeds.changes.parcels import PARCELS, Kept, Parcel, caught_up
from tests.passing_time import BRIEF, while_time_passes


@pytest.mark.parametrize("seed", range(3))
def test_every_change_comes_in_order(seed: int) -> None:
    async def program() -> None:
        clock, kept = ManualClock(), Kept()
        faults = sk.testing.Faults(
            seed=seed,
            throttle=0.2,
            transaction_conflicts=0.2,
            unprocessed=0.2,
            duplicate_records=0.3,
            late_records=0.05,
            split_shards_every=40,
        )
        async with sk.async_connect("memory:", tables=[PARCELS], faults=faults, pacing=BRIEF) as db:
            await db.create_tables()
            feed = sk.feeds.ChangeFeed("parcels", Parcel, kept, max_batch=7)
            async with sk.feeds.Follower(db, [feed], clock=clock) as follower:
                for turn in range(3):
                    await db.batch(put=[Parcel(number=number, place=str(turn)) for number in range(30)])
                # Where records come late, an empty answer does not mean that there are no more.
                await while_time_passes(clock, kept.until(90))
                await while_time_passes(clock, follower.caught_up())
        places: dict[int, list[str]] = {}
        for change in kept.changes:
            assert change.new is not None
            places.setdefault(change.new.number, []).append(change.new.place)
        assert places == {number: ["0", "1", "2"] for number in range(30)}

    asyncio.run(program())


# Streams deliver at least once. What this process has handled, it knows.
def test_records_that_the_store_delivers_again_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    read, random, repeated = ShardReader.read, Random(7), 0

    async def read_again(self: ShardReader, most: int) -> list[dict[str, Any]]:
        nonlocal repeated
        records = await read(self, most)
        before: list[dict[str, Any]] = vars(self).setdefault("seen", [])
        again = before[-random.randrange(5) :] if records and before else []
        before += records
        repeated += len(again)
        return again + records

    monkeypatch.setattr(ShardReader, "read", read_again)

    async def program() -> None:
        kept = Kept()
        async with sk.async_connect("memory:", tables=[PARCELS]) as db:
            await db.create_tables()
            async with sk.feeds.Follower(db, [sk.feeds.ChangeFeed("parcels", Parcel, kept, max_batch=5)]) as follower:
                for number in range(40):
                    await db.put(Parcel(number=number))
                await caught_up(follower)
        assert kept.numbers == list(range(40))
        assert repeated > 0

    asyncio.run(program())
