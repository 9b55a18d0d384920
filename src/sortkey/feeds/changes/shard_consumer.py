"""Follows one shard under its lease: reads, delivers, saves how far it is, until the shard ends or it is stopped.

Everything before `lease.handled` was handled. It is saved about once a second, when the shard ends and when the
consumer stops. So what was handled since the last time is delivered again after a crash.

A consumer that could not renew its lease for the lease time delivers nothing until it has: another follower may have
the shard by then. That is also what a process finds that was frozen and thawed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from sortkey.clock import Clock
from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.changes.delivery import Delivery, Entry, entry_of
from sortkey.feeds.changes.lease_book import HeldLease
from sortkey.feeds.changes.lease_runner import STORE_PACING
from sortkey.feeds.changes.metrics import ChangeFeedMetrics
from sortkey.feeds.changes.passing_errors import is_passing
from sortkey.feeds.changes.shard_reader import Record, ShardReader
from sortkey.feeds.changes.stopping import stopped_within
from sortkey.model.calls.change import padded

SAVE_SECONDS: Final = 1.0
IDLE_SECONDS: Final = 30.0
"""How long it waits for records at once."""
SLICE_RECORDS: Final = 50
"""Records that are read in one go, in about a millisecond."""

_logger = logging.getLogger(__name__)


class ConsumerSettings(NamedTuple):
    lease_seconds: float
    now: Callable[[], float]
    """The monotonic clock."""
    clock: Clock
    since: datetime | None
    """Changes before it are not delivered."""


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
        self._read_up_to = padded(lease.handled) if lease.handled else ""
        self._batch: list[Entry] = []
        self._last_number = lease.handled
        self._batch_began = 0.0
        self._troubles = 0
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
        return max(0.0, self._settings.clock.now() - self._behind_since.timestamp())

    async def run(self) -> None:
        """Until the shard ends, the lease is lost, or `stop`."""
        try:
            while not self._stopping.is_set():
                try:
                    if not await self._take_turn():
                        return
                    self._troubles = 0
                except Exception as error:
                    if not is_passing(error):
                        raise
                    await self._pause(error)
        finally:
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
        age = self._settings.now() - self.lease.saved_at
        if self.lease.is_over:
            return False
        if age >= self._settings.lease_seconds or (self.lease.is_unsaved and age >= SAVE_SECONDS):
            return await self.lease.save()
        return True

    async def _collect(self, records: Sequence[Record]) -> None:
        if records and not self._batch:
            self._batch_began = self._settings.now()
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

    def _is_wanted(self, at: datetime) -> bool:
        since = self._settings.since
        return since is None or at >= since

    async def _deliver_if_due(self) -> bool:
        """False if it was stopped before the batch was handled."""
        if self._batch:
            waited = self._settings.now() - self._batch_began
            is_due = waited >= self._feed.max_wait or len(self._batch) >= self._feed.max_batch
            if not is_due and not self._reader.has_ended:
                return True
            self._behind_since = _moment(self._batch[0], self._behind_since)
            if not await self._delivery.deliver(self._batch):
                return False
            self._behind_since = _moment(self._batch[-1], self._behind_since)
            self._batch = []
        self.lease.handled = self._last_number
        return True

    async def _idle(self) -> None:
        """Until there may be records, something is to be saved, or someone waits."""
        seconds = IDLE_SECONDS
        if self.lease.is_unsaved:
            seconds = SAVE_SECONDS
        if self._batch:
            seconds = min(seconds, self._batch_began + self._feed.max_wait - self._settings.now())
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
        pause = STORE_PACING.pause(self._troubles).seconds
        self._troubles += 1
        _logger.warning(
            "%s: %s cannot be followed now; retry in %.1f s: %s",
            self._feed.name,
            self.lease.key.shard,
            pause,
            " ".join(str(error).split()),
        )
        await stopped_within(self._stopping, pause)


def _moment(entry: Entry, otherwise: datetime | None) -> datetime | None:
    return otherwise if entry.change is None else entry.change.at.astimezone(UTC)


def _resolve(waiters: list[asyncio.Future[None]]) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)
