"""The Kafka worker: delivers a topic's messages to a consumer, and commits their offsets afterwards.

There are two threads. The Kafka thread receives, commits and takes part in the group (`Subscription`). The event loop
runs the lanes, one for each partition, and with them the consumer and its session.

    Kafka thread     receive ── chunk ──▶ lane ── batch ──▶ consumer ──▶ store      event loop
                     commit  ◀─ handled ── lane

An offset is committed after the store has all messages before it. So a worker loses nothing, however it ends: messages
that it had not committed are delivered again. The Kafka thread waits for the store only when partitions with a batch in
progress are revoked, so the group keeps the worker as long as it lives.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from threading import Event
from typing import Final

from confluent_kafka import Consumer as KafkaConsumer
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka import Message as KafkaMessage

from sortkey.clock import SystemClock, WaitingClock
from sortkey.feeds.kafka.kafka_settings import LIBRDKAFKA, KafkaSettings, reason_of
from sortkey.feeds.kafka.message import Consumer, Message
from sortkey.feeds.kafka.metrics import KafkaMetrics
from sortkey.feeds.kafka.offset_commits import OffsetCommits, group_offsets, start_offsets
from sortkey.feeds.kafka.partition_lane import (
    AssignedPartition,
    Handled,
    MessageChunk,
    PartitionLane,
    next_turn,
    weight,
)
from sortkey.feeds.shards.outages import USUAL, FailureRule
from sortkey.model.calls.steps import Pacing

Report = Callable[[Handled], None]

RECEIVED: Final = 500
"""The most messages received at once."""
POLL_SECONDS: Final = 0.1
UPKEEP_SECONDS: Final = 1.0
"""Between commits; messages handled since the last one are delivered again after a crash."""
GRACE_SECONDS: Final = 20.0
"""For the current batch to end, when its partition is revoked or the worker stops."""
START_SECONDS: Final = 5.0
"""The time limit of a request for the offset at which a newly assigned partition starts."""
PLACE_SECONDS: Final = 1.0
"""The same when it is repeated: the worker's other partitions wait meanwhile."""
WATERMARK_SECONDS: Final = 1.0
REPEAT_SECONDS: Final = 30.0
"""Between two log lines for the same error code."""
PACING: Final = Pacing(first_pause=0.2, longest_pause=30.0)
"""Between attempts at a batch."""

_logger = logging.getLogger(__name__)


class WorkerFailed(Exception):
    """The group has fenced this worker, or librdkafka cannot continue; a restart may help."""


class KafkaWorker:
    """Runs once, on the event loop of the consumer's session."""

    def __init__(
        self,
        settings: KafkaSettings,
        consumer: Consumer,
        pacing: Pacing = PACING,
        clock: WaitingClock | None = None,
        rule: FailureRule = USUAL,
    ) -> None:
        """`rule` says what is done with messages for which the consumer raises."""
        self._rule = rule
        self.metrics = KafkaMetrics()
        self._settings = settings
        self._consumer = consumer
        self._pacing = pacing
        self._clock = clock or SystemClock()
        self._stopping = threading.Event()

    def stop(self) -> None:
        """From any thread: `run` finishes the current batches, commits, leaves the group, and returns."""
        self._stopping.set()

    async def run(self, joined: Callable[[], None]) -> None:
        """Run until `stop`. Calls `joined` once, after the group's first assignment, even an empty one.

        Raises WorkerFailed.
        """
        thread = ThreadPoolExecutor(1, thread_name_prefix="kafka")
        polling = asyncio.get_running_loop().run_in_executor(thread, self._poll, asyncio.get_running_loop(), joined)
        thread.shutdown(wait=False)
        try:
            await asyncio.shield(polling)
        except asyncio.CancelledError:
            self.stop()
            await polling
            raise

    def _poll(self, loop: asyncio.AbstractEventLoop, joined: Callable[[], None]) -> None:
        Subscription(self._settings, self._lane, loop, self.metrics, joined, self._clock).poll_until(self._stopping)

    def _lane(self, partition: int, report: Report) -> PartitionLane:
        return PartitionLane(partition, self._consumer, report, self.metrics, self._pacing, self._clock, self._rule)


