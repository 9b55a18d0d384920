"""Writes messages to a topic, and reads them."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import Consumer, Message, Producer, TopicPartition

SECONDS = 60.0


def produce(bootstrap: str, topic: str, messages: Iterable[tuple[str, bytes | None]]) -> None:
    """Keys decide the partition. Idempotence keeps their order where a first try meets a partition without a leader."""
    patient = {"linger.ms": 20, "queue.buffering.max.messages": 1_000_000, "enable.idempotence": True}
    producer = Producer({"bootstrap.servers": bootstrap} | patient)
    for key, value in messages:
        producer.produce(topic, value, key)
    assert producer.flush(SECONDS) == 0


def everything(bootstrap: str, topic: str, partitions: int = 1) -> list[Message]:
    """All that is committed, partition by partition; what an aborted transaction left is not."""
    with_end = {"bootstrap.servers": bootstrap, "group.id": "reader", "enable.partition.eof": True}
    consumer = Consumer(with_end | {"isolation.level": "read_committed", "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
        found, ends = [], 0
        while ends < partitions:
            message = consumer.poll(SECONDS)
            assert message is not None, f"{topic} does not end"
            if message.error() is None:
                found.append(message)
            else:
                ends += 1
        return found
    finally:
        consumer.close()


def committed(bootstrap: str, topic: str, group: str, partitions: int) -> list[int]:
    """A group's offset in each partition; -1001 where it has none."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    try:
        asked = [TopicPartition(topic, partition) for partition in range(partitions)]
        return [each.offset for each in consumer.committed(asked, SECONDS)]
    finally:
        consumer.close()
