"""Timers on a store that throttles, delivers records again, or is away for longer than a lease."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import sortkey as sk
from sortkey.feeds.shards.leases import HeldLease
from tests.feeds.timers.handling import Handler, caught_up
from tests.passing_time import BRIEF, TURN, while_time_passes
from tests.patterns.schedules.reminders import HOUR, NOON, REMINDERS, Reminder, clock_at, opened

BY_ITEM = sk.patterns.schedule("faulty-timers", Reminder, at="at")


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_everything_is_handled_by_a_store_with_faults(seed: int) -> None:
    async def program() -> None:
        clock, handler = clock_at(NOON - HOUR), Handler()
        faults = sk.testing.Faults(
            seed=seed, throttle=0.2, unprocessed=0.2, duplicate_records=0.3, split_shards_every=20
        )
        async with sk.async_connect("memory:", tables=[REMINDERS], clock=clock, faults=faults, pacing=BRIEF) as db:
            await db.create_tables()
            async with sk.feeds.Follower(db, [sk.feeds.Timers(BY_ITEM, handler)], clock=clock) as follower:
                await db.batch(put=[Reminder(user="ana", number=number, at=NOON) for number in range(40)])
                await while_time_passes(clock, follower.caught_up())
                assert handler.handled == []
                clock.advance(3600)
                everything = {(number,) for number in range(40)}
                await while_time_passes(
                    clock, handler.until(lambda: {each.numbers for each in handler.handled} == everything)
                )

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

    async def saved(number: int) -> None:
        while saves < number:
            await asyncio.sleep(TURN)

    async def program() -> None:
        nonlocal is_away
        clock, handler = clock_at(NOON - HOUR), Handler()
        async with opened("memory:", clock) as db:
            timers = sk.feeds.Timers(BY_ITEM, handler)
            async with sk.feeds.Follower(db, [timers], clock=clock) as follower:
                await db.put(Reminder(user="ana", number=1, at=NOON))
                await caught_up(follower)
                is_away, before = True, saves
                # Each of four shards has asked more than once, and so has the feed.
                await while_time_passes(clock, saved(before + 20))
                is_away = False
                clock.advance(3600)
                await while_time_passes(clock, handler.until_calls(1))

    asyncio.run(program())
