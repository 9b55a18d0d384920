"""Runs one feed in this process: a consumer for each shard of the stream that it has the lease of."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.changes.delivery import Delivery
from sortkey.feeds.changes.lease import ShardLease
from sortkey.feeds.changes.lease_book import HeldLease
from sortkey.feeds.changes.lease_runner import LeaseRunner, RunnerSettings
from sortkey.feeds.changes.metrics import ChangeFeedMetrics
from sortkey.feeds.changes.shard_consumer import ConsumerSettings, ShardConsumer
from sortkey.feeds.changes.shard_reader import Record, ShardReader, pace_of
from sortkey.feeds.changes.stream_shards import ShardKey, StreamShard, list_shards
from sortkey.limits import STREAM_RECORDS
from sortkey.model.calls.change import padded
from sortkey.model.errors import ModelError
from sortkey.model.sessions.async_session import AsyncSession

LATEST_MARGIN: Final = timedelta(seconds=60)
"""If the first follower of a feed from now on dies before it has handled anything, the next one begins this much before
the start: the store's clock may differ."""


class FeedRunner(LeaseRunner[ShardConsumer]):
    def __init__(self, session: AsyncSession, feed: ChangeFeed[Any], me: str, settings: RunnerSettings) -> None:
        self.feed = feed
        self.metrics = ChangeFeedMetrics(feed.name, self._lag, lambda: len(self.consumers))
        super().__init__(session, feed.name, feed.name, me, settings, self.metrics)
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

    async def _consumer(self, lease: HeldLease) -> ShardConsumer:
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
        return ShardConsumer(
            self.feed,
            lease,
            reader,
            delivery,
            self.metrics,
            stopping,
            ConsumerSettings(settings.lease_seconds, settings.now, settings.clock, self._since),
        )

    def _lag(self) -> float:
        # Another thread may ask, for /metrics.
        return max((consumer.lag() for consumer in list(self.consumers.values())), default=0.0)
