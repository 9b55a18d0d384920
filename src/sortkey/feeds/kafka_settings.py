"""How a worker talks to Kafka: where, as whom, and with which of librdkafka's properties."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

DEAD_LETTERS_SUFFIX: Final = ".dead-letters"
LARGEST_DEAD_LETTER: Final = 16 << 20
"""A dead letter is larger than the message it holds, and must not fail where that one passed."""

DEFAULTS: Final[Mapping[str, Any]] = {
    # A group without offsets begins at the beginning: skipping what is there would be losing it.
    "auto.offset.reset": "earliest",
    # Fetched in pieces, so that messages of several partitions come mixed and can be handled side by side.
    "max.partition.fetch.bytes": 256 * 1024,
    "queued.max.messages.kbytes": 16 * 1024,
    # Once enough is fetched ahead, librdkafka would look again in a second only, and run dry meanwhile.
    "fetch.queue.backoff.ms": 20,
}
TRANSACTION_MILLISECONDS: Final = 10_000
"""What a killed worker left open is ended by the broker after this time."""

OWN: Final = frozenset(
    {
        "acks",
        "bootstrap.servers",
        "enable.auto.commit",
        "enable.auto.offset.store",
        "enable.idempotence",
        "group.id",
        "isolation.level",
        "transactional.id",
    }
)
"""Properties that the guarantees rest on."""

_logger = logging.getLogger(__name__)

LIBRDKAFKA: Final = logging.getLogger("sortkey.librdkafka")
# Consumer and producer are given the same file of properties, and each would complain of the other's. Connections that
# fail are also reported as errors, which are logged less often.
LIBRDKAFKA.addFilter(lambda record: not record.getMessage().startswith(("CONFWARN", "FAIL")))


class KafkaUnusable(Exception):
    """Kafka cannot be used like this; says what is wrong, and what would do."""


class KafkaSettings(msgspec.Struct, frozen=True):
    bootstrap: str
    topic: str
    group: str
    dead_letters: str
    properties: Mapping[str, str] = {}
    """More of librdkafka's, above all for security."""

    def common(self) -> dict[str, Any]:
        return {**self.properties, "bootstrap.servers": self.bootstrap}

    def consumer(self) -> dict[str, Any]:
        return {
            **DEFAULTS,
            **self._rebalancing(),
            **self.common(),
            "group.id": self.group,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
        }

    def _rebalancing(self) -> dict[str, Any]:
        """A rebalance takes from a worker what others get, and leaves it the rest."""
        if self.properties.get("group.protocol") == "consumer":
            return {}  # always like that, and to be told so would be an error
        return {"partition.assignment.strategy": "cooperative-sticky"}

    def producer(self, transactional_id: str) -> dict[str, Any]:
        return {
            "transaction.timeout.ms": TRANSACTION_MILLISECONDS,
            "message.max.bytes": LARGEST_DEAD_LETTER,
            **self.common(),
            "transactional.id": transactional_id,
        }


def read_properties(path: Path) -> dict[str, str]:
    """A file of `name=value` lines, as librdkafka's tools have it. Raises KafkaUnusable."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise KafkaUnusable(f"cannot read Kafka's properties in {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise KafkaUnusable(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from error
    properties = {}
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line or line.startswith("#"):
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        if not equals or not name:
            # The line itself may hold a password.
            raise KafkaUnusable(f"{path}, line {number} is not name=value")
        if name in OWN:
            raise KafkaUnusable(f"{path}, line {number}: {name} is the worker's own; leave it out")
        properties[name] = value
    return properties


def prepare(settings: KafkaSettings, seconds: float) -> None:
    """Find the broker and the topics, within so many seconds, and make the one for dead letters when it is missing.

    Raises KafkaUnusable.
    """
    try:
        admin = AdminClient(settings.common(), logger=LIBRDKAFKA)
        # What contradicts itself is rejected by whom it concerns: better now than in the middle.
        Consumer(settings.consumer(), logger=LIBRDKAFKA).close()
        Producer(settings.producer(settings.group), logger=LIBRDKAFKA).close()
    except KafkaException as error:
        raise KafkaUnusable(f"Kafka's properties cannot be used: {reason_of(error)}") from error
    try:
        known = admin.list_topics(timeout=seconds).topics
    except KafkaException as error:
        raise KafkaUnusable(
            f"cannot reach Kafka at {settings.bootstrap} within {seconds:g} s: {reason_of(error)}"
        ) from error
    if settings.topic not in known:
        raise KafkaUnusable(f"there is no topic {settings.topic!r} at {settings.bootstrap}: create it first")
    if settings.dead_letters not in known:
        _create(admin, settings.dead_letters, seconds)


def _create(admin: AdminClient, topic: str, seconds: float) -> None:
    """With as many partitions and replicas as the broker gives by default."""
    wanted = NewTopic(topic, -1, -1, config={"max.message.bytes": str(LARGEST_DEAD_LETTER)})
    try:
        admin.create_topics([wanted], request_timeout=seconds)[topic].result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return  # another worker, which started at the same time
        raise KafkaUnusable(
            f"there is no topic {topic!r} for dead letters, and it cannot be made: {reason_of(error)}"
        ) from error
    _logger.info("made the topic %s for dead letters", topic)


def reason_of(error: KafkaException) -> str:
    return str(error.args[0].str())
