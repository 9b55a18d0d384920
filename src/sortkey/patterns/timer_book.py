"""`TimerBook` sets, finds and deletes the timers of one schedule, in the table `sortkey-timers`.

    SCHEDULE#price-changes#02#2026-08-24 | 2026-08-24T10:00:00Z#5f0c…     group, version

The partition is a shard of a schedule and a day, in UTC; the sort key is the instant and a hash of the group. So what
is due is the beginning of a partition, and a worker reads those of today and of earlier days that are not empty.
The days keep a worker from reading where thousands of timers were deleted, which is slow in some stores.

An occurrence in the past goes to the partition of the day on which it is set: earlier ones may be closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

from sortkey.client.stores import EMBEDDED
from sortkey.model.calls.change import Change
from sortkey.model.changes.typed_field import F
from sortkey.model.errors import ConditionFailed, ItemMissing
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.item import Item
from sortkey.model.items.key import Key
from sortkey.model.items.table import Table
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of
from sortkey.patterns.schedules import Occurrence, Schedule

TIMERS: Final = Table("sortkey-timers")

CLOSING: Final = timedelta(hours=1)
"""After a day's end its partitions may still get timers, of processes whose clocks are slow."""

PARALLEL: Final = 32
"""Writes at the same time."""
PARALLEL_EMBEDDED: Final = 256
"""The same in a store of this process, where they share commits."""
_PART: Final = 1000
"""Occurrences that are set at once when a table is read."""
_MICROSECOND: Final = timedelta(microseconds=1)


class Timer(Item, table=TIMERS):
    schedule: str
    shard: int
    day: date
    at: datetime
    group_id: str
    group: str
    """As in `Occurrence`."""
    version: int = 0
    """Grows each time that a change asks for it; it is deleted only in the version that was handled."""

    key = Key("SCHEDULE#{schedule}#{shard:03}#{day}", "{at}#{group_id}")

    @property
    def occurrence(self) -> Occurrence:
        return Occurrence(self.group, self.at)


class TimerBook:
    def __init__(self, session: AsyncSession, schedule: Schedule[Any]) -> None:
        self.schedule = schedule
        self.session = session
        self._context = context_of(session)
        self._parallel = PARALLEL_EMBEDDED if self._context.capabilities is EMBEDDED else PARALLEL

    @property
    def now(self) -> datetime:
        """By the session's clock."""
        return self._context.moment

    async def on_changes(self, changes: Sequence[Change[Any]]) -> Collection[Timer]:
        """Set a timer for everything that the changed items ask for, and did not before. What they no longer ask for
        is left alone: the timer finds that out."""
        asked = dict.fromkeys(each for change in changes for each in asked_by(self.schedule, change))
        return await self.set(asked)

    async def set(self, occurrences: Collection[Occurrence]) -> Collection[Timer]:
        """Set timers; those that are set already get another version, so that a handler that runs is called again."""
        pending = iter(occurrences)
        done: list[Timer] = []
        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(min(self._parallel, len(occurrences))):
                    tasks.create_task(self._set_each(pending, done))
        except BaseExceptionGroup as errors:
            # The other tasks were cancelled because of the first.
            raise errors.exceptions[0] from None
        return done

    async def _set_each(self, pending: Iterator[Occurrence], done: list[Timer]) -> None:
        for each in pending:
            path = timer_path(self.schedule.name, self.schedule.shards, each, self.now)
            done.append(await self.session.upsert(path, [{"group": each.group}, F(Timer.version).add(1)]))

    async def due(self, shard: int, since: date, now: datetime, limit: int | None = None) -> AsyncIterator[Timer]:
        """The timers of a shard that are due, from the partition of `since` on, those of each day by their time; or
        the first `limit` of them."""
        for day in days(since, day_of(now)):
            path = self._partition(shard, day).before(now + _MICROSECOND)
            async for timer in self.session.iterate(path, consistent=True, limit=limit):
                yield timer
                limit = None if limit is None else limit - 1
            if limit == 0:
                return

    async def next_after(self, shard: int, now: datetime) -> datetime:
        """When to look again: when the next timer of today is due, or the day ends."""
        path = self._partition(shard, day_of(now)).after(now)
        timer = await self.session.first(path, consistent=True)
        return end_of(day_of(now)) if timer is None else timer.at

    async def first_day(self, shard: int, since: date, now: datetime) -> date:
        """The first day from `since` on whose partition has timers, or may still get some."""
        for day in days(since, day_of(now)):
            is_closed = now >= end_of(day) + CLOSING
            if not is_closed or await self.session.first(self._partition(shard, day), consistent=True) is not None:
                return day
        return day_of(now)

    async def is_asked_for(self, timer: Timer) -> bool:
        """Whether an item asks for it now."""
        return await self.schedule.finder.is_asked_for(self.session, timer.occurrence)

    async def done(self, timer: Timer) -> bool:
        """Delete a timer that was handled. False if it was set again meanwhile; then it is due again."""
        try:
            await self.session.delete(timer.key, where={"version": timer.version})
        except ItemMissing:
            return True
        except ConditionFailed:
            return False
        return True

    def _partition(self, shard: int, day: date) -> AccessPath[Timer]:
        return Timer.key(schedule=self.schedule.name, shard=shard, day=day)


def timer_path(schedule: str, shards: int, occurrence: Occurrence, now: datetime) -> AccessPath[Timer]:
    """Where the timer of an occurrence is when it is set now."""
    group_id = occurrence.group_id
    return Timer.key(
        schedule=schedule,
        shard=int(group_id[:8], 16) % shards,
        day=day_of(max(occurrence.at, now)),
        at=occurrence.at,
        group_id=group_id,
    )


def asked_by(schedule: Schedule[Any], change: Change[Any]) -> frozenset[Occurrence]:
    """What the item asks for after the change, and did not before. Raises ValueError for a time without a zone."""
    occurrences = schedule.source.occurrences
    return occurrences(change.new) - occurrences(change.old)


def given_up_by(schedule: Schedule[Any], change: Change[Any]) -> frozenset[Occurrence]:
    """What the item asked for before the change, and no longer does."""
    occurrences = schedule.source.occurrences
    return occurrences(change.old) - occurrences(change.new)


async def asked_in_table(schedule: Schedule[Any], session: AsyncSession) -> AsyncIterator[Collection[Occurrence]]:
    """What all items of the table ask for, in parts. Reads the whole table."""
    part: set[Occurrence] = set()
    async for item in session.scan(schedule.source.cls):
        part |= schedule.source.occurrences(item)
        if len(part) >= _PART:
            yield part
            part = set()
    yield part


def days(first: date, last: date) -> Iterator[date]:
    for number in range((last - first).days + 1):
        yield first + timedelta(days=number)


def day_of(moment: datetime) -> date:
    return moment.astimezone(UTC).date()


def end_of(day: date) -> datetime:
    return datetime.combine(day + timedelta(days=1), time(), UTC)
