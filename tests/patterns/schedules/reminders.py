"""A table of reminders, each with its time, and a clock that the tests move."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import sortkey as sk
from sortkey.clock import ManualClock

REMINDERS = sk.Table("schedule-reminders", stream="NEW_AND_OLD_IMAGES")

NOON = datetime(2050, 8, 24, 12, tzinfo=UTC)
"""Not in the past: the store deletes dead letters that have expired by the machine's clock."""
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


class Reminder(sk.Item, table=REMINDERS):
    user: str
    number: int
    at: datetime | None = None
    text: str = ""
    active: bool = True

    key = sk.Key("USER#{user}", "REMINDER#{number:06}")


def clock_at(moment: datetime) -> ManualClock:
    return ManualClock(moment.timestamp())


@asynccontextmanager
async def opened(url: str, clock: ManualClock | None = None) -> AsyncIterator[sk.AsyncSession]:
    """A session with the table."""
    async with sk.async_connect(url, tables=[REMINDERS], clock=clock) as db:
        await db.create_tables()
        yield db


def inserted(new: Reminder) -> sk.Change[Reminder]:
    return sk.Change("INSERT", None, new, new.key.key(), "1", NOON)


def modified(old: Reminder, new: Reminder) -> sk.Change[Reminder]:
    return sk.Change("MODIFY", old, new, new.key.key(), "1", NOON)


def removed(old: Reminder) -> sk.Change[Reminder]:
    return sk.Change("REMOVE", old, None, old.key.key(), "1", NOON)
