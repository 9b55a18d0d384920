"""`sk.feeds.KafkaTopic`: events as messages of a topic."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from sortkey.extras import installed_by
from sortkey.feeds.targets.event_target import EventRejected, OutgoingEvent
from sortkey.model.errors import DeclarationError

SEND_SECONDS: Final = 10.0

_GUARANTEES: Final = ("acks", "enable.idempotence", "transactional.id")


class KafkaTopic:
    """A topic that gets events, each with its key. Events of one key are in one partition, in order.

        target = sk.feeds.KafkaTopic("orders", {"bootstrap.servers": "localhost:9092", "security.protocol": "SSL"})

    `config` has librdkafka's properties. The topic must exist. Needs the extra `kafka`.
    """

    def __init__(self, topic: str, config: Mapping[str, str | int | float | bool]) -> None:
        """Raises DeclarationError for properties that librdkafka rejects."""
        fixed = next((name for name in _GUARANTEES if name in config), None)
        if fixed is not None:
            raise DeclarationError(f"{fixed} is set by sk.feeds.KafkaTopic, whose guarantees need it; remove it")
        if not config.get("bootstrap.servers"):
            raise DeclarationError('bootstrap.servers is missing: the brokers, such as "localhost:9092"')
        # Installed by an extra, and most programs send nothing to Kafka.
        with installed_by("kafka"):
            self._kafka: Any = import_module("confluent_kafka")
            logger = import_module("sortkey.feeds.kafka.kafka_settings").LIBRDKAFKA
        self._topic = topic
        try:
            self._producer = self._kafka.Producer({**config, "enable.idempotence": True}, logger=logger)
        except self._kafka.KafkaException as error:
            raise DeclarationError(f"the Kafka properties are invalid: {error.args[0].str()}") from error

    def __repr__(self) -> str:
        return f"<Kafka topic {self._topic}>"

    async def send(self, events: Sequence[OutgoingEvent]) -> None:
        if events:
            await asyncio.to_thread(self._send, events)

    def _send(self, events: Sequence[OutgoingEvent]) -> None:
        answers: list[Any] = []
        """An error, or None, for each that was handed over."""
        rejected: list[OutgoingEvent] = []
        for event in events:
            try:
                self._produce(event, answers)
            except self._kafka.KafkaException as error:
                if error.args[0].code() != self._kafka.KafkaError.MSG_SIZE_TOO_LARGE:
                    raise
                rejected.append(event)
        self._producer.flush(SEND_SECONDS)
        if len(answers) < len(events) - len(rejected):
            self._producer.purge()
            raise self._late()
        failed = [error for error in answers if error is not None]
        if rejected or any(error.code() == self._kafka.KafkaError.MSG_SIZE_TOO_LARGE for error in failed):
            names = ", ".join(event.id for event in rejected or events)
            raise EventRejected(f"topic {self._topic} takes no message of this size: {names}")
        if failed:
            raise self._kafka.KafkaException(failed[0])

    def _produce(self, event: OutgoingEvent, answers: list[Any]) -> None:
        def delivered(error: Any, _: object) -> None:
            answers.append(error)

        try:
            self._producer.produce(self._topic, event.body, event.key.encode(), on_delivery=delivered)
        except BufferError:
            # The queue is full: wait until it is empty.
            if self._producer.flush(SEND_SECONDS):
                self._producer.purge()
                raise self._late() from None
            self._producer.produce(self._topic, event.body, event.key.encode(), on_delivery=delivered)

    def _late(self) -> TimeoutError:
        return TimeoutError(f"the broker did not take the events of topic {self._topic} within {SEND_SECONDS:g} s")
