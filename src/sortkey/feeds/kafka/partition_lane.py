"""Delivers one partition's messages to the consumer, in order, one batch at a time, until each batch succeeds.

Lanes do not wait for each other, so partitions are handled concurrently. When the consumer raises, the batch is retried
after a pause, and later messages wait.

`next_turn` limits the messages in progress, so that memory stays bounded when messages arrive faster than the store
takes them. A message weighs 1, plus 1 for every 4 KiB. When a partition, or all of them together, reach their limit,
nothing is received for a moment: usually there is room again soon. A partition that stays full is paused, and the
others continue. Pausing costs more: the broker has to send again what was fetched ahead.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sortkey.clock import WaitingClock
from sortkey.feeds.kafka.message import Consumer, Message, Rejected
from sortkey.feeds.kafka.metrics import KafkaMetrics
from sortkey.model.calls.steps import Pacing

BATCH: Final = 1000
"""The most messages in a batch, unless a single chunk has more."""
PARTITION_LOAD: Final = 4_000
TOTAL_LOAD: Final = 16_000
PATIENCE_SECONDS: Final = 0.5
"""How long a partition may be full before it is paused."""
WEIGHED_BYTES: Final = 4096

_logger = logging.getLogger(__name__)


class MessageChunk(NamedTuple):
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
        metrics: KafkaMetrics,
        pacing: Pacing,
        clock: WaitingClock,
    ) -> None:
        self.partition = partition
        self._consumer = consumer
        self._report = report
        self._metrics = metrics
        self._pacing = pacing
        self._clock = clock
        self._waiting: deque[MessageChunk] = deque()
        self._stopped = asyncio.Event()
        self._working: asyncio.Task[None] | None = None

    def deliver(self, chunk: MessageChunk) -> None:
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

    def _next_batch(self) -> MessageChunk:
        batch = self._waiting.popleft()
        if not self._waiting or len(batch.messages) + len(self._waiting[0].messages) > BATCH:
            return batch
        messages, weight = list(batch.messages), batch.weight
        while self._waiting and len(messages) + len(self._waiting[0].messages) <= BATCH:
            chunk = self._waiting.popleft()
            messages += chunk.messages
            weight += chunk.weight
        return MessageChunk(messages, weight)

    async def _apply(self, messages: Sequence[Message]) -> Sequence[Rejected] | None:
        """Returns the rejected messages, or None if the lane was stopped before the consumer succeeded."""
        attempt = 0
        while True:
            started = self._clock.monotonic()
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
                self._metrics.batch_seconds.count(self._clock.monotonic() - started)
                return rejected
            self._metrics.retried += len(messages)
            attempt += 1
            if await self._clock.wait(self._stopped, pause):
                return None


def weight(message: Message) -> int:
    return 1 + (len(message.value or b"") + len(message.key or b"")) // WEIGHED_BYTES


@dataclass(slots=True, eq=False)
class AssignedPartition:
    """A partition that the group assigned to this worker."""

    lane: PartitionLane
    next_offset: int = 0
    """Every message before it was handled, or is in progress."""
    certain: bool = False
    """Whether no message is left between `next_offset` and the next one that is received."""
    load: int = 0
    paused: bool = False
    full_since: float | None = None

    def accept(self, offset: int) -> bool:
        """Whether to deliver a message that was received: it is the next one.

        A message from before the start may come late, and one that was received before the partition was revoked and
        assigned again may be beyond it.
        """
        if offset < self.next_offset or (offset > self.next_offset and not self.certain):
            return False
        self.next_offset, self.certain = offset + 1, True
        return True


class Turn(NamedTuple):
    """What the Kafka thread does next."""

    receive: bool
    pause: list[AssignedPartition]
    resume: list[AssignedPartition]


def next_turn(assignments: Mapping[int, AssignedPartition], unsent: int, now: float) -> Turn:
    """Also updates the assignments. `unsent` rejected messages count towards the total."""
    total = unsent + sum(assignment.load for assignment in assignments.values())
    patient, pause, resume = False, [], []
    for assignment in assignments.values():
        if assignment.paused:
            if assignment.load <= PARTITION_LOAD // 2 and total <= TOTAL_LOAD // 2:
                assignment.paused = False
                resume.append(assignment)
        elif assignment.load < PARTITION_LOAD and total < TOTAL_LOAD:
            assignment.full_since = None
        elif assignment.full_since is None:
            assignment.full_since = now
            patient = True
        elif now - assignment.full_since < PATIENCE_SECONDS:
            patient = True
        else:
            assignment.paused, assignment.full_since = True, None
            pause.append(assignment)
    return Turn(not patient, pause, resume)
