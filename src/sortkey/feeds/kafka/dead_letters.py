"""Dead letters in Kafka topics: the messages that a worker's consumer rejected, and those of change feeds.

Letters of a worker and the offsets of their messages are committed in one Kafka transaction. A reader of committed
messages (`isolation.level=read_committed`, the default of most clients) therefore finds each rejected message exactly
once, even if a worker is killed: either both are committed, or the message is delivered, rejected and sent again.

A letter of a change feed has the record as DynamoDB JSON, and the feed, shard, sequence, time and reason as headers.
Each is sent at least once: a follower that dies before it has saved its position sends it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self
from uuid import uuid4

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from sortkey.feeds.kafka.kafka_settings import (
    LIBRDKAFKA,
    KafkaSettings,
    KafkaUnusable,
    create_dead_letters,
    read_properties,
    reason_of,
    topics_of,
)
from sortkey.feeds.kafka.message import Headers, Message, Rejected
from sortkey.feeds.shards.dead_letter import DeadLetter

HEADER: Final = "sortkey-"
REASON_BYTES: Final = 4096
SEND_SECONDS: Final = 10.0


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


def open_topic(bootstrap: str, topic: str, config: Path | None, seconds: float) -> TopicDeadLetters:
    """Creates the topic if it is missing. Raises KafkaUnusable."""
    properties: dict[str, Any] = {} if config is None else dict(read_properties(config))
    common = {**properties, "bootstrap.servers": bootstrap}
    try:
        admin = AdminClient(common, logger=LIBRDKAFKA)
    except KafkaException as error:
        raise KafkaUnusable(f"the Kafka properties are invalid: {reason_of(error)}") from error
    if topic not in topics_of(admin, bootstrap, seconds):
        create_dead_letters(admin, topic, seconds)
    return TopicDeadLetters(common, topic)


class TopicDeadLetters:
    """Called with each dead letter; a context manager that closes the producer."""

    def __init__(self, common: Mapping[str, Any], topic: str) -> None:
        self._topic = topic
        self._producer = Producer({**common, "enable.idempotence": True}, logger=LIBRDKAFKA)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._producer.purge()
        self._producer.close()

    async def __call__(self, letter: DeadLetter) -> None:
        """Returns when the broker has it. Raises KafkaException, or TimeoutError."""
        await asyncio.to_thread(self._send, letter)

    def _send(self, letter: DeadLetter) -> None:
        errors: list[KafkaError | None] = []
        headers = {
            "reason": letter.reason,
            "feed": letter.feed,
            "shard": letter.shard,
            "sequence": letter.sequence,
            "time": letter.at.isoformat(),
        }
        self._producer.produce(
            self._topic,
            letter.record.encode(),
            letter.feed.encode(),
            headers=[(f"{HEADER}{name}", value) for name, value in headers.items()],
            on_delivery=lambda error, _: errors.append(error),
        )
        self._producer.flush(SEND_SECONDS)
        if not errors:
            self._producer.purge()
            raise TimeoutError(f"the broker did not take a dead letter within {SEND_SECONDS:g} s")
        if errors[0] is not None:
            raise KafkaException(errors[0])
