"""A clock that is set forward or back neither loses a timer nor strands it, nor a lease, nor a change."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.feeds.shards.leases import ShardLease
from sortkey.patterns.timer_book import Timer
from tests.feeds.timers.handling import SECONDS, Handler, caught_up, reminder
from tests.passing_time import TURN, while_time_passes
from tests.patterns.schedules.reminders import DAY, HOUR, NOON, Reminder, clock_at, opened

BY_ITEM = sk.patterns.schedule("jumping", Reminder, at="at", shards=1)
TWO_DAYS = (2 * DAY).total_seconds()
LEASES = ShardLease.key(feed="jumping:timers")
ROUND = 2.5
"""Seconds between two renewals."""


class RoundClock(ManualClock):
    """Knows who waits for the next round: a test that moves the clock waits until all do."""

    def __init__(self, start: float) -> None:
        super().__init__(start)
        self._rounds: dict[asyncio.Event, float] = {}
        """Until when each wait for a round lasts."""

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        if seconds == ROUND:
            self._rounds[event] = self.monotonic() + seconds
        return await super().wait(event, seconds)

    async def until_all_wait(self, runners: int) -> None:
        async with asyncio.timeout(SECONDS):
            while sum(until > self.monotonic() for until in self._rounds.values()) < runners:
                await asyncio.sleep(TURN)


class DownAtFirst(Handler):
    """Its first calls raise."""

    def __init__(self) -> None:
        super().__init__()
        self.is_down = True
        self.called = asyncio.Event()

    async def __call__(self, due: sk.patterns.Due[Reminder]) -> None:
        self.called.set()
        if self.is_down:
            raise ConnectionError("the mail server is down")
        await super().__call__(due)


# It was put into the partition of the day after tomorrow, which is read two days late.
@pytest.mark.slow
@pytest.mark.parametrize("restart", [False, True])
def test_a_timer_that_was_set_while_the_clock_was_ahead_is_called_when_it_is_due(restart: bool) -> None:
    async def program() -> None:
        clock, handler = clock_at(NOON), DownAtFirst()
        timers = sk.feeds.Timers(BY_ITEM, handler)
        async with opened("memory:", clock) as db:
            async with sk.feeds.Follower(db, [timers], clock=clock) as follower:
                clock.jump(TWO_DAYS)
                await db.put(reminder(1, NOON + HOUR))
                await while_time_passes(clock, handler.called.wait(), step=1)
                clock.jump(-TWO_DAYS)
                handler.is_down = False
                await db.put(reminder(2, NOON + 2 * HOUR))
                if not restart:
                    await while_time_passes(clock, handler.until_calls(2), step=60)
                    await while_time_passes(clock, follower.caught_up())
            if restart:
                async with sk.feeds.Follower(db, [timers], clock=clock):
                    await while_time_passes(clock, handler.until_calls(2), step=60)
        assert [each.numbers for each in handler.handled] == [(1,), (2,)]
        assert clock.now() >= (NOON + 2 * HOUR).timestamp()

    asyncio.run(program())


@pytest.mark.parametrize("jump", [-TWO_DAYS, -3600, 3600, TWO_DAYS])
def test_timers_from_before_during_and_after_a_jump_are_all_called(jump: float) -> None:
    async def program() -> None:
        clock, handler = clock_at(NOON), Handler()
        times = [NOON + timedelta(minutes=each) for each in (-4000, -90, -1, 30, 90, 4000)]
        number = 0
        async with opened("memory:", clock) as db:
            async with sk.feeds.Follower(db, [sk.feeds.Timers(BY_ITEM, handler)], clock=clock) as follower:
                for seconds in (0, jump, -jump):
                    clock.jump(seconds)
                    items = [reminder(number + each, at) for each, at in enumerate(times)]
                    number += len(items)
                    await db.batch(put=items)
                    await while_time_passes(clock, follower.caught_up())
                clock.advance((4 * DAY).total_seconds())
                await while_time_passes(clock, handler.until(lambda: len(handler.handled) >= number), step=5)
            assert sorted(each.numbers for each in handler.handled) == [(each,) for each in range(number)]
            assert [each async for each in db.scan(Timer)] == []

    asyncio.run(program())


# A process whose clock is slow sets a timer for a day, while the worker is about to pass that day, and is killed.
def test_a_day_that_a_killed_worker_was_about_to_pass_is_read() -> None:
    async def program() -> None:
        clock, handler = clock_at(NOON), Handler()
        timers = sk.feeds.Timers(BY_ITEM, handler)
        async with opened("memory:", clock) as db:
            async with sk.feeds.Follower(db, [timers], clock=clock) as follower:
                await db.put(reminder(1, NOON + HOUR))
                await caught_up(follower)
            clock.advance(TWO_DAYS)
            (lease,) = [each async for each in db.iterate(LEASES, consistent=True)]
            await db.update(lease.key, {"checkpoint": "2050-08-24/2050-08-26"})
            async with sk.feeds.Follower(db, [timers], clock=clock):
                await while_time_passes(clock, handler.until_calls(1))
            (lease,) = [each async for each in db.iterate(LEASES, consistent=True)]
            assert lease.checkpoint[:10] >= "2050-08-24"

    asyncio.run(program())


# Leases go by the time that passes, measured by each process for itself; no two clocks are compared.
@pytest.mark.parametrize("jump", [-TWO_DAYS, TWO_DAYS])
def test_a_jump_moves_no_lease(jump: float) -> None:
    async def program() -> None:
        clock = RoundClock(NOON.timestamp())
        timers = sk.feeds.Timers(BY_ITEM, Handler())
        async with (
            opened("memory:", clock) as db,
            sk.feeds.Follower(db, [timers], clock=clock, lease_seconds=4 * ROUND) as first,
            sk.feeds.Follower(db, [timers], clock=clock, lease_seconds=4 * ROUND) as second,
        ):
            await while_time_passes(clock, first.caught_up())
            owners = {each.shard: each.owner async for each in db.iterate(LEASES, consistent=True)}
            clock.jump(jump)
            for _ in range(20):
                # Each follower runs the timers and the feed that sets them.
                await clock.until_all_wait(4)
                clock.advance(ROUND)
            await clock.until_all_wait(4)
            assert {each.shard: each.owner async for each in db.iterate(LEASES, consistent=True)} == owners
            for follower in (first, second):
                counts = follower.samples()
                assert not any(number for name, number in counts.items() if "takeovers" in name or "lost" in name)

    asyncio.run(program())


# The start was a time of this machine's clock, and the changes have the store's.
def test_a_feed_that_starts_now_by_a_clock_that_is_ahead_gets_what_comes() -> None:
    async def program() -> None:
        clock = clock_at(NOON)
        got: list[int] = []

        async def on_changes(changes: Sequence[sk.Change[Reminder]]) -> None:
            got.extend(change.new.number for change in changes if change.new is not None)

        feed = sk.feeds.ChangeFeed("from-now", Reminder, on_changes, start="now")
        async with opened("memory:", clock) as db:
            await db.put(reminder(1))
            clock.jump(TWO_DAYS)
            async with sk.feeds.Follower(db, [feed], clock=clock) as follower:
                clock.jump(-TWO_DAYS)
                await db.put(reminder(2))
                await caught_up(follower)
        assert got == [2]

    asyncio.run(program())
