"""A worker's place in its Kafka group: receives, commits, and gives partitions up. Everything here is Kafka's thread.

That thread never waits for the store, except for batches of partitions that are being taken away, so the group keeps
the worker as long as it lives.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Event
from time import monotonic
from typing import Final

from confluent_kafka import Consumer as KafkaConsumer
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka import Message as KafkaMessage

from sortkey.feeds.flow_control import Share, next_turn, weight
from sortkey.feeds.kafka_settings import LIBRDKAFKA, KafkaSettings, reason_of
from sortkey.feeds.message import Message
from sortkey.feeds.metrics import FeedMetrics
from sortkey.feeds.offset_commits import Commits
from sortkey.feeds.partition_lane import Chunk, Handled, PartitionLane

RECEIVED: Final = 500
"""Messages received at once, at most."""
POLL_SECONDS: Final = 0.1
UPKEEP_SECONDS: Final = 1.0
"""Between commits; what was handled since the last one is delivered again after a crash."""
GRACE_SECONDS: Final = 20.0
"""For a batch under way to end, when its partition is taken away or the worker stops."""
WATERMARK_SECONDS: Final = 1.0
REPEAT_SECONDS: Final = 30.0
"""Between two reports of one kind of error."""

Report = Callable[[Handled], None]

_logger = logging.getLogger(__name__)


class WorkerFailed(Exception):
    """The group does not want this worker any more, or Kafka cannot go on; starting again may help."""


class Subscription:
    def __init__(
        self,
        settings: KafkaSettings,
        lane: Callable[[int, Report], PartitionLane],
        loop: asyncio.AbstractEventLoop,
        counted: FeedMetrics,
        joined: Callable[[], None],
    ) -> None:
        """`lane` makes a partition's lane, on `loop`; `joined` is called there, once."""
        self._topic = settings.topic
        self._new_lane = lane
        self._loop = loop
        self._counted = counted
        self._joined: Callable[[], None] | None = joined
        self._kafka = KafkaConsumer(settings.consumer() | {"error_cb": self._on_error}, logger=LIBRDKAFKA)
        self._commits = Commits(settings, self._kafka, counted)
        self._handled: SimpleQueue[Handled] = SimpleQueue()
        self._shares: dict[int, Share] = {}
        self._fatal: KafkaError | None = None
        self._complained: dict[int, float] = {}
        """When each kind of error was last logged."""
        self._upkept, self._count_then = monotonic(), 0

    def poll_until(self, stopping: Event) -> None:
        try:
            self._kafka.subscribe(
                [self._topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
            )
            while not stopping.is_set():
                self._take_turn()
        finally:
            # Leaving the group takes the partitions away, so `_on_revoke` does what is left to do.
            self._kafka.close()
            self._commits.close()

    def _take_turn(self) -> None:
        if self._fatal is not None:
            raise WorkerFailed(f"Kafka cannot go on: {self._fatal.str()}")
        self._collect()
        turn = next_turn(self._shares, self._commits.rejected, monotonic())
        if turn.pause:
            self._kafka.pause(self._partitions(turn.pause))
        if turn.resume:
            self._kafka.resume(self._partitions(turn.resume))
        if turn.receive:
            self._deliver(self._receive())
        else:
            self._await_handled()
        if monotonic() - self._upkept >= UPKEEP_SECONDS:
            self._upkeep()

    def _receive(self) -> list[KafkaMessage]:
        """What is there, or what comes first. Callbacks are called from here."""
        first = self._kafka.poll(POLL_SECONDS)
        return [] if first is None else [first, *self._kafka.consume(RECEIVED - 1, 0)]

    def _deliver(self, received: list[KafkaMessage]) -> None:
        chunks: dict[int, list[Message]] = {}
        for each in received:
            error = each.error()
            if error is None:
                message = _message(each)
                chunks.setdefault(message.partition, []).append(message)
            else:
                self._on_error(error)
        for partition, messages in chunks.items():
            # A rebalance between two messages may have taken the partition away.
            share = self._shares.get(partition)
            if share is not None:
                chunk = Chunk(messages, sum(map(weight, messages)))
                share.load += chunk.weight
                self._commits.committed.setdefault(partition, messages[0].offset)
                self._loop.call_soon_threadsafe(share.lane.deliver, chunk)

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
        share = self._shares.get(handled.lane.partition)
        # A partition that went and came back has another lane.
        if share is not None and share.lane is handled.lane:
            share.load -= handled.weight
            self._commits.handled(handled.lane.partition, handled.next_offset, handled.rejected)

    def _upkeep(self) -> None:
        self._commit()
        now, counted = monotonic(), self._counted
        count = counted.applied + counted.rejected
        counted.rate = (count - self._count_then) / (now - self._upkept)
        self._upkept, self._count_then = now, count
        counted.partitions = len(self._shares)
        counted.under_way = sum(share.load for share in self._shares.values())
        counted.paused = sum(share.paused for share in self._shares.values())
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
        for partition, share in self._shares.items():
            committed = self._commits.committed.get(partition)
            if committed is None:
                continue
            try:
                # What the broker said with the last messages costs nothing; a paused partition gets none.
                _, high = self._kafka.get_watermark_offsets(
                    TopicPartition(self._topic, partition), WATERMARK_SECONDS, cached=not share.paused
                )
            except KafkaException as error:
                _logger.warning("Kafka does not say how far the topic goes: %s", reason_of(error))
                return
            lags[partition] = max(0, high - committed)
        self._counted.lags = lags

    def _on_assign(self, _: KafkaConsumer, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            self._shares[each.partition] = Share(self._new_lane(each.partition, self._handled.put))
        if partitions:
            try:
                self._commits.begin(partitions)
            except KafkaException as error:
                # Only the lag needs them, and gets them from the first message.
                _logger.warning("Kafka does not say where the group stands: %s", reason_of(error))
        if self._joined is not None:
            self._loop.call_soon_threadsafe(self._joined)
            self._joined = None

    def _on_revoke(self, _: KafkaConsumer, partitions: list[TopicPartition]) -> None:
        """They go to another worker, or this one stops: finish what is under way, and commit it while they are ours."""
        taken = {each.partition for each in partitions}
        self._end_lanes(taken, GRACE_SECONDS)
        # The last chance: what is not committed now, others get again.
        if not self._commit():
            self._commit()
        self._let_go(taken)

    def _on_lost(self, _: KafkaConsumer, partitions: list[TopicPartition]) -> None:
        """The group took them some time ago, and somebody else may be at work on them."""
        lost = {each.partition for each in partitions}
        _logger.warning("lost the partitions %s; what was not committed is delivered again", sorted(lost))
        self._end_lanes(lost, 0)
        self._let_go(lost)

    def _end_lanes(self, partitions: set[int], seconds: float) -> None:
        lanes = [self._shares[each].lane for each in partitions if each in self._shares]

        async def stop() -> None:
            await asyncio.gather(*(lane.stop(seconds) for lane in lanes))

        asyncio.run_coroutine_threadsafe(stop(), self._loop).result()
        self._collect()

    def _let_go(self, partitions: set[int]) -> None:
        self._commits.forget(partitions)
        for partition in partitions:
            self._shares.pop(partition, None)

    def _on_error(self, error: KafkaError) -> None:
        """By a callback, or in a message's place. A broker that is away fails at every attempt to connect, many times a
        second, and always the same way."""
        if error.fatal() or error.code() == KafkaError._FATAL:
            self._fatal = error
        now = monotonic()
        if now - self._complained.get(error.code(), -REPEAT_SECONDS) >= REPEAT_SECONDS:
            self._complained[error.code()] = now
            _logger.warning("Kafka: %s", error.str())

    def _partitions(self, shares: list[Share]) -> list[TopicPartition]:
        return [TopicPartition(self._topic, share.lane.partition) for share in shares]


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
