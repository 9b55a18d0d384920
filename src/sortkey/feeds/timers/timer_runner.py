"""Runs the timers of one schedule in this process: the feed that sets them, and a `TimerShard` for each shard of them.

What is due in a shard is read and divided by group: one call of a group runs at a time, by the order of its timers. A
timer that raised waits while others go on.

`TimerCall` calls `on_due` for one timer: it checks that an item still asks for it, and deletes it when it is done.
Every step may be repeated. The timer is deleted last, and only in the version that was read before the check: an item
that asks for the same instant meanwhile sets the timer again, and it stays.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, NamedTuple

import msgspec

from sortkey.clock import WaitingClock
from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.shards.dead_letter import KEPT, REASON_CHARACTERS, DeadLetter
from sortkey.feeds.shards.lease_runner import STORE_PACING, LeaseRunner, RunnerSettings
from sortkey.feeds.shards.leases import HeldLease, ShardKey, StreamShard
from sortkey.feeds.shards.metrics import TimerMetrics
from sortkey.feeds.shards.passing_errors import is_passing
from sortkey.feeds.timers.timers import Timers
from sortkey.model.calls.change import Change
from sortkey.model.calls.steps import Pacing
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.patterns.timer_book import Timer, TimerBook, day_of

PACING: Final = Pacing(first_pause=0.2, longest_pause=60.0)
"""Between attempts at a timer."""
READ: Final = 256
"""Timers that are read at once."""
WATCH_SECONDS: Final = 0.1
"""Between two looks at the timers of other workers."""
_SHARDS: Final = "timers"

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
        clock: WaitingClock,
        sinks: Sequence[Callable[[DeadLetter], Awaitable[None]]],
        pacing: Pacing = PACING,
    ) -> None:
        """Each of `sinks` is called with the dead letters."""
        self._timers = timers
        self._book = book
        self._metrics = metrics
        self._clock = clock
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
        return Tries(before.tries + 1, failures, self._clock.monotonic() + pause)

    async def _give_up(self, timer: Timer, reason: str) -> None:
        at = self._book.now.replace(microsecond=0)
        letter = dead_letter(self._timers.name, timer, reason, at)
        await self._book.session.put(letter)
        for sink in self._sinks:
            await sink(letter)
        await self._book.done(timer)
        self._metrics.dead += 1
        _logger.error("%s: gave up %s, due at %s: %s", self._timers.name, timer.group, timer.at.isoformat(), reason)


class ShardSettings(NamedTuple):
    lease_seconds: float
    clock: WaitingClock
    since: date
    """The first day that may have timers, unless the lease knows a later one."""
    parallel: int
    poll: float
    done: Callable[[], None]
    """Is called when a call has ended."""


class TimerShard:
    def __init__(self, book: TimerBook, lease: HeldLease, call: TimerCall, settings: ShardSettings) -> None:
        self.lease = lease
        self._book = book
        self._call = call
        self._settings = settings
        self._clock = settings.clock
        self._shard = int(lease.key.shard)
        self._since = date.fromisoformat(lease.handled) if lease.handled else settings.since
        self._ready: dict[str, list[Timer]] = {}
        """What was read and is not yet begun, by group."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        """The calls that were begun, by group."""
        self._tries: dict[tuple[datetime, str], Tries] = {}
        """What was tried of timers that raised, by their times and groups."""
        self._wakes_at: datetime | None = None
        """Until when it sleeps; None while it works."""
        self._stopping = asyncio.Event()
        self._woken = asyncio.Event()
        self._troubles = 0

    def stop(self) -> None:
        """Calls that are under way are finished."""
        self._stopping.set()
        self._woken.set()

    def wake(self, at: datetime) -> None:
        """A timer was set for this instant."""
        if self._wakes_at is None or at < self._wakes_at:
            self._woken.set()

    async def run(self) -> None:
        """Until the lease is lost, or `stop`."""
        try:
            while not self._stopping.is_set():
                try:
                    if not await self._has_lease():
                        break
                    await self._take_turn()
                    self._troubles = 0
                except Exception as error:
                    if not is_passing(error):
                        raise
                    await self._pause(error)
            self._ready.clear()
            if self._tasks:
                await asyncio.wait(self._tasks.values())
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _take_turn(self) -> None:
        self._woken.clear()
        self._wakes_at = None
        for group in [group for group, task in self._tasks.items() if task.done()]:
            self._tasks.pop(group).result()
        if not self._ready:
            await self._read()
        while self._ready and len(self._tasks) < self._settings.parallel:
            group, chain = self._ready.popitem()
            self._tasks[group] = asyncio.create_task(self._work(chain))
        if len(self._tasks) >= self._settings.parallel or self._ready:
            await self._sleep(self._settings.poll)
        else:
            await self._sleep(await self._seconds())

    async def _read(self) -> None:
        """What is due, is not under way, and does not wait for its next attempt."""
        now, moment = self._clock.monotonic(), self._book.now
        self._since = await self._book.first_day(self._shard, self._since, moment)
        self.lease.handled = self._since.isoformat()
        waiting = sum(tries.again > now for tries in self._tries.values())
        limit = READ + waiting + len(self._tasks)
        ready: dict[str, list[Timer]] = {}
        async for timer in self._book.due(self._shard, self._since, moment, limit):
            tries = self._tries.get(_timer_key(timer))
            if timer.group_id not in self._tasks and (tries is None or tries.again <= now):
                ready.setdefault(timer.group_id, []).append(timer)
        # Those that have waited longest come first; `popitem` takes the last.
        self._ready = dict(reversed(ready.items()))

    async def _work(self, chain: list[Timer]) -> None:
        try:
            for timer in chain:
                if self._stopping.is_set() or not await self._has_lease():
                    return
                tries = await self._call.call(timer, self._tries.get(_timer_key(timer), Tries()))
                if tries is None:
                    self._tries.pop(_timer_key(timer), None)
                else:
                    self._tries[_timer_key(timer)] = tries
        except Exception as error:
            # The lease could not be asked for; the turn finds out what is the matter.
            if not is_passing(error):
                raise
        finally:
            self._woken.set()
            self._settings.done()

    async def _seconds(self) -> float:
        """Until something may be due."""
        moment = self._book.now
        at = await self._book.next_after(self._shard, moment)
        seconds = min(self._settings.poll, (at - moment).total_seconds())
        # Those of a group that is busy wait until it is done, which ends the sleep.
        again = [tries.again for (_, group), tries in self._tries.items() if group not in self._tasks]
        return max(0.0, min([seconds, *(each - self._clock.monotonic() for each in again)]))

    async def _sleep(self, seconds: float) -> None:
        self._wakes_at = self._book.now + timedelta(seconds=seconds)
        await self._clock.wait(self._woken, seconds)

    async def _has_lease(self) -> bool:
        if self.lease.is_over:
            return False
        if self._clock.monotonic() - self.lease.saved_at >= self._settings.lease_seconds:
            return await self.lease.save()
        return True

    async def _pause(self, error: Exception) -> None:
        pause = STORE_PACING.pause(self._troubles).seconds
        self._troubles += 1
        _logger.warning(
            "%s: the timers of shard %d cannot be read now; retry in %.1f s: %s",
            self._book.schedule.name,
            self._shard,
            pause,
            " ".join(str(error).split()),
        )
        await self._clock.wait(self._stopping, pause)


class TimerRunner(LeaseRunner[TimerShard]):
    def __init__(self, session: AsyncSession, timers: Timers[Any], me: str, settings: RunnerSettings) -> None:
        self.timers = timers
        self.metrics = TimerMetrics(timers.name, lambda: len(self.consumers))
        super().__init__(session, timers.name, timers.leases, me, settings, self.metrics)
        self.feed: ChangeFeed[Any] = ChangeFeed(timers.name, timers.schedule.source.cls, self._on_changes)
        """Sets the timers; it is to be run, too."""
        self._book = TimerBook(session, timers.schedule)
        self._since: date = day_of(self._book.now)

    async def start(self) -> None:
        """Before the feed starts, so that the day from which on there may be timers is known to all workers."""
        start, _ = await self.book.started(self._book.now)
        # Set when the schedule was first run, or restored.
        self._since = day_of(start.since or self._book.now)
        await self.book.create(self._shards())
        await self._round()

    async def list_shards(self) -> list[list[StreamShard]]:
        # A schedule that had more shards has leases of them, and may still have timers in them.
        known = {*self._shards(), *await self.book.leases()}
        return [[StreamShard(key, None, False) for key in sorted(known)]]

    async def caught_up(self) -> None:
        """Wait until what is due now was handled, by this process or by others."""
        now = self._book.now
        self.changed.clear()
        while await self._is_due(now):
            await self.watch(WATCH_SECONDS)
            self.changed.clear()

    async def _is_due(self, now: datetime) -> bool:
        for key, lease in (await self.book.leases()).items():
            since = date.fromisoformat(lease.checkpoint) if lease.checkpoint else self._since
            async for _ in self._book.due(int(key.shard), since, now, 1):
                return True
        return False

    async def _on_changes(self, changes: Sequence[Change[Any]]) -> None:
        self._wake(await self._book.on_changes(changes))

    def _wake(self, timers: Collection[Timer]) -> None:
        for timer in timers:
            worker = self.consumers.get(_shard_key(timer.shard))
            if worker is not None:
                worker.wake(timer.at)

    async def _consumer(self, lease: HeldLease) -> TimerShard:
        timers, settings = self.timers, self._settings
        sinks = [sink for sink in (timers.dead_letters, settings.dead_letters) if sink is not None]
        call = TimerCall(timers, self._book, self.metrics, settings.clock, sinks)
        of_shard = ShardSettings(
            settings.lease_seconds, settings.clock, self._since, timers.parallel, timers.poll, self.changed.set
        )
        return TimerShard(self._book, lease, call, of_shard)

    def _shards(self) -> list[ShardKey]:
        return [_shard_key(shard) for shard in range(self.timers.schedule.shards)]


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


def _shard_key(shard: int) -> ShardKey:
    return ShardKey(_SHARDS, f"{shard:03}")


def _timer_key(timer: Timer) -> tuple[datetime, str]:
    return timer.at, timer.group_id
