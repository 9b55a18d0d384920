"""Runs the timers of one schedule in this process: the feed that sets them, and a worker for each shard of them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from datetime import date, datetime
from typing import Any, Final

from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.changes.lease_book import HeldLease
from sortkey.feeds.changes.lease_runner import LeaseRunner, RunnerSettings
from sortkey.feeds.changes.stream_shards import ShardKey, StreamShard
from sortkey.feeds.timers.metrics import TimerMetrics
from sortkey.feeds.timers.timer_call import TimerCall
from sortkey.feeds.timers.timer_shard import ShardSettings, TimerShard
from sortkey.feeds.timers.timers import Timers
from sortkey.model.calls.change import Change
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.patterns.schedules.timer import Timer, day_of
from sortkey.patterns.schedules.timer_book import TimerBook

WATCH_SECONDS: Final = 0.1
"""Between two looks at the timers of other workers."""
_SHARDS: Final = "timers"


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
        while await self._is_due(now):
            await asyncio.sleep(WATCH_SECONDS)

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
            worker = self.consumers.get(_key(timer.shard))
            if worker is not None:
                worker.wake(timer.at)

    async def _consumer(self, lease: HeldLease) -> TimerShard:
        timers, settings = self.timers, self._settings
        sinks = [sink for sink in (timers.dead_letters, settings.dead_letters) if sink is not None]
        call = TimerCall(timers, self._book, self.metrics, settings.now, sinks)
        return TimerShard(
            self._book,
            lease,
            call,
            ShardSettings(settings.lease_seconds, settings.now, self._since, timers.parallel, timers.poll),
        )

    def _shards(self) -> list[ShardKey]:
        return [_key(shard) for shard in range(self.timers.schedule.shards)]


def _key(shard: int) -> ShardKey:
    return ShardKey(_SHARDS, f"{shard:03}")
