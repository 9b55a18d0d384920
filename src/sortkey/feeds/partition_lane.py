"""One partition's messages on the event loop: in order, one batch at a time, each as often as it takes.

Lanes do not wait for each other, so partitions are handled side by side. A batch that the consumer fails at is tried
again after a pause, and nothing behind it moves.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Final, NamedTuple

from sortkey.feeds.message import Consumer, Message, Rejected
from sortkey.feeds.metrics import FeedMetrics
from sortkey.model.sessions.steps import Pacing

BATCH: Final = 1000
"""Messages given to the consumer at once, at most, unless a single chunk holds more."""

_logger = logging.getLogger(__name__)


class Chunk(NamedTuple):
    """Consecutive messages of one partition, and what they weigh against the limits of what may be under way."""

    messages: Sequence[Message]
    weight: int


class Handled(NamedTuple):
    """A batch's end: the store has it, all but the rejected."""

    lane: PartitionLane
    weight: int
    next_offset: int
    rejected: Sequence[Rejected]


class PartitionLane:
    """Everything here belongs to the event loop's thread. A lane that was stopped takes nothing any more."""

    def __init__(
        self,
        partition: int,
        consumer: Consumer,
        report: Callable[[Handled], None],
        counted: FeedMetrics,
        pacing: Pacing,
    ) -> None:
        self.partition = partition
        self._consumer = consumer
        self._report = report
        self._counted = counted
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
        """Let the batch under way end, for so long at most, and forget what waits. No pause is waited out."""
        self._stopped.set()
        self._waiting.clear()
        if self._working is None:
            return
        _, unfinished = await asyncio.wait([self._working], timeout=seconds)
        for task in unfinished:
            _logger.warning("partition %d: gave up on a batch that did not end in %g s", self.partition, seconds)
            task.cancel()
            await asyncio.wait([task])

    async def _work(self) -> None:
        while self._waiting:
            batch = self._next_batch()
            rejected = await self._apply(batch.messages)
            if rejected is None:
                return
            self._counted.handled(len(batch.messages), len(rejected))
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
        """The rejected ones; None if the lane was stopped before the consumer succeeded."""
        attempt = 0
        while True:
            started = perf_counter()
            try:
                rejected = tuple(await self._consumer.consume(messages))
            except Exception:
                # Whatever it was: the messages are not in the store, so going on would lose them.
                pause = self._pacing.pause(attempt).seconds
                _logger.warning(
                    "partition %d: %d messages from offset %d failed, try %d; again in %.1f s",
                    self.partition,
                    len(messages),
                    messages[0].offset,
                    attempt + 1,
                    pause,
                    exc_info=True,
                )
            else:
                self._counted.batch_seconds.count(perf_counter() - started)
                return rejected
            self._counted.retried += len(messages)
            attempt += 1
            if await self._stopped_within(pause):
                return None

    async def _stopped_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._stopped.wait(), seconds)
        except TimeoutError:
            return False
        return True
