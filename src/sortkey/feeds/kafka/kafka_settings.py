"""A worker's Kafka settings: the brokers, topics and group, and librdkafka's properties."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

DEAD_LETTERS_SUFFIX: Final = ".dead-letters"
LARGEST_DEAD_LETTER: Final = 16 << 20
"""A dead letter is larger than its message, and the broker must accept it too."""

DEFAULTS: Final[Mapping[str, Any]] = {
    # A group without offsets starts at the beginning: otherwise existing messages would be lost.
    "auto.offset.reset": "earliest",
    # Small fetches mix messages of several partitions, so that they are handled concurrently.
    "max.partition.fetch.bytes": 256 * 1024,
    "queued.max.messages.kbytes": 16 * 1024,
    # By default librdkafka waits a second after it has fetched enough, and runs dry meanwhile.
    "fetch.queue.backoff.ms": 20,
}
TRANSACTION_MILLISECONDS: Final = 10_000
"""The broker ends the transactions of a killed worker after this time."""

RESERVED: Final = frozenset(
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
"""Properties that the worker sets itself: its guarantees depend on them."""

LIBRDKAFKA: Final = logging.getLogger("sortkey.librdkafka")
# Consumer and producer get the same properties, and each would warn about those of the other. Lost connections are also
# reported as errors, which are logged less often.
LIBRDKAFKA.addFilter(lambda record: not record.getMessage().startswith(("CONFWARN", "FAIL")))

_logger = logging.getLogger(__name__)


class KafkaUnusable(Exception):
    """Kafka cannot be used with these settings; the message says why."""


class KafkaSettings(msgspec.Struct, frozen=True):
    bootstrap: str
    topic: str
    group: str
    dead_letters: str
    properties: Mapping[str, str] = {}
    """Further librdkafka properties, mainly for authentication."""

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

    @property
    def incremental(self) -> bool:
        """Whether a rebalance assigns partitions in addition to those that the worker has, or all anew."""
        settings = self.consumer()
        strategy = settings.get("partition.assignment.strategy", "")
        return settings.get("group.protocol") == "consumer" or "cooperative" in strategy

    def _rebalancing(self) -> dict[str, Any]:
        """A rebalance revokes only the partitions that move to another worker."""
        if self.properties.get("group.protocol") == "consumer":
            return {}  # this protocol always does so, and rejects the property
        return {"partition.assignment.strategy": "cooperative-sticky"}

    def producer(self, transactional_id: str) -> dict[str, Any]:
        return {
            "transaction.timeout.ms": TRANSACTION_MILLISECONDS,
            "message.max.bytes": LARGEST_DEAD_LETTER,
            **self.common(),
            "transactional.id": transactional_id,
        }


def read_properties(path: Path) -> dict[str, str]:
    """Reads lines of `name=value`, the format of librdkafka's tools. Raises KafkaUnusable."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise KafkaUnusable(f"cannot read the Kafka properties in {path}: {error.strerror}") from error
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
        if name in RESERVED:
            raise KafkaUnusable(f"{path}, line {number}: {name} is set by the worker; remove it")
        properties[name] = value
    return properties


def prepare(settings: KafkaSettings, seconds: float) -> None:
    """Check the broker and the topics, and create the dead-letter topic if it is missing. Raises KafkaUnusable."""
    try:
        admin = AdminClient(settings.common(), logger=LIBRDKAFKA)
        # Each rejects properties that contradict each other: better at the start than later.
        Consumer(settings.consumer(), logger=LIBRDKAFKA).close()
        Producer(settings.producer(settings.group), logger=LIBRDKAFKA).close()
    except KafkaException as error:
        raise KafkaUnusable(f"the Kafka properties are invalid: {reason_of(error)}") from error
    known = topics_of(admin, settings.bootstrap, seconds)
    if settings.topic not in known:
        raise KafkaUnusable(f"there is no topic {settings.topic!r} at {settings.bootstrap}: create it first")
    if settings.dead_letters not in known:
        create_dead_letters(admin, settings.dead_letters, seconds)


def topics_of(admin: AdminClient, bootstrap: str, seconds: float) -> Collection[str]:
    """Raises KafkaUnusable if no broker answers."""
    try:
        return admin.list_topics(timeout=seconds).topics
    except KafkaException as error:
        raise KafkaUnusable(f"cannot reach Kafka at {bootstrap} within {seconds:g} s: {reason_of(error)}") from error


def create_dead_letters(admin: AdminClient, topic: str, seconds: float) -> None:
    """With the broker's default numbers of partitions and replicas."""
    wanted = NewTopic(topic, -1, -1, config={"max.message.bytes": str(LARGEST_DEAD_LETTER)})
    try:
        admin.create_topics([wanted], request_timeout=seconds)[topic].result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return  # by another worker that started at the same time
        raise KafkaUnusable(f"cannot create the dead-letter topic {topic!r}: {reason_of(error)}") from error
    _logger.info("created the dead-letter topic %s", topic)


def reason_of(error: KafkaException) -> str:
    return str(error.args[0].str())
