"""Runs one feed in this process: a `ShardConsumer` for each shard of the stream that it has the lease of.

A consumer reads, delivers, and saves how far it is, until the shard ends or it is stopped. Everything before
`lease.handled` was handled. It is saved about once a second, when the shard ends and when the consumer stops. So what
was handled since the last time is delivered again after a crash.

A consumer that could not renew its lease for the lease time delivers nothing until it has: another follower may have
the shard by then. That is also what a process finds that was frozen and thawed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from sortkey.clock import SystemClock, WaitingClock
from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.changes.delivery import Delivery, RecordEntry, entry_of
from sortkey.feeds.changes.shard_reader import Record, ShardReader, pace_of
from sortkey.feeds.shards.blockage import Blockage
from sortkey.feeds.shards.lease_runner import STORE_PACING, LeaseRunner, RunnerSettings
from sortkey.feeds.shards.leases import NOBODY, HeldLease, ShardKey, ShardLease, StreamShard, list_shards
from sortkey.feeds.shards.metrics import ChangeFeedMetrics
from sortkey.feeds.shards.outages import is_outage
from sortkey.limits import STREAM_RECORDS
from sortkey.model.calls.change import padded
from sortkey.model.errors import ModelError
from sortkey.model.sessions.async_session import AsyncSession

SAVE_SECONDS: Final = 1.0
WATCH_SECONDS: Final = 0.25
"""Between two looks at the leases of other followers."""
IDLE_SECONDS: Final = 30.0
"""How long it waits for records at once."""
SLICE_RECORDS: Final = 50
"""Records that are read in one go, in about a millisecond."""
LATEST_MARGIN: Final = timedelta(seconds=60)
"""If the first follower of a feed from now on dies before it has handled anything, the next one begins this much before
the start: the store's clock may differ."""


class ConsumerSettings(NamedTuple):
    lease_seconds: float
    clock: WaitingClock
    since: datetime | None
    """Changes before it are not delivered."""
    save_seconds: float = SAVE_SECONDS
    """How long what was handled may be unsaved."""


