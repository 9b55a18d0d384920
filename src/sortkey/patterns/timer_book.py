"""`TimerBook` sets, finds and deletes the timers of one schedule, in the table `sortkey-timers`.

    SCHEDULE#price-changes#02#2026-08-24 | 2026-08-24T10:00:00Z#5f0c…     group, version

The partition is a shard of a schedule and the day of the instant, in UTC; the sort key is the instant and a hash of the
group. So what is due is the beginning of a partition, and a worker reads those of today and of earlier days that are
not empty. The days keep a worker from reading where thousands of timers were deleted, which is slow in some stores.

Clocks are not trusted: those of two processes differ, and one may jump. So where a timer is does not depend on the time
at which it is set, and no timer is in a partition that nobody reads:

* An occurrence that is past goes to the partition OVERDUE, which workers always read.
* A worker saves from which day on it reads, and passes a day only if it finds it empty after it has saved that.
* Whoever has set a timer looks which day that is, and sets the timer in OVERDUE if its own day was passed.

So either the worker sees the timer before it passes the day, or the writer sees that the day was passed.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import chain
from typing import Any, Final, NamedTuple

from botocore.exceptions import ClientError

from sortkey.client.stores import EMBEDDED
from sortkey.model.calls.change import Change
from sortkey.model.calls.conditional_writes import row_of_failed_condition
from sortkey.model.calls.steps import Steps
from sortkey.model.calls.updates import upsert
from sortkey.model.calls.writes import put
from sortkey.model.changes.typed_field import F
from sortkey.model.changes.write_conditions import PutOptions
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.item import Item
from sortkey.model.items.key import Key
from sortkey.model.items.table import Table
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import JoinedCalls, JoinedReads, context_of, run_all
from sortkey.patterns.schedules import Occurrence, Schedule

TIMERS: Final = Table("sortkey-timers")

OVERDUE: Final = date.min
"""In the place of a day, the partition of timers whose day may have been passed."""
CLOSING: Final = timedelta(hours=1)
"""How long after its end a day is passed at the earliest: most timers of processes whose clocks are slow then need not
be set twice."""

PARALLEL_EMBEDDED: Final = 256
"""Writes at the same time in a store of this process, where they share commits."""
_PART: Final = 1000
"""Occurrences that are set at once when a table is read."""
_IS_VERSION: Final = "attribute_not_exists(#version) OR #version = :version"
"""Also if the timer is gone."""
_MICROSECOND: Final = timedelta(microseconds=1)

_log = logging.getLogger(__name__)


class Origin(NamedTuple):
    """The change that asked for a timer."""

    shard: str
    sequence: str


NO_ORIGIN: Final = Origin("", "")

Since = Callable[[], Awaitable[Mapping[int, date]]]
"""From which day on each shard is read, as the workers have saved it."""


async def from_the_beginning() -> Mapping[int, date]:
    return {}


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
    change_shard: str = ""
    change_sequence: str = ""
    """The last change that asked for it; empty if it is not known."""

    key = Key("SCHEDULE#{schedule}#{shard:03}#{day}", "{at}#{group_id}")

    @property
    def occurrence(self) -> Occurrence:
        return Occurrence(self.group, self.at)


TimerToSet = tuple[AccessPath[Timer], Occurrence, Origin]


class TimerBook:
    def __init__(self, session: AsyncSession, schedule: Schedule[Any], since: Since = from_the_beginning) -> None:
        self._since = since
        self.schedule = schedule
        self.session = session
        self._context = context_of(session)
        embedded = self._context.capabilities is EMBEDDED
        self._parallel = PARALLEL_EMBEDDED if embedded else session.client.in_flight
        self._deletions = JoinedCalls(session)
        # In the process, a read takes no time that others could share.
        self._checks = None if embedded or not schedule.finder.is_exact else JoinedReads(self._are_asked_for)

    @property
    def now(self) -> datetime:
        """By the session's clock."""
        return self._context.moment

    async def on_changes(self, changes: Sequence[Change[Any]]) -> Collection[Timer]:
        """Set a timer for everything that the changed items ask for, and did not before. What they no longer ask for
        is left alone: the timer finds that out."""
        asked = {
            each: Origin(change.shard, change.sequence)
            for change in changes
            for each in asked_by(self.schedule, change)
        }
        return await self.set(asked)

    async def set(self, occurrences: Mapping[Occurrence, Origin]) -> Collection[Timer]:
        """Set timers; those that are set already get another version, so that a handler that runs is called again."""
        now = self.now
        done = await self._put([(timer_path(self.schedule, each, now), each, of) for each, of in occurrences.items()])
        since = await self._since()
        passed = [timer for timer in done if OVERDUE < timer.day < since.get(timer.shard, OVERDUE)]
        if not passed:
            return done
        _log.warning("%s: %d timers are set for days that are passed: clocks differ", self.schedule.name, len(passed))
        moved = await self._put(
            [(overdue_path(self.schedule, each), each, occurrences[each]) for each in (t.occurrence for t in passed)]
        )
        for timer in passed:
            await self.done(timer)
        return [*(timer for timer in done if timer not in passed), *moved]

    async def _put(self, timers: Collection[TimerToSet]) -> list[Timer]:
        return await run_all(self.session, [self._set(*each) for each in timers], self._parallel)

    def _set(self, path: AccessPath[Timer], occurrence: Occurrence, origin: Origin) -> Steps[Timer]:
        fields: dict[str, Any] = {
            "group": occurrence.group,
            "change_shard": origin.shard,
            "change_sequence": origin.sequence,
        }
        # Nearly all are new: an update that creates would ask for each of them twice.
        timer = Timer(**path.given, **fields, version=1)
        if not (yield from put(self._context, timer, PutOptions(if_absent=True))):
            timer = yield from upsert(self._context, path, [fields, F(Timer.version).add(1)])
        return timer

    async def due(self, shard: int, since: date, now: datetime, limit: int | None = None) -> AsyncIterator[Timer]:
        """The timers of a shard that are due, those that are overdue first, then from the partition of `since` on,
        those of each day by their time; or the first `limit` of them."""
        today = day_of(now)
        # The clock may have been ahead when `since` was found.
        for day in chain([OVERDUE], days(min(since, today), today)):
            path = self._partition(shard, day).before(now + _MICROSECOND)
            async for timer in self.session.iterate(path, consistent=True, limit=limit):
                yield timer
                limit = None if limit is None else limit - 1
            if limit == 0:
                return

    async def next_after(self, shard: int, now: datetime) -> datetime:
        """When to look again: when the next timer of today is due, or the day ends."""
        today = day_of(now)
        found = [
            await self.session.first(self._partition(shard, day).after(now), consistent=True)
            # A process whose clock was ahead may have taken a time to come for one that was past.
            for day in (OVERDUE, today)
        ]
        return min([end_of(today), *(timer.at for timer in found if timer is not None)])

    async def first_day(self, shard: int, since: date, now: datetime) -> date:
        """The first day from `since` on whose partition has timers, or may still get some."""
        for day in days(since, day_of(now)):
            is_closed = now >= end_of(day) + CLOSING
            if not is_closed or await self.session.first(self._partition(shard, day), consistent=True) is not None:
                return day
        return day_of(now)

    async def is_asked_for(self, timer: Timer) -> bool:
        """Whether an item asks for it now."""
        if self._checks is not None:
            return await self._checks.of(timer.occurrence)
        return await self.schedule.finder.is_asked_for(self.session, timer.occurrence)

    async def _are_asked_for(self, occurrences: Sequence[Occurrence]) -> Sequence[bool | BaseException]:
        return await self.schedule.finder.are_asked_for(self.session, occurrences)

    async def done(self, timer: Timer) -> bool:
        """Delete a timer that was handled. False if it was set again meanwhile; then it is due again."""
        return await self._deletions.run(self._delete(timer))

    def _delete(self, timer: Timer) -> Steps[bool]:
        path = timer.key
        members: dict[str, Any] = {
            "TableName": path.table,
            "Key": path.key(),
            "ConditionExpression": _IS_VERSION,
            "ExpressionAttributeNames": {"#version": "version"},
            "ExpressionAttributeValues": {":version": {"N": str(timer.version)}},
        }
        try:
            yield from self._context.send("DeleteItem", members, f"delete {path.entity}")
        except ClientError as error:
            row_of_failed_condition(error)
            return False
        return True

    def _partition(self, shard: int, day: date) -> AccessPath[Timer]:
        return Timer.key(schedule=self.schedule.name, shard=shard, day=day)


def timer_path(schedule: Schedule[Any], occurrence: Occurrence, now: datetime) -> AccessPath[Timer]:
    """Where the timer of an occurrence is set first."""
    return _path(schedule, occurrence, day_of(occurrence.at) if occurrence.at > now else OVERDUE)


def overdue_path(schedule: Schedule[Any], occurrence: Occurrence) -> AccessPath[Timer]:
    return _path(schedule, occurrence, OVERDUE)


def _path(schedule: Schedule[Any], occurrence: Occurrence, day: date) -> AccessPath[Timer]:
    group_id = occurrence.group_id
    shard = int(group_id[:8], 16) % schedule.shards
    return Timer.key(schedule=schedule.name, shard=shard, day=day, at=occurrence.at, group_id=group_id)


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
