"""Sends the dead letters of change feeds to a Kafka topic, too. Needs the extra `kafka`.

A message has the record as DynamoDB JSON, and the feed, shard, sequence, time and reason as headers. Each is sent at
least once: a follower that dies before it has saved its position sends it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from sortkey.feeds.changes.dead_letter import DeadLetter
from sortkey.feeds.kafka.dead_letters import HEADER
from sortkey.feeds.kafka.kafka_settings import (
    LIBRDKAFKA,
    KafkaUnusable,
    create_dead_letters,
    read_properties,
    reason_of,
    topics_of,
)

__all__ = ["KafkaUnusable", "TopicDeadLetters", "open_topic"]

SEND_SECONDS: Final = 10.0


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
