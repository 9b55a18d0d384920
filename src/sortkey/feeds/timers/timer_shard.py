"""Handles the timers of one shard, as long as this process has its lease.

What is due is read in batches and divided by group: one call of a group runs at a time, by the order of its timers. A
timer that raised waits while others go on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import Final, NamedTuple

from sortkey.feeds.changes.lease_book import HeldLease
from sortkey.feeds.changes.lease_runner import STORE_PACING
from sortkey.feeds.changes.passing_errors import is_passing
from sortkey.feeds.changes.stopping import stopped_within
from sortkey.feeds.timers.timer_call import TimerCall, Tries
from sortkey.patterns.timer_book import Timer, TimerBook

BATCH: Final = 256
"""Timers that are read at once."""

_logger = logging.getLogger(__name__)


class ShardSettings(NamedTuple):
    lease_seconds: float
    now: Callable[[], float]
    """The monotonic clock."""
    since: date
    """The first day that may have timers, unless the lease knows a later one."""
    parallel: int
    poll: float


class TimerShard:
    def __init__(self, book: TimerBook, lease: HeldLease, call: TimerCall, settings: ShardSettings) -> None:
        self.lease = lease
        self._book = book
        self._call = call
        self._settings = settings
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
        now, moment = self._settings.now(), self._book.now
        self._since = await self._book.first_day(self._shard, self._since, moment)
        self.lease.handled = self._since.isoformat()
        waiting = sum(tries.again > now for tries in self._tries.values())
        limit = BATCH + waiting + len(self._tasks)
        ready: dict[str, list[Timer]] = {}
        async for timer in self._book.due(self._shard, self._since, moment, limit):
            tries = self._tries.get(_key(timer))
            if timer.group_id not in self._tasks and (tries is None or tries.again <= now):
                ready.setdefault(timer.group_id, []).append(timer)
        # Those that have waited longest come first; `popitem` takes the last.
        self._ready = dict(reversed(ready.items()))

    async def _work(self, chain: list[Timer]) -> None:
        try:
            for timer in chain:
                if self._stopping.is_set() or not await self._has_lease():
                    return
                tries = await self._call.call(timer, self._tries.get(_key(timer), Tries()))
                if tries is None:
                    self._tries.pop(_key(timer), None)
                else:
                    self._tries[_key(timer)] = tries
        except Exception as error:
            # The lease could not be asked for; the turn finds out what is the matter.
            if not is_passing(error):
                raise
        finally:
            self._woken.set()

    async def _seconds(self) -> float:
        """Until something may be due."""
        moment = self._book.now
        at = await self._book.next_after(self._shard, moment)
        seconds = min(self._settings.poll, (at - moment).total_seconds())
        # Those of a group that is busy wait until it is done, which ends the sleep.
        again = [tries.again for (_, group), tries in self._tries.items() if group not in self._tasks]
        return max(0.0, min([seconds, *(each - self._settings.now() for each in again)]))

    async def _sleep(self, seconds: float) -> None:
        self._wakes_at = self._book.now + timedelta(seconds=seconds)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()

    async def _has_lease(self) -> bool:
        if self.lease.is_over:
            return False
        if self._settings.now() - self.lease.saved_at >= self._settings.lease_seconds:
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
        await stopped_within(self._stopping, pause)


def _key(timer: Timer) -> tuple[datetime, str]:
    return timer.at, timer.group_id
