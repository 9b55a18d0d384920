"""Timers on a store that throttles, delivers records again, or is away for longer than a lease."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import sortkey as sk
from sortkey.feeds.shards.leases import HeldLease
from tests.feeds.timers.handling import QUICK, SECONDS, Handler, caught_up
from tests.patterns.schedules.reminders import HOUR, NOON, REMINDERS, Reminder, clock_at, opened

BY_ITEM = sk.patterns.schedule("faulty-timers", Reminder, at="at")


@pytest.mark.parametrize("seed", range(2))
def test_everything_is_handled_by_a_store_with_faults(seed: int) -> None:
    async def program() -> None:
        clock, handler = clock_at(NOON - HOUR), Handler()
        faults = sk.testing.Faults(
            seed=seed, throttle=0.2, unprocessed=0.2, duplicate_records=0.3, split_shards_every=20
        )
        async with sk.async_connect("memory:", tables=[REMINDERS], clock=clock, faults=faults) as db:
            await db.create_tables()
            async with sk.feeds.Follower(db, [sk.feeds.Timers(BY_ITEM, handler, poll=QUICK)]) as follower:
                await db.batch(put=[Reminder(user="ana", number=number, at=NOON) for number in range(40)])
                await caught_up(follower)
                assert handler.handled == []
                clock.advance(3600)
                await handler.until(lambda: {each.numbers for each in handler.handled} == {(n,) for n in range(40)})

    asyncio.run(program())


# Whoever watches the process would otherwise have to start it again.
def test_a_store_that_is_away_for_longer_than_a_lease_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    save, saves, is_away = HeldLease.save, 0, False

    async def save_if_there(self: HeldLease, **changes: Any) -> bool:
        nonlocal saves
        saves += 1
        if is_away:
            raise ConnectionError("the store is away")
        return await save(self, **changes)

    monkeypatch.setattr(HeldLease, "save", save_if_there)

    async def program() -> None:
        nonlocal is_away
        clock, handler = clock_at(NOON - HOUR), Handler()
        async with opened("memory:", clock) as db:
            timers = sk.feeds.Timers(BY_ITEM, handler, poll=QUICK)
            async with sk.feeds.Follower(db, [timers], lease_seconds=0.2) as follower:
                await db.put(Reminder(user="ana", number=1, at=NOON))
                await caught_up(follower)
                is_away, before = True, saves
                async with asyncio.timeout(SECONDS):
                    # Each of four shards has asked more than once, and so has the feed.
                    while saves < before + 20:
                        await asyncio.sleep(QUICK)  # there is no event for an attempt
                is_away = False
                clock.advance(3600)
                await handler.until_calls(1)

    asyncio.run(program())
