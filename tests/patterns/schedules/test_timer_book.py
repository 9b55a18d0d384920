"""Timers in the store: set, found without a scan, deleted in the version that was handled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import date, datetime, timedelta

import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.patterns.schedules import Occurrence
from sortkey.patterns.timer_book import NO_ORIGIN, OVERDUE, TIMERS, Timer, TimerBook, day_of
from tests.patterns.schedules.reminders import DAY, HOUR, NOON, Reminder, clock_at, inserted, opened

pytestmark = pytest.mark.every_store

SCHEDULE = sk.patterns.schedule("book", Reminder, at="at", by=("user",), shards=1)


def run(store: str, program: Callable[[TimerBook, ManualClock], Awaitable[None]]) -> None:
    async def opened_and_run() -> None:
        clock = clock_at(NOON)
        async with opened(store, clock) as db:
            await db.create_tables(TIMERS)
            await program(TimerBook(db, SCHEDULE), clock)

    asyncio.run(opened_and_run())


def reminder(number: int, at: datetime, user: str = "ana") -> Reminder:
    return Reminder(user=user, number=number, at=at)


async def due(book: TimerBook, since: datetime = NOON, limit: int | None = None) -> list[datetime]:
    return [timer.at async for timer in book.due(0, day_of(since), book.now, limit)]


def test_timers_are_found_by_their_time(store: str) -> None:
    async def program(book: TimerBook, clock: ManualClock) -> None:
        items = [reminder(number, NOON + number * HOUR) for number in (5, 1, 3)]
        await book.on_changes([inserted(each) for each in items])
        assert (await due(book), await book.next_after(0, NOON)) == ([], NOON + HOUR)
        clock.advance(3600)
        assert await due(book) == [NOON + HOUR]
        clock.advance(2 * 3600)
        assert await due(book) == [NOON + HOUR, NOON + 3 * HOUR]
        assert await due(book, limit=1) == [NOON + HOUR]
        assert await book.next_after(0, book.now) == NOON + 5 * HOUR

    run(store, program)


def test_items_of_one_group_and_instant_share_a_timer() -> None:
    async def program(book: TimerBook, _: ManualClock) -> None:
        await book.on_changes([inserted(reminder(1, NOON)), inserted(reminder(2, NOON))])
        await book.on_changes([inserted(reminder(3, NOON)), inserted(reminder(4, NOON, "bo"))])
        assert await due(book) == [NOON, NOON]

    run("memory:", program)


# Yesterday's partitions are no longer read; a change that comes late must not be put there.
def test_what_is_past_is_due_today() -> None:
    async def program(book: TimerBook, _: ManualClock) -> None:
        await book.on_changes([inserted(reminder(1, NOON - 40 * DAY))])
        assert await due(book) == [NOON - 40 * DAY]

    run("memory:", program)


def test_days_without_timers_are_left_behind() -> None:
    async def program(book: TimerBook, clock: ManualClock) -> None:
        await book.set(dict.fromkeys((Occurrence('["ana"]', NOON + days * DAY) for days in (1, 30)), NO_ORIGIN))
        start = day_of(NOON)
        assert await book.first_day(0, start, book.now) == start
        clock.advance((2 * DAY).total_seconds())
        assert await book.first_day(0, start, book.now) == start + DAY
        async for timer in book.due(0, start, book.now):
            assert await book.done(timer)
        assert await book.first_day(0, start, book.now) == start + 2 * DAY
        clock.advance((40 * DAY).total_seconds())
        assert await book.first_day(0, start, book.now) == start + 30 * DAY
        assert await due(book, NOON + 2 * DAY) == [NOON + 30 * DAY]

    run("memory:", program)


# A process whose clock is slow may still write to it.
def test_a_day_is_left_an_hour_after_its_end() -> None:
    async def program(book: TimerBook, clock: ManualClock) -> None:
        clock.advance(12.5 * 3600)
        assert await book.first_day(0, day_of(NOON), book.now) == day_of(NOON)
        clock.advance(3600)
        assert await book.first_day(0, day_of(NOON), book.now) == day_of(NOON) + timedelta(days=1)

    run("memory:", program)


# The clock of the process that sets the timer is two days slow, and the worker's is not.
def test_a_timer_for_a_day_that_was_passed_is_overdue() -> None:
    async def passed() -> dict[int, date]:
        return {0: day_of(NOON)}

    async def program(book: TimerBook, clock: ManualClock) -> None:
        clock.jump(-(2 * DAY).total_seconds())
        late = TimerBook(book.session, SCHEDULE, passed)
        (timer,) = await late.on_changes([inserted(reminder(1, NOON - DAY))])
        assert (timer.day, timer.at) == (OVERDUE, NOON - DAY)
        assert [each async for each in book.session.scan(Timer)] == [timer]
        assert await due(book) == []
        assert await book.next_after(0, NOON - DAY - HOUR) == NOON - DAY
        clock.jump((2 * DAY).total_seconds())
        assert await due(book) == [NOON - DAY]

    run("memory:", program)


# What a worker whose clock was ahead has passed is today again.
def test_a_day_is_read_again_when_the_clock_goes_back() -> None:
    async def program(book: TimerBook, _: ManualClock) -> None:
        await book.on_changes([inserted(reminder(1, NOON))])
        assert await due(book, since=NOON + 2 * DAY) == [NOON]
        assert await book.first_day(0, day_of(NOON + 2 * DAY), book.now) == day_of(NOON)

    run("memory:", program)


# An item that asks for the same instant while the handler runs would be forgotten otherwise.
def test_a_timer_that_was_set_again_is_not_deleted(store: str) -> None:
    async def program(book: TimerBook, _: ManualClock) -> None:
        await book.on_changes([inserted(reminder(1, NOON))])
        (timer,) = [timer async for timer in book.due(0, day_of(NOON), book.now)]
        (again,) = await book.on_changes([inserted(reminder(2, NOON))])
        assert not await book.done(timer)
        assert await due(book) == [NOON]
        assert await book.done(again)
        assert await due(book) == []
        assert await book.done(again)

    run(store, program)


def test_an_item_is_asked_again_before_its_timer_counts(store: str) -> None:
    async def program(book: TimerBook, _: ManualClock) -> None:
        (timer,) = await book.set({Occurrence('["ana"]', NOON): NO_ORIGIN})
        assert not await book.is_asked_for(timer)
        await book.session.put(reminder(7, NOON + HOUR))
        assert not await book.is_asked_for(timer)
        await book.session.put(reminder(8, NOON))
        assert await book.is_asked_for(timer)
        assert [each.number async for each in SCHEDULE.due(book.session, timer.occurrence).items()] == [8]
        await book.session.delete(Reminder.key(user="ana", number=8))
        assert not await book.is_asked_for(timer)
        await book.done(timer)

    run(store, program)


# A key that begins with the group and the instant finds its items without reading others.
def test_the_instant_is_a_part_of_the_path_where_the_key_has_it() -> None:
    class Slot(sk.Item, table=sk.Table("schedule-slots", stream="NEW_AND_OLD_IMAGES")):
        room: str
        at: datetime
        guest: str
        key = sk.Key("ROOM#{room}", "{at}#{guest}")

    schedule = sk.patterns.schedule("slots", Slot, at="at", by=("room",))

    async def program() -> None:
        async with sk.async_connect("memory:", tables=[Slot]) as db:
            await db.create_tables()
            guests = [(NOON, "ana"), (NOON, "bo"), *((NOON + number * HOUR, "cy") for number in range(1, 50))]
            await db.batch(put=[Slot(room="r", at=at, guest=guest) for at, guest in guests])
            found = schedule.due(db, Occurrence('["r"]', NOON))
            assert [each.guest async for each in found.items()] == ["ana", "bo"]
            assert db.meter.reading(Slot.key).rows_read == 2

    asyncio.run(program())


# A schedule by the primary key knows the key of its item, so it reads that one.
def test_an_item_is_asked_by_its_key() -> None:
    async def program() -> None:
        schedule = sk.patterns.schedule("by-key", Reminder, at="at")
        async with opened("memory:") as db:
            await db.put(reminder(1, NOON))
            await db.put(reminder(2, NOON))
            item = {"pk": {"S": "USER#ana"}, "sk": {"S": "REMINDER#000003"}, "user": {"N": "1"}}
            await db.client.put_item(TableName=Reminder.__table__.name, Item=item)
            occurrences = [
                Occurrence(f'["ana",{number}]', at)
                for number, at in ((1, NOON), (1, NOON + HOUR), (3, NOON), (4, NOON))
            ]
            # Nobody can read the third, and there is no fourth.
            assert [await schedule.finder.is_asked_for(db, each) for each in occurrences] == [True, False, False, False]
            reading = db.meter.reading("Reminder.key")
            assert (reading.calls, reading.rows_read) == (4, 3)
            assert await schedule.finder.are_asked_for(db, occurrences) == [True, False, False, False]
            readable = [*occurrences[:2], occurrences[3]]
            calls = db.meter.reading("Reminder.key").calls
            assert await schedule.finder.are_asked_for(db, readable) == [True, False, False]
            assert db.meter.reading("Reminder.key").calls == calls + 1
            of_other_fields = Occurrence('["ana"]', NOON)
            first, wrong = await schedule.finder.are_asked_for(db, [occurrences[0], of_other_fields])
            assert (first, type(wrong)) == (True, sk.DecodeError)

    asyncio.run(program())


# Most timers are new, and a commit takes hundreds of them; so does the deletion of those that end together.
def test_timers_are_set_and_deleted_together() -> None:
    async def program() -> None:
        async with opened("memory:") as db:
            await db.create_tables(TIMERS)
            book = TimerBook(db, sk.patterns.schedule("together", Reminder, at="at"))
            assert db.client.database is not None
            queue = db.client.database.store.queue
            before = queue.commits
            timers = await book.on_changes([inserted(reminder(number, NOON)) for number in range(100)])
            assert len(timers) == 100
            assert all(await asyncio.gather(*map(book.done, timers)))
            assert queue.commits - before <= 5
            assert await asyncio.gather(*map(book.done, timers)) == [True] * 100

    asyncio.run(program())
