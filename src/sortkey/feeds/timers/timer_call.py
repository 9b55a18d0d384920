"""Calls `on_due` for one timer: checks that an item still asks for it, and deletes it when it is done.

Every step may be repeated. The timer is deleted last, and only in the version that was read before the check: an item
that asks for the same instant meanwhile sets the timer again, and it stays.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec

from sortkey.feeds.changes.dead_letter import KEPT, REASON_CHARACTERS, DeadLetter
from sortkey.feeds.changes.passing_errors import is_passing
from sortkey.feeds.timers.metrics import TimerMetrics
from sortkey.feeds.timers.timers import Timers
from sortkey.model.calls.steps import Pacing
from sortkey.patterns.schedules.timer import Timer
from sortkey.patterns.schedules.timer_book import TimerBook

PACING: Final = Pacing(first_pause=0.2, longest_pause=60.0)
"""Between attempts at a timer."""

_logger = logging.getLogger(__name__)


class Tries(NamedTuple):
    """What was tried of one timer."""

    tries: int = 0
    failures: int = 0
    """Those that count: not for errors of the store."""
    again: float = 0.0
    """When to try again, by the monotonic clock."""


class TimerCall:
    def __init__(
        self,
        timers: Timers[Any],
        book: TimerBook,
        metrics: TimerMetrics,
        now: Callable[[], float],
        sinks: Sequence[Callable[[DeadLetter], Awaitable[None]]],
        pacing: Pacing = PACING,
    ) -> None:
        """`now` is the monotonic clock; each of `sinks` is called with the dead letters."""
        self._timers = timers
        self._book = book
        self._metrics = metrics
        self._now = now
        self._sinks = sinks
        self._pacing = pacing

    async def call(self, timer: Timer, before: Tries) -> Tries | None:
        """None if it is done; otherwise what was tried, to be called with again."""
        try:
            await self._handle(timer)
        except Exception as error:  # noqa: BLE001 - the program's own code may raise anything
            return await self._failed(timer, before, error)
        return None

    async def _handle(self, timer: Timer) -> None:
        if not await self._book.is_asked_for(timer):
            self._metrics.dropped += await self._book.done(timer)
            return
        due = self._timers.schedule.due(self._book.session, timer.occurrence)
        self._metrics.running += 1
        try:
            await self._timers.on_due(due)
        finally:
            self._metrics.running -= 1
        self._metrics.handled += 1
        self._metrics.late_seconds.count((self._book.now - timer.at).total_seconds())
        await self._book.done(timer)

    async def _failed(self, timer: Timer, before: Tries, error: Exception) -> Tries | None:
        self._metrics.retries += 1
        failures = before.failures + (not is_passing(error))
        attempts = self._timers.attempts
        if attempts is not None and failures >= attempts:
            try:
                await self._give_up(timer, f"{type(error).__name__}: {error}")
            except Exception as trouble:
                # A timer that is neither handled nor among the dead letters would be lost.
                _logger.warning("%s: cannot write a dead letter", self._timers.name, exc_info=True)
                error = trouble
            else:
                return None
        pause = self._pacing.pause(before.tries).seconds
        _logger.warning(
            "%s: attempt %d at %s, due at %s, raised; retry in %.1f s",
            self._timers.name,
            before.tries + 1,
            timer.group,
            timer.at.isoformat(),
            pause,
            exc_info=error,
        )
        return Tries(before.tries + 1, failures, self._now() + pause)

    async def _give_up(self, timer: Timer, reason: str) -> None:
        at = self._book.now.replace(microsecond=0)
        letter = dead_letter(self._timers.name, timer, reason, at)
        await self._book.session.put(letter)
        for sink in self._sinks:
            await sink(letter)
        await self._book.done(timer)
        self._metrics.dead += 1
        _logger.error("%s: gave up %s, due at %s: %s", self._timers.name, timer.group, timer.at.isoformat(), reason)


def dead_letter(schedule: str, timer: Timer, reason: str, now: datetime) -> DeadLetter:
    """A timer among the dead letters; its record has the group and the instant."""
    record = {"schedule": schedule, "group": msgspec.Raw(timer.group.encode()), "at": timer.at.astimezone(UTC)}
    return DeadLetter(
        feed=schedule,
        shard="timers",
        sequence=timer.occurrence.key(schedule),
        record=msgspec.json.encode(record).decode(),
        reason=reason[:REASON_CHARACTERS],
        at=now,
        expires=now + KEPT,
    )
