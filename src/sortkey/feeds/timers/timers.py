"""`sk.feeds.Timers`: a schedule and its handler, before a store is open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, Generic, TypeVar

from sortkey.clock import SystemClock
from sortkey.feeds.changes.change_feed import ATTEMPTS
from sortkey.feeds.shards.dead_letter import DEAD_LETTERS, DeadLetter
from sortkey.feeds.shards.leases import FEEDS, NOBODY, LeaseBook
from sortkey.model.errors import DeclarationError
from sortkey.model.items.item import Item
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.patterns.schedules import Due, Schedule
from sortkey.patterns.timer_book import TIMERS, TimerBook, asked_in_table

ItemT = TypeVar("ItemT", bound=Item)

POLL_SECONDS: Final = 5.0
PARALLEL: Final = 16


class Timers(Generic[ItemT]):
    """Calls `on_due` when the time of a schedule's items has come, at least once, and never before.

        async def on_due(due: sk.patterns.Due[Reminder]) -> None:
            async for reminder in due.items():
                print(reminder.text)

        timers = sk.feeds.Timers(reminders, on_due)

    `sk.feeds.Follower` runs it beside change feeds, in any number of processes. One of them handles a group at a time;
    if it dies, another one does. What was due while nobody ran is handled late.

    A call that raises is tried again, with longer and longer pauses; one that raised `attempts` times goes to the dead
    letters, and `dead_letters`, if given, is called with it too. With `attempts=None` it is tried for ever. Errors of
    the store and the network do not count.
    Up to `parallel` calls of each shard run at the same time. A worker sleeps until the next timer is due. It notices
    at once what its own process schedules, and after `poll` seconds at most what others do.
    """

    def __init__(
        self,
        schedule: Schedule[ItemT],
        on_due: Callable[[Due[ItemT]], Awaitable[None]],
        *,
        attempts: int | None = ATTEMPTS,
        parallel: int = PARALLEL,
        poll: float = POLL_SECONDS,
        dead_letters: Callable[[DeadLetter], Awaitable[None]] | None = None,
    ) -> None:
        given: Any = schedule
        if not isinstance(given, Schedule):
            raise DeclarationError(f"sk.feeds.Timers takes a schedule, of sk.patterns.schedule, not {given!r}")
        self.schedule = schedule
        self.on_due = on_due
        self.attempts = attempts
        self.parallel = parallel
        self.poll = poll
        self.dead_letters = dead_letters
        for what, number in (("attempts", attempts), ("parallel", parallel)):
            if not (number is None and what == "attempts") and (not isinstance(number, int) or number < 1):
                raise DeclarationError(f"timers {self.name}: {what} is a number from 1 on, not {number!r}")
        seconds: Any = poll
        if not isinstance(seconds, (int, float)) or not seconds > 0:
            raise DeclarationError(f"timers {self.name}: poll is a number of seconds above 0, not {poll!r}")

    async def restore(self, session: AsyncSession) -> int:
        """Set timers for all items of the table that ask for one; returns their number. For items that a feed does not
        see: those that are more than a day old when the schedule is run for the first time, or changed while nobody ran
        it for more than a day. Reads the whole table. Items in the past that still match are handled again."""
        await session.create_tables(FEEDS, DEAD_LETTERS, TIMERS)
        book = TimerBook(session, self.schedule)
        await LeaseBook(session, self.leases, NOBODY, SystemClock()).started(book.now)
        number = 0
        async for part in asked_in_table(self.schedule, session):
            number += len(await book.set(part))
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
