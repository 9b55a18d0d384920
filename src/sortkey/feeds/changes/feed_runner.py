"""Runs one feed in this process: finds shards, takes leases, and runs a consumer for each.

Every quarter of the lease time there is a *round*: list the shards and the leases, take what is free, ask for what is
due, renew what is held. A shard that ends starts a round at once, so its children follow without delay.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from sortkey.clock import Clock
from sortkey.feeds.changes.balance import Sightings, plan
from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.changes.dead_letter import DeadLetter
from sortkey.feeds.changes.delivery import Delivery
from sortkey.feeds.changes.lease import NOBODY, ShardLease
from sortkey.feeds.changes.lease_book import HeldLease, LeaseBook
from sortkey.feeds.changes.metrics import ChangeFeedMetrics
from sortkey.feeds.changes.passing_errors import is_passing
from sortkey.feeds.changes.shard_consumer import STORE_PACING, ConsumerSettings, ShardConsumer
from sortkey.feeds.changes.shard_reader import Record, ShardReader, pace_of
from sortkey.feeds.changes.stopping import stopped_within
from sortkey.feeds.changes.stream_shards import ShardKey, StreamShard, list_shards, may_start
from sortkey.limits import STREAM_RECORDS
from sortkey.model.errors import ModelError
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.streams.change import padded

GRACE_SECONDS: Final = 20.0
"""For the current batches to end when the feed stops."""
LATEST_MARGIN: Final = timedelta(seconds=60)
"""If the first follower of a feed from now on dies before it has handled anything, the next one begins this much before
the start: the store's clock may differ."""
FORGET_SECONDS: Final = 3600.0
"""A lease is deleted when its shard has not been listed for this long."""

_logger = logging.getLogger(__name__)


class RunnerSettings(NamedTuple):
    lease_seconds: float
    now: Callable[[], float]
    """The monotonic clock."""
    clock: Clock
    dead_letters: Callable[[DeadLetter], Awaitable[None]] | None = None
    """Is called with each dead letter, besides the feed's own."""


