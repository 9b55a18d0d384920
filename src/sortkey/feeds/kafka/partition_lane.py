"""Delivers one partition's messages to the consumer, in order, one batch at a time, until each batch succeeds.

Lanes do not wait for each other, so partitions are handled concurrently. When the consumer raises, the batch is retried
after a pause, and later messages wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Final, NamedTuple

from sortkey.feeds.kafka.message import Consumer, Message, Rejected
from sortkey.feeds.kafka.metrics import FeedMetrics
from sortkey.model.calls.steps import Pacing

BATCH: Final = 1000
"""The most messages in a batch, unless a single chunk has more."""

_logger = logging.getLogger(__name__)


class Chunk(NamedTuple):
    """Consecutive messages of one partition, and their weight for flow control."""

    messages: Sequence[Message]
    weight: int


class Handled(NamedTuple):
    """A finished batch: all messages but the rejected ones are in the store."""

    lane: PartitionLane
    weight: int
    next_offset: int
    rejected: Sequence[Rejected]


class PartitionLane:
    """Used on the event loop only. A stopped lane ignores further messages."""

    def __init__(
        self,
        partition: int,
        consumer: Consumer,
        report: Callable[[Handled], None],
        metrics: FeedMetrics,
        pacing: Pacing,
    ) -> None:
        self.partition = partition
        self._consumer = consumer
        self._report = report
        self._metrics = metrics
        self._pacing = pacing
        self._waiting: deque[Chunk] = deque()
        self._stopped = asyncio.Event()
        self._working: asyncio.Task[None] | None = None

    def deliver(self, chunk: Chunk) -> None:
        if self._stopped.is_set():
            return
        self._waiting.append(chunk)
        if self._working is None:
            self._working = asyncio.create_task(self._work())

    async def stop(self, seconds: float) -> None:
        """Wait up to `seconds` for the current batch, and drop waiting messages. A pause ends at once."""
        self._stopped.set()
        self._waiting.clear()
        if self._working is None:
            return
        _, unfinished = await asyncio.wait([self._working], timeout=seconds)
        for task in unfinished:
            _logger.warning("partition %d: cancelled a batch that did not end within %g s", self.partition, seconds)
            task.cancel()
            await asyncio.wait([task])

    async def _work(self) -> None:
        while self._waiting:
            batch = self._next_batch()
            rejected = await self._apply(batch.messages)
            if rejected is None:
                return
            self._metrics.handled(len(batch.messages), len(rejected))
            self._report(Handled(self, batch.weight, batch.messages[-1].offset + 1, rejected))
        self._working = None

    def _next_batch(self) -> Chunk:
        batch = self._waiting.popleft()
        if not self._waiting or len(batch.messages) + len(self._waiting[0].messages) > BATCH:
            return batch
        messages, weight = list(batch.messages), batch.weight
        while self._waiting and len(messages) + len(self._waiting[0].messages) <= BATCH:
            chunk = self._waiting.popleft()
            messages += chunk.messages
            weight += chunk.weight
        return Chunk(messages, weight)

    async def _apply(self, messages: Sequence[Message]) -> Sequence[Rejected] | None:
        """Returns the rejected messages, or None if the lane was stopped before the consumer succeeded."""
        attempt = 0
        while True:
            started = perf_counter()
            try:
                rejected = tuple(await self._consumer.consume(messages))
            except Exception:
                # After any error the messages may not be in the store, so continuing would lose them.
                pause = self._pacing.pause(attempt).seconds
                _logger.warning(
                    "partition %d: attempt %d at %d messages from offset %d raised; retry in %.1f s",
                    self.partition,
                    attempt + 1,
                    len(messages),
                    messages[0].offset,
                    pause,
                    exc_info=True,
                )
            else:
                self._metrics.batch_seconds.count(perf_counter() - started)
                return rejected
            self._metrics.retried += len(messages)
            attempt += 1
            if await self._stopped_within(pause):
                return None

    async def _stopped_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._stopped.wait(), seconds)
        except TimeoutError:
            return False
        return True
