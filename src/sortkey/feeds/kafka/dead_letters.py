"""Sends rejected messages to the dead-letter topic.

Dead letters and the offsets of their messages are committed in one Kafka transaction. A reader of committed messages
(`isolation.level=read_committed`, the default of most clients) therefore finds each rejected message exactly once, even
if a worker is killed: either both are committed, or the message is delivered, rejected and sent again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import uuid4

from confluent_kafka import Producer, TopicPartition

from sortkey.feeds.kafka.kafka_settings import LIBRDKAFKA, KafkaSettings
from sortkey.feeds.kafka.message import Headers, Message, Rejected

HEADER: Final = "sortkey-"
REASON_BYTES: Final = 4096


class DeadLetters:
    """Used by one thread. The producer is made for the first dead letter: most workers never need one."""

    def __init__(self, settings: KafkaSettings, seconds: float) -> None:
        self._settings = settings
        self._seconds = seconds
        # Two workers with the same id would abort each other's transactions.
        self._id = f"{settings.group}-{uuid4()}"
        self._producer: Producer | None = None

    def send(self, rejected: Sequence[Rejected], offsets: list[TopicPartition], group: Any) -> None:
        """Commits dead letters and offsets together, or neither. After a KafkaException, call `recover` first."""
        producer = self._ready()
        producer.begin_transaction()
        for message, reason in rejected:
            producer.produce(
                self._settings.dead_letters, message.value, message.key, headers=list(headers(message, reason))
            )
        producer.send_offsets_to_transaction(offsets, group, self._seconds)
        producer.commit_transaction(self._seconds)

    def recover(self) -> None:
        """End the transaction that raised: it completes if its commit had begun, and is aborted otherwise.

        Raises KafkaException while the broker does not answer.
        """
        self.close()
        self._ready()

    def close(self) -> None:
        if self._producer is not None:
            self._producer.purge()
            self._producer.close()
            self._producer = None

    def _ready(self) -> Producer:
        if self._producer is None:
            producer = Producer(self._settings.producer(self._id), logger=LIBRDKAFKA)
            # A producer with the id of an earlier one ends the transactions of that one.
            producer.init_transactions(self._seconds)
            self._producer = producer
        return self._producer


def headers(message: Message, reason: str) -> Headers:
    """The message's own headers, the reason of the rejection, and where the message came from."""
    # A dead letter that was sent back to its topic and rejected again keeps only the last rejection.
    own = [header for header in message.headers if not header[0].startswith(HEADER)]
    return [
        *own,
        (f"{HEADER}reason", reason.encode(errors="replace")[:REASON_BYTES]),
        (f"{HEADER}topic", message.topic),
        (f"{HEADER}partition", str(message.partition)),
        (f"{HEADER}offset", str(message.offset)),
        (f"{HEADER}time", str(message.time)),
    ]
