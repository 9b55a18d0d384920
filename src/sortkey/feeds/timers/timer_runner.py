"""Runs the timers of one schedule in this process: the feed that sets them, and a `TimerShard` for each shard of them.

What is due in a shard is read and divided by group: one call of a group runs at a time, by the order of its timers. A
timer that raised waits while others go on.

A change that is delivered again sets its timer again. If that were possible after the timer was handled, it would be
handled twice. So a timer is called only when the feed has saved that it has handled the change: only calls that are
under way when a process dies can repeat. The feed saves after each batch, so this takes one write. If it takes longer
than three lease times, for example because the stream has trimmed the change, the timer is called nevertheless.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final, NamedTuple

from sortkey.clock import WaitingClock
from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.shards.blockage import Blockage
from sortkey.feeds.shards.lease_runner import STORE_PACING, LeaseRunner, RunnerSettings
from sortkey.feeds.shards.leases import SHARD_END, FeedStart, HeldLease, LeaseBook, ShardKey, StreamShard
from sortkey.feeds.shards.metrics import TimerMetrics
from sortkey.feeds.shards.outages import is_outage
from sortkey.feeds.timers.timer_call import TimerCall, TimerFailures, TimerKey, Tries, timer_key
from sortkey.feeds.timers.timers import Timers, announced, day_read, days_passed
from sortkey.model.calls.change import Change, padded
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.patterns.timer_book import Timer, TimerBook

READ: Final = 256
"""Timers that are read at once."""
WATCH_SECONDS: Final = 0.1
"""Between two looks at the timers of other workers, and at the feed of another process."""
PATIENCE: Final = 3
"""Lease times that a timer waits for the feed to save its change."""
_SHARDS: Final = "timers"


class SavedChanges:
    """Up to where the feed of a schedule has saved what it handled, by any process."""

    def __init__(self, leases: LeaseBook, patience: float, clock: WaitingClock, saved: dict[str, str]) -> None:
        """`leases` are those of the feed, and `saved` padded sequence numbers, by shard, for all shards of timers."""
        self._leases = leases
        self._patience = patience
        self._clock = clock
        self._saved = saved
        self._first_seen: dict[TimerKey, float] = {}
        """When timers were first found whose change was not saved."""

    async def split(self, timers: Sequence[Timer]) -> tuple[list[Timer], bool]:
        """Those that can be called, and whether others wait."""
        if all(map(self._has, timers)):
            self._first_seen.clear()
            return list(timers), False
        leases = await self._leases.leases()
        known = {key.shard for key in leases}
        for key, lease in leases.items():
            if lease.has_ended:
                known.discard(key.shard)
            elif lease.checkpoint:
                self._saved[key.shard] = padded(lease.checkpoint)
        now = self._clock.monotonic()
        # A shard that has ended, or has no lease any more, delivers nothing again.
        waiting = [each for each in timers if not self._has(each) and each.change_shard in known]
        self._first_seen = {timer_key(each): self._first_seen.get(timer_key(each), now) for each in waiting}
        late = {key for key, since in self._first_seen.items() if now - since >= self._patience}
        held = {timer_key(each) for each in waiting} - late
        return [each for each in timers if timer_key(each) not in held], bool(held)

    def _has(self, timer: Timer) -> bool:
        return timer.change_sequence <= self._saved.get(timer.change_shard, "")


class ShardSettings(NamedTuple):
    lease_seconds: float
    clock: WaitingClock
    since: date
    """The first day that may have timers."""
    parallel: int
    poll: float
    done: Callable[[], None]
    """Is called when nothing that was read is left to begin."""
    blockage: Blockage
    """Of the requests for its timers."""


class TimerShard:
    def __init__(
        self, book: TimerBook, lease: HeldLease, call: TimerCall, saved: SavedChanges, settings: ShardSettings
    ) -> None:
        self.lease = lease
        self._saved = saved
        self._book = book
        self._call = call
        self._settings = settings
        self._clock = settings.clock
        self._shard = int(lease.key.shard)
        self._since = settings.since
        self._ready: dict[str, list[Timer]] = {}
        """What was read and is not yet begun, by group."""
        self._busy: set[str] = set()
        """The groups whose calls were begun."""
        self._ended: set[str] = set()
        """Those of them whose calls have ended. What was read meanwhile may still have their timers."""
        self._workers: set[asyncio.Task[None]] = set()
        """Each calls one group after the other."""
        self._tries: dict[TimerKey, Tries] = {}
        """What was tried of timers that raised, by their times and groups."""
        self._wakes_at: datetime | None = None
        """Until when it sleeps; None while it works."""
        self._stopping = asyncio.Event()
        self._woken = asyncio.Event()
        self._looked = self._clock.monotonic(), book.now
        """When it last read what was due, by the monotonic clock and by the session's."""
        self._waits_for_feed = False
        """Whether a timer is due whose change the feed has not saved yet."""
        self._blockage = settings.blockage

    def stop(self) -> None:
        """Calls that are under way are finished."""
        self._stopping.set()
        self._woken.set()

    def wake(self, at: datetime | None) -> None:
        """A timer was set for this instant; None for one that is due."""
        if self._wakes_at is None or at is None or at < self._wakes_at:
            self._woken.set()

    async def run(self) -> None:
        """Until the lease is lost, or `stop`."""
        try:
            while not self._stopping.is_set():
                try:
                    if not await self._has_lease():
                        break
                    await self._take_turn()
                    self._blockage.over()
                except Exception as error:
                    if not is_outage(error):
                        raise
                    await self._pause(error)
            self._ready.clear()
            if self._workers:
                await asyncio.wait(self._workers)
        finally:
            self._blockage.forget()
            for key in self._tries:
                self._call.failures.left(key)
            for worker in self._workers:
                worker.cancel()
            await asyncio.gather(*self._workers, return_exceptions=True)

    async def _take_turn(self) -> None:
        self._woken.clear()
        if self._stopping.is_set():
            # While the lease was renewed; the sleep would not notice.
            return
        self._wakes_at = None
        for worker in [worker for worker in self._workers if worker.done()]:
            self._workers.remove(worker)
            worker.result()
        self._busy -= self._ended
        self._ended.clear()
        failures = self._call.failures
        if failures.pause:
            # What was read before the outage may be out of date after it.
            self._ready.clear()
            await self._sleep(failures.pause)
            return
        if not self._ready:
            await self._read()
        parallel = failures.parallel(self._settings.parallel)
        for _ in range(min(len(self._ready), parallel - len(self._workers))):
            self._workers.add(asyncio.create_task(self._work()))
        if len(self._workers) >= parallel or self._ready:
            await self._sleep(self._settings.poll)
        else:
            await self._sleep(await self._seconds())

    async def _read(self) -> None:
        """What is due, is not under way, and does not wait for its next attempt."""
        now, moment = self._looked = self._clock.monotonic(), self._book.now
        await self._pass_days(moment)
        waiting = sum(tries.again > now for tries in self._tries.values())
        limit = READ + waiting + len(self._busy)
        found = [
            timer
            async for timer in self._book.due(self._shard, self._since, moment, limit)
            if timer.group_id not in self._busy and self._tries.get(timer_key(timer), Tries()).again <= now
        ]
        found, self._waits_for_feed = await self._saved.split(found)
        ready: dict[str, list[Timer]] = {}
        for timer in found:
            ready.setdefault(timer.group_id, []).append(timer)
        for chain in ready.values():
            chain.sort(key=timer_key)
        # Those that have waited longest come first; `popitem` takes the last.
        self._ready = dict(reversed(ready.items()))

    async def _pass_days(self, moment: datetime) -> None:
        """See `TimerBook`: a day is passed if it is empty after it was saved that it is passed."""
        first = await self._book.first_day(self._shard, self._since, moment)
        if first > self._since:
            self.lease.handled = announced(self._since, first)
            if not await self.lease.save():
                return
            first = await self._book.first_day(self._shard, self._since, moment)
        self._since = first
        self.lease.handled = first.isoformat()

    async def _work(self) -> None:
        try:
            while self._ready and len(self._workers) <= self._call.failures.parallel(self._settings.parallel):
                group, chain = self._ready.popitem()
                self._busy.add(group)
                try:
                    if not await self._call_all(chain):
                        return
                finally:
                    self._ended.add(group)
        except Exception as error:
            # The lease could not be asked for; the turn finds out what is the matter.
            if not is_outage(error):
                raise
        finally:
            self._woken.set()
            self._settings.done()

    async def _call_all(self, chain: list[Timer]) -> bool:
        """False if no further calls may begin now."""
        for timer in chain:
            if self._stopping.is_set() or not await self._has_lease() or self._call.failures.pause:
                return False
            tries = await self._call.call(timer, self._tries.get(timer_key(timer), Tries()))
            if tries is None:
                self._tries.pop(timer_key(timer), None)
            else:
                self._tries[timer_key(timer)] = tries
        return True

    async def _seconds(self) -> float:
        """Until something may be due."""
        # What has come due since it looked is not in what it found.
        began, moment = self._looked
        at = await self._book.next_after(self._shard, moment)
        seconds = min(self._settings.poll, (at - moment).total_seconds())
        if self._waits_for_feed:
            seconds = min(seconds, WATCH_SECONDS)
        # Those of a group that is busy wait until it is done, which ends the sleep.
        again = [tries.again for (_, group), tries in self._tries.items() if group not in self._busy]
        until = min([began + seconds, *again])
        return max(0.0, until - self._clock.monotonic())

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
        pause = STORE_PACING.pause(self._blockage.tries).seconds
        self._blockage.lasts_by(error)
        await self._clock.wait(self._stopping, pause)


