"""Workers share the timers of a schedule, which has a number of shards and a name."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

import sortkey as sk
from sortkey.feeds.shards.lease_runner import RunnerSettings
from sortkey.feeds.shards.leases import FEEDS, HeldLease
from sortkey.feeds.timers.timer_runner import TimerRunner, TimerShard
from sortkey.model.calls.change import padded
from sortkey.patterns.timer_book import TIMERS
from tests.feeds.timers.handling import SECONDS, Handler, caught_up, count, reminder
from tests.passing_time import TURN, while_time_passes
from tests.patterns.schedules.reminders import HOUR, NOON, Reminder, clock_at, inserted, opened

BY_ITEM = sk.patterns.schedule("timers-by-item", Reminder, at="at", where={"active": True})


def leases(follower: sk.feeds.Follower) -> float:
    return follower.samples()['sortkey_timers_leases{schedule="timers-by-item"}']


async def shared(followers: list[sk.feeds.Follower]) -> None:
    """Wait until they have the same number of leases, which are handed over in rounds."""
    while [leases(each) for each in followers] != [2, 2]:
        await asyncio.sleep(TURN)


# Timers that were set in shards that are no longer declared are handled all the same.
@pytest.mark.parametrize(("before", "after"), [(8, 1), (1, 8)])
def test_the_number_of_shards_may_change(before: int, after: int) -> None:
    async def program() -> None:
        clock, handler = clock_at(NOON - HOUR), Handler()
        first, second = (sk.patterns.schedule("shards", Reminder, at="at", shards=number) for number in (before, after))
        async with opened("memory:", clock) as db:
            async with sk.feeds.Follower(db, [sk.feeds.Timers(first, handler)], clock=clock) as follower:
                await db.batch(put=map(reminder, range(20)))
                await caught_up(follower)
            clock.advance(3600)
            async with sk.feeds.Follower(db, [sk.feeds.Timers(second, handler)], clock=clock) as follower:
                await caught_up(follower)
        assert sorted(each.numbers for each in handler.handled) == [(number,) for number in range(20)]

    asyncio.run(program())


# The feed's lease is renewed before the batch that has set a timer is saved. The worker is to wake when it is.
def test_a_worker_wakes_when_the_change_of_its_timer_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[datetime | None] = []

    async def program() -> None:
        clock = clock_at(NOON)
        change = inserted(reminder(1))._replace(sequence=padded("7"), shard="shard-1")
        async with opened("memory:", clock) as db:
            await db.create_tables(FEEDS, TIMERS)
            runner = TimerRunner(db, sk.feeds.Timers(BY_ITEM, Handler()), "me", RunnerSettings(10.0, clock))
            await runner.start()
            monkeypatch.setattr(TimerShard, "wake", lambda _shard, at: woken.append(at))
            await runner.feed.on_changes([change])
            runner.on_saved("shard-1", "6")
            assert woken == []
            runner.on_saved("shard-1", "7")
            await runner.finish()

    asyncio.run(program())
    assert woken == [NOON]


# It would sleep on, until the next poll, or until it is cancelled.
def test_a_worker_that_is_stopped_while_it_renews_its_lease_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    async def program() -> None:
        clock, save = clock_at(NOON), HeldLease.save
        async with opened("memory:", clock) as db:
            await db.create_tables(FEEDS, TIMERS)
            runner = TimerRunner(db, sk.feeds.Timers(BY_ITEM, Handler()), "me", RunnerSettings(10.0, clock))
            await runner.start()
            await asyncio.sleep(TURN)

            async def save_and_stop(lease: HeldLease, **changes: str | bool) -> bool:
                runner.consumers[lease.key].stop()
                return await save(lease, **changes)

            monkeypatch.setattr(HeldLease, "save", save_and_stop)
            clock.advance(60)
            async with asyncio.timeout(SECONDS):
                while runner.consumers:
                    await asyncio.sleep(TURN)
            await runner.finish()

    asyncio.run(program())


@pytest.mark.slow
def test_two_workers_share_the_timers(store: str) -> None:
    async def program() -> None:
        clock, handler = clock_at(NOON - HOUR), Handler()
        timers = sk.feeds.Timers(BY_ITEM, handler)
        async with opened(store, clock) as db:
            followers = [sk.feeds.Follower(db, [timers], clock=clock) for _ in range(2)]
            async with followers[0] as one, followers[1] as two:
                await while_time_passes(clock, shared(followers))
                # Soon: while an hour passes at once, each would take the other's leases for expired.
                soon = datetime.fromtimestamp(clock.now() + 1, UTC)
                await db.batch(put=[reminder(number, soon) for number in range(30)])
                # Rounds go on: a lease may be on its way from one to the other.
                await while_time_passes(clock, caught_up(one), step=0.02)
                await while_time_passes(clock, handler.until_calls(30), step=0.02)
                await while_time_passes(clock, caught_up(two), step=0.02)
                assert min(count(each, "handled") for each in (one, two)) > 0
        assert sorted(each.numbers for each in handler.handled) == [(number,) for number in range(30)]

    asyncio.run(program())


def test_a_feed_and_a_schedule_of_one_name_are_rejected() -> None:
    async def program() -> None:
        async def on_changes(_: object) -> None: ...

        async with opened("memory:") as db:
            feed = sk.feeds.ChangeFeed("timers-by-item", Reminder, on_changes)
            with pytest.raises(sk.DeclarationError, match="two change feeds or schedules have the name"):
                sk.feeds.Follower(db, [feed, sk.feeds.Timers(BY_ITEM, Handler())])

    asyncio.run(program())
