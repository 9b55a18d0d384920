"""`TimerCall` calls `on_due` for one timer: it checks that an item still asks for it, and deletes it when it is done.

Every step may be repeated. The timer is deleted last, and only in the version that was read before the check: an item
that asks for the same instant meanwhile sets the timer again, and it stays. A call that has ended is not repeated if
the timer cannot be deleted at once; only the deletion is.

`TimerFailures` tells an outage from a timer that fails alone. Timers do not wait for each other, so the others show it:

* An outage (`outages.py`) is waited for.
* A timer that raised `attempts` times is given up if another call, begun after its last failure but one, has succeeded.
* Otherwise, if `in_a_row` timers have failed since the last success, it is an outage, too. A few calls are tried at a
  time then, with growing pauses, until one succeeds.
* Otherwise there is nothing to compare with, and it is given up.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec

from sortkey.clock import WaitingClock
from sortkey.feeds.shards.blockage import Blockage
from sortkey.feeds.shards.dead_letter import KEPT, REASON_CHARACTERS, TIMER_SHARD, DeadLetter, new_token
from sortkey.feeds.shards.metrics import TimerMetrics
from sortkey.feeds.shards.outages import FailureRule, Verdict, describe
from sortkey.feeds.timers.timers import Timers
from sortkey.model.calls.steps import Pacing
from sortkey.patterns.timer_book import Timer, TimerBook

PACING: Final = Pacing(first_pause=0.2, longest_pause=60.0)
"""Between attempts at a timer."""

_logger = logging.getLogger(__name__)

TimerKey = tuple[datetime, str]


def timer_key(timer: Timer) -> TimerKey:
    return timer.at, timer.group_id


class Tries(NamedTuple):
    """What was tried of one timer."""

    tries: int = 0
    failures: int = 0
    """Those that count: not in outages."""
    again: float = 0.0
    """When to try again, by the monotonic clock."""
    calls: int = 0
    """How many calls had begun, of all timers, when it last failed."""
    handled: int | None = None
    """The version whose call has ended, if only the deletion failed."""


class TimerFailures:
    """Of one schedule in this process."""

    def __init__(self, rule: FailureRule, blockage: Blockage, clock: WaitingClock, pacing: Pacing = PACING) -> None:
        self._rule = rule
        self._blockage = blockage
        self._clock = clock
        self._pacing = pacing
        self._calls = 0
        self._last_good = 0
        """The number of the latest call that succeeded."""
        self._failing: set[TimerKey] = set()
        """Timers that have failed since then."""
        self._given_up = 0
        """The same of those that were given up."""
        self._again = 0.0
        """In an outage: when to begin further calls, by the monotonic clock."""

    def begin(self) -> int:
        """The number of a call that begins."""
        self._calls += 1
        return self._calls

    @property
    def calls(self) -> int:
        return self._calls

    def succeeded(self, call: int) -> None:
        self._last_good = max(self._last_good, call)
        self._failing.clear()
        self._given_up = 0
        self._again = 0.0
        self._blockage.over()

    def is_given_up(self, timer: Timer, before: Tries, call: int, failures: int, error: Exception) -> bool:
        """Whether a timer that has failed so often is given up; otherwise it is tried again."""
        key = timer_key(timer)
        verdict = self._rule.verdict(error)
        if verdict is Verdict.POISON:
            self.left(key)
            return True
        is_alone = self._last_good > (before.calls if before.tries else call)
        if not is_alone:
            self._failing.add(key)
        attempts = self._rule.attempts
        if verdict is Verdict.OUTAGE or attempts is None:
            if not is_alone:
                self._wait(error, trace=verdict is not Verdict.OUTAGE)
            return False
        if failures < attempts:
            return False
        if not is_alone and len(self._failing) + self._given_up >= self._rule.in_a_row:
            self._wait(error, trace=True)
            return False
        self._given_up += not is_alone
        self.left(key)
        return True

    def left(self, key: TimerKey) -> None:
        """A timer is no longer tried, at least not by this process."""
        self._failing.discard(key)
        if not self._failing:
            self._again = 0.0
            self._blockage.over()

    def counts(self, error: Exception) -> bool:
        return self._rule.verdict(error) is not Verdict.OUTAGE

    def parallel(self, most: int) -> int:
        """How many calls of a shard may run at the same time."""
        return min(most, self._rule.in_a_row) if self._blockage.lasts else most

    @property
    def pause(self) -> float:
        """For how many seconds no further call begins."""
        return max(0.0, self._again - self._clock.monotonic()) if self._again else 0.0

    def forget(self) -> None:
        self._blockage.forget()

    def _wait(self, error: Exception, *, trace: bool) -> None:
        if len(self._failing) + self._given_up >= self._rule.in_a_row:
            self._again = self._clock.monotonic() + self._pacing.pause(self._blockage.tries).seconds
        self._blockage.lasts_by(error, trace=trace)


class TimerCall:
    def __init__(
        self,
        timers: Timers[Any],
        book: TimerBook,
        metrics: TimerMetrics,
        clock: WaitingClock,
        sinks: Sequence[Callable[[DeadLetter], Awaitable[None]]],
        failures: TimerFailures,
        pacing: Pacing = PACING,
    ) -> None:
        """Each of `sinks` is called with the dead letters."""
        self.failures = failures
        self._timers = timers
        self._book = book
        self._metrics = metrics
        self._clock = clock
        self._sinks = sinks
        self._pacing = pacing

    async def call(self, timer: Timer, before: Tries) -> Tries | None:
        """None if it is done; otherwise what was tried, to be called with again."""
        number = self.failures.begin()
        try:
            if before.handled != timer.version and not await self._handle(timer, number):
                self._metrics.dropped += await self._book.done(timer)
                self.failures.left(timer_key(timer))
                return None
        except Exception as error:  # noqa: BLE001 - the program's own code may raise anything
            return await self._failed(timer, before, number, error)
        try:
            await self._book.done(timer)
        except Exception as error:  # noqa: BLE001 - what was done is not to be repeated, whatever is the matter
            return self._again(timer, before, error)._replace(handled=timer.version)
        return None

    async def _handle(self, timer: Timer, number: int) -> bool:
        """False if no item asks for it any more."""
        if not await self._book.is_asked_for(timer):
            return False
        due = self._timers.schedule.due(self._book.session, timer.occurrence)
        self._metrics.running += 1
        try:
            await self._timers.on_due(due)
        finally:
            self._metrics.running -= 1
        self._metrics.handled += 1
        self._metrics.late_seconds.count(max(0.0, (self._book.now - timer.at).total_seconds()))
        self.failures.succeeded(number)
        return True

    async def _failed(self, timer: Timer, before: Tries, number: int, error: Exception) -> Tries | None:
        self._metrics.retries += 1
        failures = before.failures + self.failures.counts(error)
        if self.failures.is_given_up(timer, before, number, failures, error):
            try:
                await self._give_up(timer, f"{type(error).__name__}: {error}")
            except Exception as trouble:  # noqa: BLE001 - a sink is the program's own code
                # A timer that is neither handled nor among the dead letters would be lost.
                _logger.warning("%s: cannot write a dead letter: %s", self._timers.name, describe(trouble))
                return self._again(timer, before, trouble)._replace(failures=failures)
            return None
        return self._again(timer, before, error, trace=self.failures.counts(error))._replace(failures=failures)

    def _again(self, timer: Timer, before: Tries, error: Exception, *, trace: bool = False) -> Tries:
        pause = self._pacing.pause(before.tries).seconds
        _logger.warning(
            "%s: %s, due at %s, raised, attempt %d; retry in %.1f s: %s",
            self._timers.name,
            timer.group,
            timer.at.isoformat(),
            before.tries + 1,
            pause,
            describe(error),
            exc_info=error if trace and not before.tries else None,
        )
        return Tries(
            before.tries + 1,
            before.failures,
            self._clock.monotonic() + pause,
            self.failures.calls,
            before.handled,
        )

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
        shard=TIMER_SHARD,
        sequence=timer.occurrence.key(schedule),
        record=msgspec.json.encode(record).decode(),
        reason=reason[:REASON_CHARACTERS],
        at=now,
        expires=now + KEPT,
        token=new_token(),
    )
