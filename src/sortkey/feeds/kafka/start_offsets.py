"""Finds where a worker starts in the partitions that its group assigns to it.

The worker looks the offset up before it assigns the partition, and does not leave that to librdkafka. For a partition
without a committed offset, librdkafka asks for the partition's first or last offset. If the partition is revoked before
the answer arrives, librdkafka asks again half a second later and then fetches a partition that is not assigned. When
the partition is assigned again, it may deliver those messages, although another worker has handled them meanwhile and
the group's offset is behind them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from confluent_kafka import OFFSET_INVALID, KafkaException, TopicPartition
from confluent_kafka import Consumer as KafkaConsumer

FIRST: Final = frozenset({"smallest", "earliest", "beginning"})
LAST: Final = frozenset({"largest", "latest", "end"})
"""The values of `auto.offset.reset`; the remaining one, `error`, starts nowhere."""


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
