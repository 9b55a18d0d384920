"""`sk.feeds.Timers`: a schedule and its handler, before a store is open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime
from typing import Any, Final, Generic, TypeVar

from sortkey.clock import SystemClock
from sortkey.feeds.shards.dead_letter import DEAD_LETTERS, DeadLetter
from sortkey.feeds.shards.leases import FEEDS, NOBODY, FeedStart, LeaseBook, ShardLease
from sortkey.feeds.shards.outages import ATTEMPTS, IN_A_ROW, ErrorNames, failure_rule
from sortkey.model.calls.arguments import require_async
from sortkey.model.errors import DeclarationError
from sortkey.model.items.item import Item
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of
from sortkey.patterns.schedules import Due, Schedule
from sortkey.patterns.timer_book import NO_ORIGIN, TIMERS, TimerBook, asked_in_table, day_of

ItemT = TypeVar("ItemT", bound=Item)

POLL_SECONDS: Final = 5.0
PARALLEL: Final = 16

_DAY: Final = len("2026-08-24")
_EVER: Final = datetime.min.replace(tzinfo=UTC)


class Timers(Generic[ItemT]):
    """Calls `on_due` when the time of a schedule's items has come, at least once, and never before.

        async def on_due(due: sk.patterns.Due[Reminder]) -> None:
            async for reminder in due.items():
                print(reminder.text)

        timers = sk.feeds.Timers(reminders, on_due)

    `sk.feeds.Follower` runs it beside change feeds, in any number of processes. One of them handles a group at a time;
    if it dies, another one does. What was due while nobody ran is handled late.

    A call that raises is tried again, with longer and longer pauses; one that raised `attempts` times while others
    succeed goes to the dead letters, and `dead_letters`, if given, is called with it too. Outages are waited for.
    `attempts`, `in_a_row`, `outages` and `poison` are as for `sk.feeds.ChangeFeed`.
    Up to `parallel` calls of each shard run at the same time. A worker sleeps until the next timer is due. It notices
    at once what its own process schedules, and after `poll` seconds at most what others do.
    """

    def __init__(
        self,
        schedule: Schedule[ItemT],
        on_due: Callable[[Due[ItemT]], Awaitable[None]],
        *,
        attempts: int | None = ATTEMPTS,
        in_a_row: int = IN_A_ROW,
        outages: ErrorNames = (),
        poison: ErrorNames = (),
        parallel: int = PARALLEL,
        poll: float = POLL_SECONDS,
        dead_letters: Callable[[DeadLetter], Awaitable[None]] | None = None,
    ) -> None:
        given: Any = schedule
        if not isinstance(given, Schedule):
            raise DeclarationError(f"sk.feeds.Timers takes a schedule, of sk.patterns.schedule, not {given!r}")
        self.schedule = schedule
        self.on_due = on_due
        self.rule = failure_rule(f"timers {schedule.name}", attempts, in_a_row, outages, poison)
        self.parallel = parallel
        self.poll = poll
        self.dead_letters = dead_letters
        calls: Any = parallel
        if not isinstance(calls, int) or calls < 1:
            raise DeclarationError(f"timers {self.name}: parallel is a number from 1 on, not {parallel!r}")
        require_async(f"timers {self.name}: on_due", on_due)
        if dead_letters is not None:
            require_async(f"timers {self.name}: dead_letters", dead_letters)
        seconds: Any = poll
        if not isinstance(seconds, (int, float)) or not seconds > 0:
            raise DeclarationError(f"timers {self.name}: poll is a number of seconds above 0, not {poll!r}")

    async def restore(self, session: AsyncSession) -> int:
        """Set timers for all items of the table that ask for one; returns their number. For items that a feed does not
        see: those that are more than a day old when the schedule is run for the first time, or changed while nobody ran
        it for more than a day. Reads the whole table. Items in the past that still match are handled again."""
        book = await book_of(self, session)
        number = 0
        async for part in asked_in_table(self.schedule, session):
            number += len(await book.set(dict.fromkeys(part, NO_ORIGIN)))
        return number

    @property
    def leases(self) -> str:
        """The name under which the leases of its workers are kept."""
        return f"{self.name}:timers"

    @property
    def name(self) -> str:
        """That of the schedule."""
        return self.schedule.name

    def __repr__(self) -> str:
        return f"<timers of {self.schedule!r}>"


async def book_of(timers: Timers[Any], session: AsyncSession) -> TimerBook:
    """To set timers in, apart from the workers. Creates the tables."""
    await session.create_tables(FEEDS, DEAD_LETTERS, TIMERS)
    leases = LeaseBook(session, timers.leases, NOBODY, SystemClock())
    start, _ = await leases.started(context_of(session).moment)

    async def since() -> dict[int, date]:
        return await days_passed(leases, timers.schedule.shards, start)

    return TimerBook(session, timers.schedule, since)


async def days_passed(leases: LeaseBook, shards: int, start: FeedStart) -> dict[int, date]:
    """From which day on each shard is read, or will be."""
    first = day_of(start.since or _EVER)
    days = dict.fromkeys(range(shards), first)
    for key, lease in (await leases.leases()).items():
        days[int(key.shard)] = date.fromisoformat(lease.checkpoint[-_DAY:]) if lease.checkpoint else first
    return days


def day_read(lease: ShardLease, start: FeedStart) -> date:
    """From which day on a shard is read. By default it is the day on which the schedule was first run, or restored."""
    return date.fromisoformat(lease.checkpoint[:_DAY]) if lease.checkpoint else day_of(start.since or _EVER)


def announced(since: date, first: date) -> str:
    """What a worker saves that reads from `since` on, and will read from `first` on."""
    return f"{since.isoformat()}/{first.isoformat()}"