class ShardConsumer:
    def __init__(
        self,
        feed: ChangeFeed[Any],
        lease: HeldLease,
        reader: ShardReader,
        delivery: Delivery,
        metrics: ChangeFeedMetrics,
        stopping: asyncio.Event,
        settings: ConsumerSettings,
    ) -> None:
        """`stopping` is also known to `delivery`, whose pauses it ends."""
        self.lease = lease
        self._feed = feed
        self._reader = reader
        self._delivery = delivery
        self._metrics = metrics
        self._stopping = stopping
        self._settings = settings
        self._clock = settings.clock
        self._read_up_to = padded(lease.handled) if lease.handled else ""
        self._batch: list[RecordEntry] = []
        self._last_number = lease.handled
        self._batch_began = 0.0
        self._blockage = Blockage(f"{feed.name}: reading {lease.key.shard}", metrics.blockages, settings.clock)
        self._has_ended = False
        self._woken = asyncio.Event()
        self._waiters: list[asyncio.Future[None]] = []
        self._behind_since: datetime | None = None

    def stop(self) -> None:
        """`run` finishes the current batch and returns."""
        self._stopping.set()
        self._woken.set()

    def drained(self) -> asyncio.Future[None]:
        """Done when everything that was written before this call was handled, or the consumer has ended."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._has_ended:
            future.set_result(None)
        self._waiters.append(future)
        self._woken.set()
        return future

    def lag(self) -> float:
        """From the last handled change to now, in seconds; 0 if there was nothing left when it last looked."""
        if self._behind_since is None:
            return 0.0
        return max(0.0, self._clock.now() - self._behind_since.timestamp())

    async def run(self) -> None:
        """Until the shard ends, the lease is lost, or `stop`."""
        try:
            while not self._stopping.is_set():
                try:
                    if not await self._take_turn():
                        return
                    self._blockage.over()
                except Exception as error:
                    if not is_outage(error):
                        raise
                    await self._pause(error)
        finally:
            self._blockage.forget()
            self._has_ended = True
            _resolve(self._waiters)

    async def _take_turn(self) -> bool:
        """False when there is nothing more to do."""
        if not await self._has_lease():
            return False
        # Those who come while it reads may wait for records that it does not see.
        waiting = len(self._waiters)
        records = await self._reader.read(self._feed.max_batch - len(self._batch))
        await self._collect(records)
        while self._reader.is_behind and len(self._batch) < self._feed.max_batch and not self._stopping.is_set():
            # A read is short, so that others have their turn; a batch of many changes is less work than many of few.
            await asyncio.sleep(0)
            await self._collect(await self._reader.read(self._feed.max_batch - len(self._batch)))
        if not await self._deliver_if_due():
            return False
        if self._reader.has_ended and not self._batch:
            await self.lease.finish()
            return False
        if not records and not self._batch:
            self._behind_since = None
            _resolve(self._waiters[:waiting])
            del self._waiters[:waiting]
        if not records:
            await self._idle()
        return True

    async def _has_lease(self) -> bool:
        age = self._clock.monotonic() - self.lease.saved_at
        if self.lease.is_over:
            return False
        if age >= self._settings.lease_seconds or (self.lease.is_unsaved and age >= self._settings.save_seconds):
            return await self.lease.save()
        return True

    async def _collect(self, records: Sequence[Record]) -> None:
        if records and not self._batch:
            self._batch_began = self._clock.monotonic()
        for at, record in enumerate(records, 1):
            if at % SLICE_RECORDS == 0:
                # A server on the same loop answers requests in between.
                await asyncio.sleep(0)
            number = record["dynamodb"]["SequenceNumber"]
            # A store may deliver records again.
            if padded(number) <= self._read_up_to:
                continue
            self._read_up_to, self._last_number = padded(number), number
            entry = entry_of(self._feed, record, self.lease.key.shard, low_level=True)
            if entry is None:
                self._metrics.skipped += 1
            elif entry.change is None or self._is_wanted(entry.change.at):
                self._batch.append(entry)

    async def _read_more(self) -> Sequence[RecordEntry]:
        """A few more for the batch, if there are any now."""
        before = len(self._batch)
        while len(self._batch) == before:
            records = await self._reader.read(min(self._feed.rule.in_a_row, self._feed.max_batch))
            if not records:
                break
            await self._collect(records)
        return self._batch[before:]

    def _is_wanted(self, at: datetime) -> bool:
        since = self._settings.since
        return since is None or at >= since

    async def _deliver_if_due(self) -> bool:
        """False if it was stopped before the batch was handled."""
        if self._batch:
            waited = self._clock.monotonic() - self._batch_began
            is_due = waited >= self._feed.max_wait or len(self._batch) >= self._feed.max_batch
            if not is_due and not self._reader.has_ended:
                return True
            self._behind_since = _moment(self._batch[0], self._behind_since)
            if not await self._delivery.deliver(self._batch, self._read_more):
                return False
            self._behind_since = _moment(self._batch[-1], self._behind_since)
            self._batch = []
        self.lease.handled = self._last_number
        return True

    async def _idle(self) -> None:
        """Until there may be records, something is to be saved, or someone waits."""
        seconds = IDLE_SECONDS
        if self.lease.is_unsaved:
            seconds = self._settings.save_seconds
        if self._batch:
            seconds = min(seconds, self._batch_began + self._feed.max_wait - self._clock.monotonic())
        if seconds <= 0 or self._woken.is_set():
            self._woken.clear()
            # A consumer that never waits would never let others run.
            await asyncio.sleep(0)
            return
        waiting = asyncio.ensure_future(self._reader.wait(seconds))
        woken = asyncio.ensure_future(self._woken.wait())
        try:
            await asyncio.wait({waiting, woken}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()
            if not waiting.done():
                waiting.cancel()
        self._woken.clear()
        with suppress(asyncio.CancelledError):
            await waiting

    async def _pause(self, error: Exception) -> None:
        pause = STORE_PACING.pause(self._blockage.tries).seconds
        self._blockage.lasts_by(error)
        await self._clock.wait(self._stopping, pause)


class FeedRunner(LeaseRunner[ShardConsumer]):
    def __init__(
        self,
        session: AsyncSession,
        feed: ChangeFeed[Any],
        me: str,
        settings: RunnerSettings,
        on_saved: Callable[[str, str], None] | None = None,
    ) -> None:
        """With `on_saved`, each batch is saved at once, and it is called then: see `HeldLease`."""
        self.feed = feed
        self._on_saved = on_saved
        self.metrics = ChangeFeedMetrics(feed.name, self._lag, lambda: len(self.consumers))
        super().__init__(session, feed.name, feed.name, me, settings, self.metrics)
        self._since: datetime | None = None
        self._has_started = False
        self._without_table = Blockage(f"{feed.name}: table {feed.table.name}", self.metrics.blockages, settings.clock)

    async def start(self) -> None:
        """Raises what prevents it: a missing table, a table without a stream, an unreachable store."""
        streams = await self.list_shards()
        if not streams:
            raise ModelError(
                f"change feed {self.feed.name}: table {self.feed.table.name} has no stream in this store; enable it "
                f"with StreamViewType {self.feed.table.settings.stream}"
            )
        self._has_started = True
        start, is_first = await self.book.started(self._start_time())
        self._since = start.since
        if is_first and self.feed.start == "now":
            shards = [shard for stream in streams for shard in stream]
            await self.book.create([each.key for each in shards if each.is_closed], ended=True)
            await self.book.create([each.key for each in shards if not each.is_closed], from_latest=True)
        await self._round()

    async def list_shards(self) -> list[list[StreamShard]]:
        streams = await list_shards(self._session.client, self.feed.table.name)
        if streams:
            self._without_table.over()
        elif self._has_started:
            self._without_table.lasts_by(ModelError("it was deleted, or has no stream any more"))
        return streams

    async def last_sequence(self, key: ShardKey, lease: ShardLease) -> str:
        """The padded number of the last record that the shard has now; that of the checkpoint if there is none."""
        reader = self._reader(key, lease.checkpoint, latest=False)
        last = lease.checkpoint
        while True:
            records = await reader.read(STREAM_RECORDS)
            if not records:
                return padded(last)
            # What came before a start "now" is never handled.
            last = next(
                (each["dynamodb"]["SequenceNumber"] for each in reversed(records) if self._is_after_start(each)), last
            )

    async def caught_up(self) -> None:
        """Wait until everything that was written before was handled, whoever follows the shards. Shards of this process
        tell when they have found nothing more. Of a shard that another process follows, the last record is read, and
        the lease is watched until that record was handled."""
        done: set[ShardKey] = set()
        targets: dict[ShardKey, str] = {}
        while True:
            self.changed.clear()
            streams = await self.list_shards()
            leases = await self.book.leases()
            left = [
                shard.key
                for stream in streams
                for shard in stream
                if shard.key not in done and not (shard.key in leases and leases[shard.key].has_ended)
            ]
            if not left:
                return
            own = [key for key in left if key in self.consumers]
            if own:
                await asyncio.gather(*(self.consumers[key].drained() for key in own))
                # A consumer that ended instead has an ended lease, or another follower's, and is looked at again.
                done |= {key for key in own if key in self.consumers}
                continue
            others = [key for key in left if key in leases and leases[key].owner not in (NOBODY, self.book.me)]
            for key in others:
                if key not in targets:
                    targets[key] = await self.last_sequence(key, leases[key])
                if padded(leases[key].checkpoint) >= targets[key]:
                    done.add(key)
            if not done.issuperset(left):
                await self.watch(WATCH_SECONDS if others else self.round_seconds)

    def _is_after_start(self, record: Record) -> bool:
        if self._since is None or self.feed.start != "now":
            return True
        at: datetime = record["dynamodb"]["ApproximateCreationDateTime"]
        return at > self._since + LATEST_MARGIN

    def _start_time(self) -> datetime | None:
        match self.feed.start:
            case "horizon":
                return None
            case "now":
                # Times of changes are rounded to the second.
                return datetime.fromtimestamp(int(self._clock.now()), UTC) - LATEST_MARGIN
            case moment:
                return moment.astimezone(UTC).replace(microsecond=0)

    async def _consumer(self, lease: HeldLease) -> ShardConsumer:
        start = lease.start
        reader = self._reader(lease.key, start.checkpoint, start.from_latest)
        if start.from_latest:
            # The position is fixed before anybody is told that the feed has begun. If this follower dies before its
            # first checkpoint, the next one reads from the horizon, and drops what is older than the start.
            await reader.open()
            await lease.save(from_latest=False, begun_from_latest=True)
        lease.on_saved = self._on_saved
        stopping = asyncio.Event()
        settings = self._settings
        sinks = [sink for sink in (self.feed.dead_letters, settings.dead_letters) if sink is not None]
        delivery = Delivery(self.feed, lease.key.shard, self._session, self.metrics, stopping, settings.clock, sinks)
        return ShardConsumer(
            self.feed,
            lease,
            reader,
            delivery,
            self.metrics,
            stopping,
            ConsumerSettings(
                settings.lease_seconds,
                settings.clock,
                self._since if self._may_have_earlier(start) else None,
                SAVE_SECONDS if self._on_saved is None else 0.0,
            ),
        )

    def _may_have_earlier(self, lease: ShardLease) -> bool:
        """Whether a shard, as it is read, may have changes from before the start. The start "now" is a time of this
        machine's clock, and changes have the store's, so the two are compared only if there is no position."""
        return self.feed.start != "now" or (lease.begun_from_latest and not lease.checkpoint)

    def _reader(self, key: ShardKey, after: str, latest: bool) -> ShardReader:
        pace = pace_of(self._session.capabilities)
        return ShardReader(self._session.client, key, pace, self.metrics, SystemClock(), after, latest)

    def _lag(self) -> float:
        # Another thread may ask, for /metrics.
        return max((consumer.lag() for consumer in list(self.consumers.values())), default=0.0)


def _moment(entry: RecordEntry, otherwise: datetime | None) -> datetime | None:
    return otherwise if entry.change is None else entry.change.at.astimezone(UTC)


def _resolve(waiters: list[asyncio.Future[None]]) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)
