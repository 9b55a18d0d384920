"""How far each partition has been handled, on its way into the group's offsets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from confluent_kafka import Consumer as KafkaConsumer
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from sortkey.feeds.dead_letters import DeadLetters
from sortkey.feeds.kafka_settings import KafkaSettings
from sortkey.feeds.message import Rejected
from sortkey.feeds.metrics import FeedMetrics

REQUEST_SECONDS: Final = 10.0
"""For one answer of the broker."""


class Commits:
    """What was handled since the last commit. Belongs to the thread of the Kafka consumer.

    Offsets go alone, or with the dead letters that precede them in one transaction; never two commits at a time, since
    an earlier one that came later would set the group back, and a dead letter be sent twice.
    """

    def __init__(self, settings: KafkaSettings, kafka: KafkaConsumer, counted: FeedMetrics) -> None:
        self._topic = settings.topic
        self._kafka = kafka
        self._counted = counted
        self._dead_letters = DeadLetters(settings, REQUEST_SECONDS)
        self._offsets: dict[int, int] = {}
        self._rejected: list[Rejected] = []
        self.committed: dict[int, int] = {}
        """Where the group stands, of each partition that is ours, as far as it is known."""
        self._in_doubt = False
        """Whether a transaction may have succeeded although nobody said so."""

    @property
    def rejected(self) -> int:
        return len(self._rejected)

    def begin(self, partitions: list[TopicPartition]) -> None:
        """These are ours from now on. Raises KafkaException if the group's offsets are not to be had."""
        for partition, offset in self._of_group(partitions).items():
            if offset >= 0:
                self.committed[partition] = offset

    def handled(self, partition: int, next_offset: int, rejected: Sequence[Rejected]) -> None:
        self._offsets[partition] = next_offset
        self._rejected += rejected

    def forget(self, partitions: set[int]) -> None:
        """What was not committed is delivered again, to whoever has these partitions now."""
        for partition in partitions:
            self._offsets.pop(partition, None)
            self.committed.pop(partition, None)
        self._rejected = [each for each in self._rejected if each.message.partition not in partitions]

    def commit(self) -> None:
        """All that was handled. Raises KafkaException; nothing is lost by it, and the next commit tries again."""
        try:
            if self._in_doubt:
                self._resolve()
            if self._rejected:
                self._commit_with_dead_letters()
            elif self._offsets:
                self._commit_offsets()
        except KafkaException:
            self._counted.commits["failed"] += 1
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
        # Only now, or it could be put out of the group before it has said who it is.
        self._check_member()
        self._in_doubt = True
        self._dead_letters.send(self._rejected, self._positions(), member)
        self._in_doubt = False
        self._done()

    def _check_member(self) -> None:
        """The broker rejects a member of the past, but only by its name, which is gone as soon as librdkafka knows that
        it was put out; some time before `on_lost` tells us. Offsets in a transaction it takes from nobody as well.
        """
        if not self._kafka.memberid():
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_MEMBER_ID))

    def _done(self) -> None:
        self._counted.commits["ok"] += 1
        self._counted.dead_letters += len(self._rejected)
        self.committed |= self._offsets
        self._offsets.clear()
        self._rejected.clear()

    def _resolve(self) -> None:
        """Find out what became of a transaction: the group's offsets are where it says that it succeeded."""
        self._dead_letters.recover()
        committed = self._of_group(self._positions())
        unsent = [each for each in self._rejected if each.message.offset >= committed[each.message.partition]]
        self._counted.dead_letters += len(self._rejected) - len(unsent)
        self._rejected = unsent
        self._in_doubt = False

    def _of_group(self, partitions: list[TopicPartition]) -> dict[int, int]:
        answer = self._kafka.committed(partitions, timeout=REQUEST_SECONDS)
        for each in answer:
            if each.error is not None:
                raise KafkaException(each.error)
        return {each.partition: each.offset for each in answer}

    def _positions(self) -> list[TopicPartition]:
        return [TopicPartition(self._topic, partition, offset) for partition, offset in self._offsets.items()]
