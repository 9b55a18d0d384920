"""Delivers one partition's messages to the consumer, in order, one batch at a time, until each is applied or rejected.

Lanes do not wait for each other, so partitions are handled concurrently. When the consumer raises, later messages wait:
for the end of an outage, or until the message that fails alone is found and rejected (`OrderedDelivery`).

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
from sortkey.feeds.shards.blockage import Blockage
from sortkey.feeds.shards.ordered_delivery import OrderedDelivery
from sortkey.feeds.shards.outages import USUAL, FailureRule
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


class PartitionLane(OrderedDelivery[Message]):
    """Used on the event loop only. A stopped lane ignores further messages."""

    def __init__(
        self,
        partition: int,
        consumer: Consumer,
        report: Callable[[Handled], None],
        metrics: KafkaMetrics,
        pacing: Pacing,
        clock: WaitingClock,
        rule: FailureRule = USUAL,
    ) -> None:
        self._stopped = asyncio.Event()
        blockage = Blockage(f"partition {partition}", metrics.blockages, clock)
        super().__init__(rule, BATCH, blockage, self._stopped, clock, pacing)
        self.partition = partition
        self._consumer = consumer
        self._report = report
        self._metrics = metrics
        self._waiting: deque[MessageChunk] = deque()
        self._batch = MessageChunk((), 0)
        """What is under way."""
        self._rejected: list[Rejected] = []
        """Of the batch."""
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

    async def attempt(self, entries: Sequence[Message]) -> Exception | None:
        began = self._clock.monotonic()
        try:
            rejected = tuple(await self._consumer.consume(entries))
        except Exception as error:  # noqa: BLE001 - the service's own code may raise anything
            self._metrics.retried += len(entries)
            return error
        self._metrics.batch_seconds.count(self._clock.monotonic() - began)
        self._rejected += rejected
        return None

    async def give_up(self, entry: Message, error: Exception) -> bool:
        """The dead letter is sent with the offset of the batch."""
        self._rejected.append(Rejected(entry, f"{type(error).__name__}: {error}"))
        _logger.error("partition %d: gave up the message at offset %d", self.partition, entry.offset, exc_info=error)
        return True

    async def more(self) -> Sequence[Message]:
        if not self._waiting:
            return ()
        chunk = self._waiting.popleft()
        self._batch = MessageChunk([*self._batch.messages, *chunk.messages], self._batch.weight + chunk.weight)
        return chunk.messages

    def describe(self, entries: Sequence[Message]) -> str:
        return f"partition {self.partition}: {len(entries)} messages from offset {entries[0].offset}"

    async def _work(self) -> None:
        while self._waiting:
            self._batch, self._rejected = self._next_batch(), []
            if not await self.handle(self._batch.messages):
                return
            batch, rejected = self._batch, sorted(self._rejected, key=_offset)
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


def _offset(rejected: Rejected) -> int:
    return rejected.message.offset


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
