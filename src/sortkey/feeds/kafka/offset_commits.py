"""The group's offsets: commits how far each partition was handled, and finds where a worker starts.

The worker looks the offset up before it assigns the partition, and does not leave that to librdkafka. For a partition
without a committed offset, librdkafka asks for the partition's first or last offset. If the partition is revoked before
the answer arrives, librdkafka asks again half a second later and then fetches a partition that is not assigned. When
the partition is assigned again, it may deliver those messages, although another worker has handled them meanwhile and
the group's offset is behind them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException, TopicPartition
from confluent_kafka import Consumer as KafkaConsumer

from sortkey.feeds.kafka.dead_letters import DeadLetters
from sortkey.feeds.kafka.kafka_settings import KafkaSettings
from sortkey.feeds.kafka.message import Rejected
from sortkey.feeds.kafka.metrics import KafkaMetrics

FIRST: Final = frozenset({"smallest", "earliest", "beginning"})
LAST: Final = frozenset({"largest", "latest", "end"})
"""The values of `auto.offset.reset`; the remaining one, `error`, starts nowhere."""
REQUEST_SECONDS: Final = 10.0
"""The time limit of a request to the broker."""


class OffsetCommits:
    """Collects what was handled since the last commit. Used by the Kafka thread only.

    Dead letters and the offsets after them are committed in one transaction, offsets without dead letters by a plain
    commit. Commits never overlap: an earlier one that arrived later would move the group back, and send a dead letter
    twice.
    """

    def __init__(self, settings: KafkaSettings, kafka: KafkaConsumer, metrics: KafkaMetrics) -> None:
        self._topic = settings.topic
        self._kafka = kafka
        self._metrics = metrics
        self._dead_letters = DeadLetters(settings, REQUEST_SECONDS)
        self._offsets: dict[int, int] = {}
        self._rejected: list[Rejected] = []
        self.committed: dict[int, int] = {}
        """The group's offset of each assigned partition, where it is known."""
        self._in_doubt = False
        """Whether a transaction that raised may have been committed."""

    @property
    def rejected(self) -> int:
        return len(self._rejected)

    def begin(self, committed: Mapping[int, int]) -> None:
        """Start with newly assigned partitions at the group's offsets."""
        self.committed |= committed

    def handled(self, partition: int, next_offset: int, rejected: Sequence[Rejected]) -> None:
        self._offsets[partition] = next_offset
        self._rejected += rejected

    def forget(self, partitions: set[int]) -> None:
        """Drop partitions that were revoked: what was not committed is delivered again, to their next worker."""
        for partition in partitions:
            self._offsets.pop(partition, None)
            self.committed.pop(partition, None)
        self._rejected = [each for each in self._rejected if each.message.partition not in partitions]

    def commit(self) -> None:
        """Commit everything handled. After a KafkaException nothing is lost, and the next commit tries again."""
        try:
            if self._in_doubt:
                self._resolve()
            if self._rejected:
                self._commit_with_dead_letters()
            elif self._offsets:
                self._commit_offsets()
        except KafkaException:
            self._metrics.commits["failed"] += 1
            raise

    def close(self) -> None:
        self._dead_letters.close()

    def _commit_offsets(self) -> None:
        self._check_member()
        for each in self._kafka.commit(offsets=self._positions(), asynchronous=False):
            if each.error is not None:
                raise KafkaException(each.error)
        self._done()

    def _commit_with_dead_letters(self) -> None:
        member = self._kafka.consumer_group_metadata()
        # Checked after the metadata is read: the group may remove this member between the two.
        self._check_member()
        self._in_doubt = True
        self._dead_letters.send(self._rejected, self._positions(), member)
        self._in_doubt = False
        self._done()

    def _check_member(self) -> None:
        """Raises KafkaException if the group has removed this member.

        The broker rejects a former member by its id only. librdkafka drops the id as soon as it learns of the removal,
        some time before it calls `on_lost`, and the broker accepts a transaction's offsets without an id.
        """
        if not self._kafka.memberid():
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_MEMBER_ID))

    def _done(self) -> None:
        self._metrics.commits["ok"] += 1
        self._metrics.dead_letters += len(self._rejected)
        self.committed |= self._offsets
        self._offsets.clear()
        self._rejected.clear()

    def _resolve(self) -> None:
        """Find out whether a transaction was committed: if so, the group's offsets include its messages."""
        self._dead_letters.recover()
        committed = group_offsets(self._kafka, self._positions(), REQUEST_SECONDS)
        unsent = [each for each in self._rejected if each.message.offset >= committed.get(each.message.partition, 0)]
        self._metrics.dead_letters += len(self._rejected) - len(unsent)
        self._rejected = unsent
        self._in_doubt = False

    def _positions(self) -> list[TopicPartition]:
        return [TopicPartition(self._topic, partition, offset) for partition, offset in self._offsets.items()]


def group_offsets(kafka: KafkaConsumer, partitions: Sequence[TopicPartition], seconds: float) -> dict[int, int]:
    """The group's offset of each partition that has one. Raises KafkaException, also while a transaction is open that
    may change an offset."""
    answer = kafka.committed(list(partitions), timeout=seconds)
    for each in answer:
        if each.error is not None:
            raise KafkaException(each.error)
    return {each.partition: each.offset for each in answer if each.offset >= 0}


def start_offsets(
    kafka: KafkaConsumer, partitions: Sequence[TopicPartition], committed: Mapping[int, int], reset: str, seconds: float
) -> list[TopicPartition]:
    """The partitions with the committed offset, or else the one that `reset` names. Raises KafkaException."""
    starts = []
    for each in partitions:
        offset = committed.get(each.partition)
        if offset is None:
            offset = _reset_offset(kafka, each, reset, seconds)
        starts.append(TopicPartition(each.topic, each.partition, offset))
    return starts


def _reset_offset(kafka: KafkaConsumer, partition: TopicPartition, reset: str, seconds: float) -> int:
    if reset not in FIRST | LAST:
        return OFFSET_INVALID  # librdkafka reports the error
    low, high = kafka.get_watermark_offsets(partition, seconds)
    return low if reset in FIRST else high