class TimerRunner(LeaseRunner[TimerShard]):
    def __init__(self, session: AsyncSession, timers: Timers[Any], me: str, settings: RunnerSettings) -> None:
        self.timers = timers
        self.metrics = TimerMetrics(timers.name, lambda: len(self.consumers))
        super().__init__(session, timers.name, timers.leases, me, settings, self.metrics)
        self.feed: ChangeFeed[Any] = ChangeFeed(timers.name, timers.schedule.source.cls, self._on_changes)
        """Sets the timers; it is to be run, too."""
        self._book = TimerBook(session, timers.schedule, self._days_passed)
        self._start = FeedStart(feed=timers.leases, since=self._book.now)
        self._saved: dict[str, str] = {}
        """Up to where the feed has saved what it handled: padded sequence numbers, by shard of the stream."""
        self._failures = TimerFailures(
            timers.rule, Blockage(timers.name, self.metrics.blockages, settings.clock), settings.clock
        )
        self._unsaved: list[Timer] = []
        """Timers that were set, and whose changes the feed has not saved yet."""

    async def start(self) -> None:
        """Before the feed starts, so that the day from which on there may be timers is known to all workers."""
        # Set when the schedule was first run, or restored.
        self._start, _ = await self.book.started(self._book.now)
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
            for worker in self.consumers.values():
                # A test may have moved the machine's clock, while the worker waits for the time that it was.
                worker.wake(None)
            await self.watch(WATCH_SECONDS)
            self.changed.clear()

    async def _is_due(self, now: datetime) -> bool:
        leases = await self.book.leases()
        shards = (self._has_due(int(key.shard), day_read(lease, self._start), now) for key, lease in leases.items())
        return any(await asyncio.gather(*shards))

    async def _has_due(self, shard: int, since: date, now: datetime) -> bool:
        async for _ in self._book.due(shard, since, now, 1):
            return True
        return False

    def on_saved(self, shard: str, sequence: str) -> None:
        """The feed has saved what it handled of a shard of its stream."""
        has_ended = sequence == SHARD_END
        if not has_ended:
            self._saved[shard] = padded(sequence)
        timers, self._unsaved = self._unsaved, []
        for timer in timers:
            # A lease that is renewed while a batch is handled saves what came before the batch.
            if not has_ended and timer.change_shard == shard and timer.change_sequence > self._saved[shard]:
                self._unsaved.append(timer)
                continue
            worker = self.consumers.get(_shard_key(timer.shard))
            if worker is not None:
                worker.wake(timer.at)

    async def finish(self) -> None:
        await super().finish()
        self._failures.forget()

    async def _on_changes(self, changes: Sequence[Change[Any]]) -> None:
        self._unsaved += await self._book.on_changes(changes)

    async def _days_passed(self) -> dict[int, date]:
        return await days_passed(self.book, self.timers.schedule.shards, self._start)

    async def _consumer(self, lease: HeldLease) -> TimerShard:
        timers, settings = self.timers, self._settings
        sinks = [sink for sink in (timers.dead_letters, settings.dead_letters) if sink is not None]
        call = TimerCall(timers, self._book, self.metrics, settings.clock, sinks, self._failures)
        of_shard = ShardSettings(
            settings.lease_seconds,
            settings.clock,
            day_read(lease.start, self._start),
            timers.parallel,
            timers.poll,
            self.changed.set,
            Blockage(f"{timers.name}: timers of shard {lease.key.shard}", self.metrics.blockages, settings.clock),
        )
        saved = SavedChanges(
            LeaseBook(self._session, self.feed.name, self.book.me, settings.clock),
            PATIENCE * settings.lease_seconds,
            settings.clock,
            self._saved,
        )
        return TimerShard(self._book, lease, call, saved, of_shard)

    def _shards(self) -> list[ShardKey]:
        return [_shard_key(shard) for shard in range(self.timers.schedule.shards)]


def _shard_key(shard: int) -> ShardKey:
    return ShardKey(_SHARDS, f"{shard:03}")
