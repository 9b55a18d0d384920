"""Any sequence of writes, deliveries, time passing and crashes, against a plain model.

Items are put, rescheduled, paused and deleted; their changes reach the timers later, in order, and perhaps twice. A
worker handles what is due, or crashes: before a call, in the middle of it, or before it has deleted the timer. A call
may raise, and another item may ask for the instant that is being handled. Meanwhile the clock goes on, sometimes for
days. It holds that

* no call comes before its time, and each has an item that asks for it at that moment;
* in the end, everything that is due and asked for was handled after it was last asked for.
"""

from __future__ import annotations

import asyncio
from collections import deque
from datetime import date, datetime, timedelta

import msgspec
from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.feeds.shards.blockage import Blockage
from sortkey.feeds.shards.metrics import TimerMetrics
from sortkey.feeds.timers.timer_call import TimerCall, TimerFailures, Tries
from sortkey.patterns.timer_book import TIMERS, Timer, TimerBook, day_of
from tests.patterns.schedules.reminders import NOON, Reminder, clock_at, inserted, modified, opened, removed

SCHEDULE = sk.patterns.schedule("properties", Reminder, at="at", by=("user",), where={"active": True}, shards=2)

USERS = st.sampled_from(["ana", "bo"])
NUMBERS = st.integers(0, 2)
LATE = 9
MINUTES = st.sampled_from([-3000, -1, 0, 1, 2, 30, 1440, 4000])

MOODS = ["well", "meanwhile", "raise", "crash before", "crash within", "crash after"]

STEPS = st.one_of(
    st.tuples(st.just("put"), USERS, NUMBERS, MINUTES),
    st.tuples(st.just("pause"), USERS, NUMBERS),
    st.tuples(st.just("delete"), USERS, NUMBERS),
    st.tuples(st.just("deliver"), st.integers(1, 5), st.booleans()),
    st.tuples(st.just("pass"), MINUTES.filter(lambda minutes: minutes > 0)),
    st.tuples(st.just("work"), st.sampled_from(MOODS)),
)


class Crash(BaseException):
    """The worker is gone."""


class World:
    def __init__(self, db: sk.AsyncSession, clock: ManualClock) -> None:
        self.db = db
        self.clock = clock
        self.book = TimerBook(db, SCHEDULE)
        self.items: dict[tuple[str, int], Reminder] = {}
        self.asked: dict[tuple[str, int], int] = {}
        """When each item last asked for its time, in ticks."""
        self.undelivered: deque[sk.Change[Reminder]] = deque()
        self.handled: dict[tuple[str, datetime], int] = {}
        """When the last call of each group and instant read its items, in ticks."""
        self.since: dict[int, date] = {}
        self.wrong: list[str] = []
        """What calls have found wrong: what they raise counts as an error of theirs."""
        self._ticks = 0
        self.mood = "well"

    @property
    def now(self) -> datetime:
        return self.book.now

    def tick(self) -> int:
        self._ticks += 1
        return self._ticks

    async def put(self, user: str, number: int, minutes: int) -> None:
        await self._write(Reminder(user=user, number=number, at=self.now + timedelta(minutes=minutes)))

    async def pause(self, user: str, number: int) -> None:
        old = self.items.get((user, number))
        if old is not None:
            await self._write(msgspec.structs.replace(old, active=False))

    async def _write(self, item: Reminder) -> None:
        place = item.user, item.number
        old = self.items.get(place)
        await self.db.put(item)
        self.items[place] = item
        if old is None or item.at is None or not _asks(old, item.at):
            self.asked[place] = self.tick()
        self.undelivered.append(inserted(item) if old is None else modified(old, item))

    async def delete(self, user: str, number: int) -> None:
        old = self.items.pop((user, number), None)
        if old is not None:
            await self.db.delete(old.key)
            self.undelivered.append(removed(old))

    async def deliver(self, count: int, twice: bool) -> None:
        """The first changes; they come again later if the feed could not save its position."""
        batch = list(self.undelivered)[:count]
        await self.book.on_changes(batch)
        if not twice:
            for _ in batch:
                self.undelivered.popleft()

    async def work(self, mood: str) -> None:
        self.mood = mood
        metrics = TimerMetrics("properties", lambda: 0)
        timers, clock = sk.feeds.Timers(SCHEDULE, self._on_due, attempts=None), ManualClock()
        failures = TimerFailures(timers.rule, Blockage("properties", metrics.blockages, clock), clock)
        call = TimerCall(timers, self.book, metrics, clock, (), failures)
        try:
            for shard in range(SCHEDULE.shards):
                await self._work_on(shard, call)
        except Crash:
            pass

    async def _work_on(self, shard: int, call: TimerCall) -> None:
        since = await self.book.first_day(shard, self.since.get(shard, day_of(NOON)), self.now)
        self.since[shard] = since
        due: list[Timer] = [timer async for timer in self.book.due(shard, since, self.now)]
        for timer in due:
            assert timer.at <= self.now
            await call.call(timer, Tries())
            if self.mood == "crash after":
                raise Crash

    async def _on_due(self, due: sk.patterns.Due[Reminder]) -> None:
        if self.mood == "crash before":
            raise Crash
        if self.mood == "raise":
            raise RuntimeError("on purpose")
        user = due.group["user"]
        expected = {item.number for (owner, _), item in self.items.items() if owner == user and _asks(item, due.at)}
        found = {item.number async for item in due.items()}
        if due.at > self.now or not found or found != expected:
            self.wrong.append(f"{due!r} at {self.now} has {found} instead of {expected}")
        self.handled[user, due.at] = self.tick()
        if self.mood == "meanwhile":
            self.mood = "well"
            await self._write(Reminder(user=user, number=LATE, at=due.at))
            await self.deliver(len(self.undelivered), False)
        if self.mood == "crash within":
            raise Crash

    def check_all_handled(self) -> None:
        assert self.wrong == []
        for place, item in self.items.items():
            if item.active and item.at is not None and item.at <= self.now:
                assert self.handled.get((item.user, item.at), -1) > self.asked[place], f"{item} was not handled"


def _asks(item: Reminder, at: datetime) -> bool:
    return item.active and item.at == at


@given(st.lists(STEPS, min_size=8, max_size=60))
def test_everything_due_is_handled_and_nothing_else(steps: list[tuple[str, ...]]) -> None:
    async def program() -> None:
        clock = clock_at(NOON)
        async with opened("memory:", clock) as db:
            await db.create_tables(TIMERS)
            world = World(db, clock)
            for name, *arguments in steps:
                if name == "pass":
                    clock.advance(float(arguments[0]) * 60)
                else:
                    await getattr(world, name)(*arguments)
            await world.deliver(len(world.undelivered), False)
            clock.advance(10 * 86_400)
            await world.work("well")
            await world.work("well")
            world.check_all_handled()
            assert [timer async for timer in db.scan(Timer)] == []

    asyncio.run(program())
