"""Handlers are called when the time of their items has come: once, late, again, or not at all."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import msgspec
import pytest

import sortkey as sk
from sortkey.feeds.shards.leases import ShardLease
from sortkey.patterns.timer_book import Timer
from tests.feeds.timers.handling import QUICK, SECONDS, Handler, caught_up, count, reminder
from tests.passing_time import while_time_passes
from tests.patterns.schedules.reminders import DAY, HOUR, NOON, Reminder, clock_at, opened

BY_ITEM = sk.patterns.schedule("timers-by-item", Reminder, at="at", where={"active": True})
BY_USER = sk.patterns.schedule("timers-by-user", Reminder, at="at", by=("user",), where={"active": True})


async def timers_left(db: sk.AsyncSession) -> int:
    return len([row async for row in db.scan(Timer)])


def test_a_handler_is_called_when_it_is_due(store: str) -> None:
    async def program() -> None:
        clock, handler = clock_at(NOON - HOUR), Handler()
        async with opened(store, clock) as db:
            async with sk.feeds.Follower(db, [sk.feeds.Timers(BY_ITEM, handler)], clock=clock) as follower:
                await db.put(reminder(1, NOON + HOUR))
                await db.put(reminder(2, NOON))
                await caught_up(follower)
                assert handler.handled == []
                clock.advance(3600)
                await handler.until_calls(1)
                assert handler.handled == [("ana", NOON, (2,))]
                clock.advance(3600)
                await handler.until_calls(2)
                await caught_up(follower)
            assert handler.handled[1:] == [("ana", NOON + HOUR, (1,))]
            assert await timers_left(db) == 0

    asyncio.run(program())


# It would sleep for an hour otherwise.
def test_an_earlier_one_wakes_the_worker() -> None:
    async def program() -> None:
        clock, handler = clock_at(NOON), Handler()
        async with (
            opened("memory:", clock) as db,
            sk.feeds.Follower(db, [sk.feeds.Timers(BY_ITEM, handler, poll=3600)], clock=clock) as follower,
        ):
            await db.put(reminder(1, NOON + HOUR))
            await caught_up(follower)
            await db.put(reminder(2, NOON + timedelta(seconds=1)))
            await caught_up(follower)
            assert handler.handled == []
            clock.advance(1)
            await handler.until_calls(1)
            await db.put(reminder(3, NOON - DAY))
            await handler.until_calls(2)
        assert [each.numbers for each in handler.handled] == [(2,), (3,)]

    asyncio.run(program())


def test_what_was_due_while_nobody_ran_is_handled_late(store: str) -> None:
    async def program() -> None:
        clock, handler = clock_at(NOON), Handler()
        timers = sk.feeds.Timers(BY_ITEM, handler)
        async with opened(store, clock) as db:
            async with sk.feeds.Follower(db, [timers], clock=clock) as follower:
                await db.batch(put=[reminder(number, NOON + number * DAY) for number in range(1, 4)])
                await caught_up(follower)
            clock.advance((40 * DAY).total_seconds())
            async with sk.feeds.Follower(db, [timers], clock=clock):
                await handler.until_calls(3)
        assert sorted(handler.times) == [NOON + number * DAY for number in range(1, 4)]

    asyncio.run(program())


@pytest.mark.parametrize("cancelled", ["deleted", "paused", "without a time"])
def test_a_cancelled_one_is_not_handled(cancelled: str) -> None:
    async def program() -> None:
        clock, handler = clock_at(NOON - HOUR), Handler()
        async with opened("memory:", clock) as db:
            async with sk.feeds.Follower(db, [sk.feeds.Timers(BY_ITEM, handler)], clock=clock) as follower:
                await db.put(reminder(1))
                await caught_up(follower)
                path = Reminder.key(user="ana", number=1)
                if cancelled == "deleted":
                    await db.delete(path)
                else:
                    await db.update(path, {"active": False} if cancelled == "paused" else {"at": None})
                clock.advance(2 * 3600)
                await caught_up(follower)
            # The timer is gone a moment before it is counted.
            assert count(follower, "dropped") == 1
            assert (handler.handled, await timers_left(db)) == ([], 0)

    asyncio.run(program())


def test_a_rescheduled_one_is_handled_at_its_new_time() -> None:
    async def program() -> None:
        clock, handler = clock_at(NOON - HOUR), Handler()
        async with (
            opened("memory:", clock) as db,
            sk.feeds.Follower(db, [sk.feeds.Timers(BY_ITEM, handler)], clock=clock) as follower,
        ):
            await db.put(reminder(1))
            await caught_up(follower)
            await db.update(Reminder.key(user="ana", number=1), {"at": NOON + HOUR})
            await caught_up(follower)
            clock.advance(3600)
            await caught_up(follower)
            assert handler.handled == []
            clock.advance(3600)
            await caught_up(follower)
        assert handler.handled == [("ana", NOON + HOUR, (1,))]

    asyncio.run(program())


def test_items_of_one_group_and_instant_are_handled_together() -> None:
    async def program() -> None:
        clock, handler = clock_at(NOON - HOUR), Handler()
        async with (
            opened("memory:", clock) as db,
            sk.feeds.Follower(db, [sk.feeds.Timers(BY_USER, handler)], clock=clock) as follower,
        ):
            await db.batch(put=[*map(reminder, range(100)), reminder(7, NOON, "bo")])
            await caught_up(follower)
            clock.advance(3600)
            await caught_up(follower)
        assert sorted(handler.handled) == [("ana", NOON, tuple(range(100))), ("bo", NOON, (7,))]

    asyncio.run(program())


# Two transitions of one store at once would only get in each other's way.
def test_one_call_of_a_group_runs_at_a_time_in_the_order_of_time() -> None:
    async def program() -> None:
        clock, handler = clock_at(NOON - 2 * DAY), Handler()
        running: set[str] = set()

        async def alone(due: sk.patterns.Due[Reminder]) -> None:
            user = due.group["user"]
            assert user not in running
            running.add(user)
            await asyncio.sleep(0)
            await handler(due)
            running.discard(user)

        async with opened("memory:", clock) as db:
            items = [reminder(n, NOON - n * HOUR, user) for n in range(1, 30) for user in ("ana", "bo", "cy")]
            await db.batch(put=items)
            async with sk.feeds.Follower(db, [sk.feeds.Timers(BY_USER, alone)], clock=clock) as follower:
                await caught_up(follower)
                clock.advance((2 * DAY).total_seconds())
                await caught_up(follower)
        for user in ("ana", "bo", "cy"):
            times = [each.at for each in handler.handled if each.user == user]
            assert times == [NOON - n * HOUR for n in range(29, 0, -1)]

    asyncio.run(program())


# The item that came last would wait for ever otherwise.
def test_what_asks_for_an_instant_while_it_is_handled_is_handled_too() -> None:
    async def program() -> None:
        clock, handler = clock_at(NOON), Handler()
        began, goes_on = asyncio.Event(), asyncio.Event()

        async def slow(due: sk.patterns.Due[Reminder]) -> None:
            await handler(due)
            began.set()
            await goes_on.wait()

        async with (
            opened("memory:", clock) as db,
            sk.feeds.Follower(db, [sk.feeds.Timers(BY_USER, slow)], clock=clock) as follower,
        ):
            await db.put(reminder(1))
            async with asyncio.timeout(SECONDS):
                await began.wait()
                await db.put(reminder(2))
                while [each.version async for each in db.scan(Timer)] != [2]:
                    await asyncio.sleep(QUICK)  # the feed has no event for it
            goes_on.set()
            await caught_up(follower)
        assert [each.numbers for each in handler.handled] == [(1,), (1, 2)]

    asyncio.run(program())


def test_an_error_is_tried_again_while_others_go_on() -> None:
    async def program() -> None:
        clock, handler = clock_at(NOON), Handler()
        keys: list[str] = []

        async def flaky(due: sk.patterns.Due[Reminder]) -> None:
            if due.group["number"] == 1:
                keys.append(due.key)
                if len(keys) < 3:
                    raise RuntimeError("not now")
            await handler(due)

        async with opened("memory:", clock) as db:
            await db.batch(put=[reminder(number) for number in range(5)])
            async with sk.feeds.Follower(db, [sk.feeds.Timers(BY_ITEM, flaky)], clock=clock) as follower:
                await while_time_passes(clock, follower.caught_up())
                retries = follower.samples()['sortkey_timers_retries_total{schedule="timers-by-item"}']
        assert sorted(each.numbers for each in handler.handled) == [(number,) for number in range(5)]
        assert handler.handled[-1].numbers == (1,)
        assert (retries, len(keys), len(set(keys))) == (2, 3, 1)

    asyncio.run(program())


# One that raised is due at once again, but for the call of its group that runs. The worker must sleep meanwhile.
def test_a_worker_does_not_look_again_and_again_while_a_group_is_busy() -> None:
    async def program() -> None:
        clock, handler = clock_at(NOON), Handler()
        began, goes_on = asyncio.Event(), asyncio.Event()
        raised: list[datetime] = []

        async def slow(due: sk.patterns.Due[Reminder]) -> None:
            if not raised:
                raised.append(due.at)
                raise RuntimeError("not now")
            began.set()
            await goes_on.wait()
            await handler(due)

        async with opened("memory:", clock) as db:
            await db.batch(put=[reminder(1), reminder(2, NOON - timedelta(seconds=1))])
            async with sk.feeds.Follower(db, [sk.feeds.Timers(BY_USER, slow, poll=3600)], clock=clock) as follower:
                async with asyncio.timeout(SECONDS):
                    await began.wait()
                    await db.put(reminder(3, NOON - HOUR))
                    while await timers_left(db) < 3:
                        await asyncio.sleep(QUICK)  # the feed has no event for it
                clock.advance(1)
                before = db.meter.reading(Timer.key).calls
                await asyncio.sleep(0.1)
                # One that does not sleep looks hundreds of times.
                assert db.meter.reading(Timer.key).calls - before < 20
                goes_on.set()
                await while_time_passes(clock, follower.caught_up())
        assert sorted(handler.times) == [NOON - HOUR, NOON - timedelta(seconds=1), NOON]

    asyncio.run(program())


def test_what_raises_again_and_again_goes_to_the_dead_letters() -> None:
    async def program() -> None:
        clock, handler = clock_at(NOON), Handler()
        told: list[sk.feeds.DeadLetter] = []

        async def poisoned(due: sk.patterns.Due[Reminder]) -> None:
            if due.group["number"] == 1:
                raise RuntimeError("never")
            await handler(due)

        async def tell(letter: sk.feeds.DeadLetter) -> None:
            told.append(letter)

        async with opened("memory:", clock) as db:
            await db.batch(put=[reminder(1), reminder(2)])
            timers = sk.feeds.Timers(BY_ITEM, poisoned, attempts=2, dead_letters=tell)
            async with sk.feeds.Follower(db, [timers], dead_letters=tell, clock=clock) as follower:
                await while_time_passes(clock, follower.caught_up(), step=0.01)
            # The timer is gone a moment before it is counted.
            assert (count(follower, "dead"), count(follower, "handled")) == (1, 1)
            (letter,) = [each async for each in db.iterate(sk.feeds.DeadLetter.key(feed="timers-by-item"))]
            assert told == [letter, letter]
            assert (letter.reason, letter.shard, letter.at) == ("RuntimeError: never", "timers", NOON)
            assert msgspec.json.decode(letter.record) == {
                "schedule": "timers-by-item",
                "group": ["ana", 1],
                "at": "2050-08-24T12:00:00Z",
            }
            assert await timers_left(db) == 0

    asyncio.run(program())


# A schedule that is declared by other fields gets another name; whoever forgets that finds out.
def test_a_timer_of_other_fields_is_a_dead_letter() -> None:
    async def program() -> None:
        clock, handler = clock_at(NOON - HOUR), Handler()
        other = sk.patterns.schedule("timers-by-item", Reminder, at="at", by=("user",))
        async with opened("memory:", clock) as db:
            async with sk.feeds.Follower(db, [sk.feeds.Timers(other, handler)], clock=clock) as follower:
                await db.put(reminder(1))
                await caught_up(follower)
            clock.advance(3600)
            async with sk.feeds.Follower(db, [sk.feeds.Timers(BY_ITEM, handler, attempts=1)], clock=clock) as follower:
                await caught_up(follower)
            (letter,) = [each async for each in db.iterate(sk.feeds.DeadLetter.key(feed="timers-by-item"))]
            assert 'DecodeError: the group ["ana"] is not one of user, number' in letter.reason
            assert letter.reason.endswith("A schedule that is declared by other fields needs another name")
        assert handler.handled == []

    asyncio.run(program())


def test_a_call_that_runs_is_finished_before_the_follower_stops() -> None:
    async def program() -> None:
        clock, handler = clock_at(NOON), Handler()
        began, goes_on = asyncio.Event(), asyncio.Event()

        async def slow(due: sk.patterns.Due[Reminder]) -> None:
            began.set()
            await goes_on.wait()
            await handler(due)

        async with opened("memory:", clock) as db:
            follower = sk.feeds.Follower(db, [sk.feeds.Timers(BY_ITEM, slow)], clock=clock)
            running = asyncio.create_task(follower.run())
            await db.put(reminder(1))
            async with asyncio.timeout(SECONDS):
                await began.wait()
                follower.stop()
                await asyncio.sleep(QUICK)
                goes_on.set()
                await running
            assert (len(handler.handled), await timers_left(db)) == (1, 0)
            owners = [each.owner async for each in db.iterate(ShardLease.key(feed="timers-by-item:timers"))]
            assert owners == ["", "", "", ""]

    asyncio.run(program())


# A feed reaches back a day; the items of a table that is older have no timers yet.
def test_timers_of_items_that_no_feed_sees_are_restored() -> None:
    async def program() -> None:
        clock, handler = clock_at(NOON), Handler()
        timers = sk.feeds.Timers(BY_USER, handler)
        async with opened("memory:", clock) as db:
            async with sk.feeds.Follower(db, [timers], clock=clock) as follower:
                await db.batch(put=[reminder(n, NOON + n * DAY, user) for n in (1, 2) for user in ("ana", "bo")])
                await db.put(reminder(3, None))
                await caught_up(follower)
            for timer in [each async for each in db.scan(Timer)]:
                await db.delete(timer.key)
            clock.advance((5 * DAY).total_seconds())
            assert await timers.restore(db) == 4
            async with sk.feeds.Follower(db, [timers], clock=clock) as follower:
                await caught_up(follower)
        assert len(handler.handled) == 4

    asyncio.run(program())