class Subscription:
    def __init__(
        self,
        settings: KafkaSettings,
        lane: Callable[[int, Report], PartitionLane],
        loop: asyncio.AbstractEventLoop,
        metrics: KafkaMetrics,
        joined: Callable[[], None],
        clock: WaitingClock,
    ) -> None:
        """`lane` makes a partition's lane; lanes run on `loop`, and `joined` is called there once."""
        self._clock = clock
        self._topic = settings.topic
        self._new_lane = lane
        self._loop = loop
        self._metrics = metrics
        self._joined: Callable[[], None] | None = joined
        self._kafka = KafkaConsumer(settings.consumer() | {"error_cb": self._on_error}, logger=LIBRDKAFKA)
        self._assign = self._kafka.incremental_assign if settings.incremental else self._kafka.assign
        self._reset = str(settings.consumer()["auto.offset.reset"])
        self._commits = OffsetCommits(settings, self._kafka, metrics)
        self._handled: SimpleQueue[Handled] = SimpleQueue()
        self._assignments: dict[int, AssignedPartition] = {}
        self._unplaced: set[int] = set()
        """Assigned partitions whose start is not known yet; their messages are dropped until then."""
        self._fatal: KafkaError | None = None
        self._last_logged: dict[int, float] = {}
        """When each error code was last logged."""
        self._upkept, self._count_then = self._clock.monotonic(), 0

    def poll_until(self, stopping: Event) -> None:
        try:
            self._kafka.subscribe(
                [self._topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
            )
            while not stopping.is_set():
                self._take_turn()
        finally:
            # Leaving the group revokes the partitions, so `_on_revoke` finishes and commits.
            self._kafka.close()
            self._commits.close()

    def _take_turn(self) -> None:
        if self._fatal is not None:
            raise WorkerFailed(f"Kafka cannot continue: {self._fatal.str()}")
        self._collect()
        turn = next_turn(self._assignments, self._commits.rejected, self._clock.monotonic())
        if turn.pause:
            self._kafka.pause(self._partitions(turn.pause))
        if turn.resume:
            self._kafka.resume(self._partitions(turn.resume))
        if turn.receive:
            self._deliver(self._receive())
        else:
            self._await_handled()
        if self._clock.monotonic() - self._upkept >= UPKEEP_SECONDS:
            self._upkeep()

    def _receive(self) -> list[KafkaMessage]:
        """The messages that are there; if none, waits for the first. Callbacks are called from here."""
        first = self._kafka.poll(POLL_SECONDS)
        return [] if first is None else [first, *self._kafka.consume(RECEIVED - 1, 0)]

    def _deliver(self, received: list[KafkaMessage]) -> None:
        chunks: dict[int, list[Message]] = {}
        ahead: dict[int, AssignedPartition] = {}
        for each in received:
            error = each.error()
            if error is not None:
                self._on_error(error)
                continue
            message = _message(each)
            # A rebalance between two messages may have revoked the partition.
            assignment = self._assignments.get(message.partition)
            if assignment is None:
                continue
            if assignment.accept(message.offset):
                chunks.setdefault(message.partition, []).append(message)
            elif message.offset > assignment.next_offset:
                ahead[message.partition] = assignment
        for partition, messages in chunks.items():
            assignment = self._assignments[partition]
            chunk = MessageChunk(messages, sum(map(weight, messages)))
            assignment.load += chunk.weight
            self._commits.committed.setdefault(partition, messages[0].offset)
            self._loop.call_soon_threadsafe(assignment.lane.deliver, chunk)
        self._return_to_start([each for each in ahead.values() if not each.certain])

    def _return_to_start(self, assignments: list[AssignedPartition]) -> None:
        """Receive again from the start. If the next message is beyond it still, there is none at the start."""
        for assignment in assignments:
            partition = assignment.lane.partition
            try:
                self._kafka.seek(TopicPartition(self._topic, partition, assignment.next_offset))
            except KafkaException as error:
                # The partition is being revoked; otherwise the next message leads here again.
                _logger.warning("partition %d does not return to its start: %s", partition, reason_of(error))
            else:
                assignment.certain = True

    def _await_handled(self) -> None:
        try:
            self._collect_one(self._handled.get(timeout=POLL_SECONDS))
        except Empty:
            pass

    def _collect(self) -> None:
        while True:
            try:
                self._collect_one(self._handled.get_nowait())
            except Empty:
                return

    def _collect_one(self, handled: Handled) -> None:
        assignment = self._assignments.get(handled.lane.partition)
        # A partition that was revoked and assigned again has a new lane.
        if assignment is not None and assignment.lane is handled.lane:
            assignment.load -= handled.weight
            self._commits.handled(handled.lane.partition, handled.next_offset, handled.rejected)

    def _upkeep(self) -> None:
        self._commit()
        if self._unplaced:
            self._place()
        now, metrics = self._clock.monotonic(), self._metrics
        count = metrics.applied + metrics.rejected
        metrics.rate = (count - self._count_then) / (now - self._upkept)
        self._upkept, self._count_then = now, count
        metrics.partitions = len(self._assignments) + len(self._unplaced)
        metrics.under_way = sum(assignment.load for assignment in self._assignments.values())
        metrics.paused = sum(assignment.paused for assignment in self._assignments.values())
        self._measure_lag()

    def _commit(self) -> bool:
        try:
            self._commits.commit()
        except KafkaException as error:
            _logger.warning("offsets were not committed: %s", reason_of(error))
            return False
        return True

    def _measure_lag(self) -> None:
        lags = {}
        for partition, assignment in self._assignments.items():
            committed = self._commits.committed.get(partition)
            if committed is None:
                continue
            try:
                # The value that came with the last messages costs nothing; a paused partition gets none.
                _, high = self._kafka.get_watermark_offsets(
                    TopicPartition(self._topic, partition), WATERMARK_SECONDS, cached=not assignment.paused
                )
            except KafkaException as error:
                _logger.warning("cannot read the end of the topic: %s", reason_of(error))
                return
            if high >= 0:  # otherwise nothing has been fetched yet
                lags[partition] = max(0, high - committed)
        self._metrics.lags = lags

    def _on_assign(self, _: KafkaConsumer, partitions: list[TopicPartition]) -> None:
        if partitions:
            try:
                starts = self._find_starts(partitions, START_SECONDS)
                self._assign(starts)
            except KafkaException as error:
                # librdkafka assigns them without, and `_place` moves each to its start later.
                _logger.warning("cannot read the offsets of the group: %s", reason_of(error))
                self._unplaced |= {each.partition for each in partitions}
            else:
                for start in starts:
                    self._begin(start)
        if self._joined is not None:
            self._loop.call_soon_threadsafe(self._joined)
            self._joined = None

    def _find_starts(self, partitions: list[TopicPartition], seconds: float) -> list[TopicPartition]:
        committed = group_offsets(self._kafka, partitions, seconds)
        starts = start_offsets(self._kafka, partitions, committed, self._reset, seconds)
        self._commits.begin(committed)
        return starts

    def _begin(self, start: TopicPartition) -> None:
        lane = self._new_lane(start.partition, self._handled.put)
        self._assignments[start.partition] = AssignedPartition(lane, max(start.offset, 0))

    def _place(self) -> None:
        partitions = [TopicPartition(self._topic, partition) for partition in sorted(self._unplaced)]
        try:
            for start in self._find_starts(partitions, PLACE_SECONDS):
                self._kafka.seek(start)
                self._unplaced.remove(start.partition)
                self._begin(start)
        except KafkaException as error:
            _logger.warning("partitions %s do not start yet: %s", sorted(self._unplaced), reason_of(error))

    def _on_revoke(self, _: KafkaConsumer, partitions: list[TopicPartition]) -> None:
        """Finish the current batches and commit them, before the partitions go to another worker or this one stops."""
        revoked = {each.partition for each in partitions}
        self._end_lanes(revoked, GRACE_SECONDS)
        # The last chance: messages that are not committed now are delivered again.
        if not self._commit():
            self._commit()
        self._release(revoked)

    def _on_lost(self, _: KafkaConsumer, partitions: list[TopicPartition]) -> None:
        """The group reassigned these some time ago, and another worker may be handling them."""
        lost = {each.partition for each in partitions}
        _logger.warning("lost the partitions %s; messages that were not committed are delivered again", sorted(lost))
        self._end_lanes(lost, 0)
        self._release(lost)

    def _end_lanes(self, partitions: set[int], seconds: float) -> None:
        lanes = [self._assignments[each].lane for each in partitions if each in self._assignments]

        async def stop() -> None:
            await asyncio.gather(*(lane.stop(seconds) for lane in lanes))

        asyncio.run_coroutine_threadsafe(stop(), self._loop).result()
        self._collect()

    def _release(self, partitions: set[int]) -> None:
        self._commits.forget(partitions)
        self._unplaced -= partitions
        for partition in partitions:
            self._assignments.pop(partition, None)

    def _on_error(self, error: KafkaError) -> None:
        """Called by librdkafka, and for errors received as messages. While a broker is away, every attempt to connect
        raises the same error, many times a second."""
        if error.fatal() or error.code() == KafkaError._FATAL:
            self._fatal = error
        now = self._clock.monotonic()
        if now - self._last_logged.get(error.code(), -REPEAT_SECONDS) >= REPEAT_SECONDS:
            self._last_logged[error.code()] = now
            _logger.warning("Kafka: %s", error.str())

    def _partitions(self, assignments: list[AssignedPartition]) -> list[TopicPartition]:
        return [TopicPartition(self._topic, assignment.lane.partition) for assignment in assignments]


def _message(received: KafkaMessage) -> Message:
    headers = received.headers()
    return Message(
        received.value(),
        received.key(),
        received.topic() or "",
        received.partition() or 0,
        received.offset() or 0,
        received.timestamp()[1],
        headers if isinstance(headers, list) else (),
    )