class FeedRunner:
    def __init__(self, session: AsyncSession, feed: ChangeFeed[Any], me: str, settings: RunnerSettings) -> None:
        self.feed = feed
        self.metrics = ChangeFeedMetrics(feed.name, self._lag, lambda: len(self.consumers))
        self.book = LeaseBook(session, feed.name, me, settings.now)
        self.consumers: dict[ShardKey, ShardConsumer] = {}
        self.changed = asyncio.Event()
        """Set when a consumer starts or ends."""
        self._session = session
        self._settings = settings
        self._sightings = Sightings(settings.lease_seconds)
        self._unlisted: dict[ShardKey, float] = {}
        """Since when the shards of these leases are not listed."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._round_now = asyncio.Event()
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._since: datetime | None = None

    async def start(self) -> None:
        """Raises what prevents it: a missing table, a table without a stream, an unreachable store."""
        streams = await self.list_shards()
        if not streams:
            raise ModelError(
                f"change feed {self.feed.name}: table {self.feed.table.name} has no stream in this store; enable it "
                f"with StreamViewType {self.feed.table.settings.stream}"
            )
        start, is_first = await self.book.started(self._start_time())
        self._since = start.since
        if is_first and self.feed.start == "now":
            shards = [shard for stream in streams for shard in stream]
            await self.book.create([each.key for each in shards if each.is_closed], ended=True)
            await self.book.create([each.key for each in shards if not each.is_closed], from_latest=True)
        await self._round()

    async def run(self) -> None:
        """Until `stop`. Raises what a consumer raised that is not an error of the store."""
        troubles = 0
        while not self._stopping.is_set():
            try:
                await self._next_round(self.round_seconds)
                troubles = 0
            except Exception as error:
                if not is_passing(error):
                    raise
                pause = STORE_PACING.pause(troubles).seconds
                troubles += 1
                _logger.warning(
                    "%s: leases cannot be kept now; retry in %.1f s: %s", self.feed.name, pause, error, exc_info=True
                )
                await stopped_within(self._stopping, pause)
                self._round_now.set()

    def stop(self) -> None:
        self._stopping.set()
        self._round_now.set()
        for consumer in self.consumers.values():
            consumer.stop()

    async def finish(self) -> None:
        """After `stop`: current batches are finished, saved, and the leases given up."""
        self.stop()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=GRACE_SECONDS)
            for task in late:
                _logger.warning("%s: cancelled a batch that did not end within %g s", self.feed.name, GRACE_SECONDS)
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._failed.done():
            self._failed.exception()  # `run` has raised it, or it was cancelled before it could

    @property
    def round_seconds(self) -> float:
        return self._settings.lease_seconds / 4

    async def list_shards(self) -> list[list[StreamShard]]:
        return await list_shards(self._session.client, self.feed.table.name)

    async def last_sequence(self, key: ShardKey, lease: ShardLease) -> str:
        """The padded number of the last record that the shard has now; that of the checkpoint if there is none."""
        pace = pace_of(self._session.capabilities)
        reader = ShardReader(self._session.client, key, pace, self.metrics, lease.checkpoint, latest=False)
        last = lease.checkpoint
        while True:
            records = await reader.read(STREAM_RECORDS)
            if not records:
                return padded(last)
            # What came before a start "now" is never handled.
            last = next(
                (each["dynamodb"]["SequenceNumber"] for each in reversed(records) if self._is_after_start(each)), last
            )

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
                return datetime.fromtimestamp(int(self._settings.clock.now()), UTC) - LATEST_MARGIN
            case moment:
                return moment.astimezone(UTC).replace(microsecond=0)

    async def _next_round(self, seconds: float) -> None:
        waiting = asyncio.ensure_future(self._round_now.wait())
        either: set[asyncio.Future[Any]] = {waiting, self._failed}
        try:
            await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        self._round_now.clear()
        if self._failed.done():
            await self._failed
        if not self._stopping.is_set():
            await self._renew()
            await self._round()

    async def _renew(self) -> None:
        """Renew what was not saved lately, and stop the consumers whose leases others want."""
        due = self._settings.now() - self._settings.lease_seconds / 5
        held = [consumer for consumer in self.consumers.values() if consumer.lease.saved_at <= due]
        await asyncio.gather(*(consumer.lease.save() for consumer in held))
        for consumer in list(self.consumers.values()):
            if consumer.lease.wanted_by != NOBODY or consumer.lease.is_over:
                consumer.stop()

    async def _round(self) -> None:
        streams = await self.list_shards()
        leases = await self.book.leases()
        expired = self._sightings.expired(leases, self._settings.now()) - self.consumers.keys()
        ended = {key for key, lease in leases.items() if lease.has_ended}
        startable = [shard.key for shard in may_start(streams, ended)]
        # Followers that start together should not all try the same shards.
        random.shuffle(startable)
        decided = plan(self.book.me, startable, leases, expired)
        for key in decided.take:
            # A consumer whose lease was lost may still be finishing its batch.
            if key not in self.consumers:
                await self._take(key, leases.get(key))
        if decided.ask is not None:
            await self.book.ask(leases[decided.ask])
        # A lease handed over has this follower as its owner already.
        for key in startable:
            lease = leases.get(key)
            if lease is not None and lease.owner == self.book.me and key not in self.consumers:
                await self._take(key, lease)
        await self._forget({shard.key for stream in streams for shard in stream}, leases)

    async def _take(self, key: ShardKey, known: ShardLease | None) -> None:
        lease = await self.book.take(key, known)
        if lease is None:
            return
        if known is not None and known.owner not in (NOBODY, self.book.me):
            self.metrics.takeovers += 1
            _logger.warning("%s: took %s over from %s", self.feed.name, key.shard, known.owner)
        await self._begin(lease)

    async def _begin(self, lease: HeldLease) -> None:
        start = lease.start
        reader = ShardReader(
            self._session.client,
            lease.key,
            pace_of(self._session.capabilities),
            self.metrics,
            start.checkpoint,
            start.from_latest,
        )
        if start.from_latest:
            # The position is fixed before anybody is told that the feed has begun. If this follower dies before its
            # first checkpoint, the next one reads from the horizon, and drops what is older than the start.
            await reader.open()
            await lease.save(from_latest=False)
        stopping = asyncio.Event()
        settings = self._settings
        sinks = [sink for sink in (self.feed.dead_letters, settings.dead_letters) if sink is not None]
        delivery = Delivery(self.feed, lease.key.shard, self._session, self.metrics, stopping, settings.clock, sinks)
        consumer = ShardConsumer(
            self.feed,
            lease,
            reader,
            delivery,
            self.metrics,
            stopping,
            ConsumerSettings(settings.lease_seconds, settings.now, settings.clock, self._since),
        )
        self.consumers[lease.key] = consumer
        task = asyncio.create_task(self._consume(consumer), name=f"{self.feed.name} {lease.key.shard}")
        self._tasks.add(task)
        task.add_done_callback(self._on_end)
        self.changed.set()

    async def _consume(self, consumer: ShardConsumer) -> None:
        try:
            await consumer.run()
        finally:
            await self._leave(consumer)
            self.metrics.lost += consumer.lease.is_lost
            self.changed.set()
            self._round_now.set()

    def _on_end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._failed.done():
            self._failed.set_exception(error)

    async def _leave(self, consumer: ShardConsumer) -> None:
        try:
            await consumer.lease.give_up()
        except Exception as error:
            if not is_passing(error):
                raise
            _logger.warning("%s: a lease stays until it expires: %s", self.feed.name, error)
        finally:
            del self.consumers[consumer.lease.key]

    async def _forget(self, listed: set[ShardKey], leases: dict[ShardKey, ShardLease]) -> None:
        """Delete leases of shards that left the stream."""
        now = self._settings.now()
        self._unlisted = {key: self._unlisted.get(key, now) for key in leases if key not in listed}
        gone = [key for key, since in self._unlisted.items() if now - since >= FORGET_SECONDS]
        await self.book.forget(leases[key] for key in gone)

    def _lag(self) -> float:
        # Another thread may ask, for /metrics.
        return max((consumer.lag() for consumer in list(self.consumers.values())), default=0.0)
