"""`TopicLetters`: the dead letters of a worker, in a topic of Kafka.

A topic forgets nothing, so what was sent or dropped is remembered by a consumer group of this command: the offset up to
which all letters are done, and in the offset's metadata a bit for each later one, because filters leave letters out.
Messages and offsets are committed in one transaction, so each letter is sent once, also if a command is killed. Two
commands have the same transactional id: the later one ends the earlier one.

A letter goes to the topic and partition that it came from, with its key, value, time and own headers.
"""

from __future__ import annotations

import zlib
from base64 import b64encode, b85decode, b85encode
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, Final, NamedTuple, Self, TypeVar

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka import Message as KafkaMessage
from confluent_kafka.admin import AdminClient

from sortkey.feeds.kafka.dead_letters import HEADER
from sortkey.feeds.kafka.kafka_settings import LIBRDKAFKA, KafkaSettings, KafkaUnusable, reason_of
from sortkey.feeds.kafka.message import Headers
from sortkey.feeds.resend.letters import Action, Dealt, Letter, Outcome, Stopped, UnknownLetters, Wanted

GROUP_SUFFIX: Final = "-dead-letters"
METADATA_BYTES: Final = 4096
"""The most that a broker keeps with an offset, by default."""
CHUNK: Final = 500
CHUNK_BYTES: Final = 8 << 20
"""The most letters, and the most of them, in one transaction."""
POLL_SECONDS: Final = 0.5
OPEN_SECONDS: Final = 2.0
"""To wait for the end of a worker's transaction."""
_FORM: Final = "sortkey1:"
_ANY_PARTITION: Final = -1
# Public by its documentation, and without types.
_LATEST: Final[Any] = import_module("confluent_kafka.admin").OffsetSpec.latest()
_FENCED: Final = frozenset({KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED})
_FETCHED: Final = {
    "queued.max.messages.kbytes": 16 * 1024,
    "fetch.queue.backoff.ms": 20,
    # The broker tells at once that a partition has ended.
    "fetch.wait.max.ms": 10,
}


class HandledOffsets:
    """Which letters of a partition are sent or dropped: all before `first`, and those with a bit."""

    def __init__(self, first: int, bits: int = 0) -> None:
        self.first = first
        self._bits = bits

    @classmethod
    def read(cls, offset: int, metadata: str | None, low: int) -> Self:
        """What the group has committed; `low` is the first offset that the topic still has. Raises KafkaUnusable."""
        if offset < 0:
            return cls(low)
        found = cls(offset)
        if metadata:
            if not metadata.startswith(_FORM):
                raise KafkaUnusable(
                    "another program has committed offsets of this command's group; name another one by --group"
                )
            found._bits = int.from_bytes(zlib.decompress(b85decode(metadata.removeprefix(_FORM))), "little")
        if low > found.first:
            found._bits >>= low - found.first
            found.first = low
        return found

    @property
    def metadata(self) -> str:
        if not self._bits:
            return ""
        data = self._bits.to_bytes((self._bits.bit_length() + 7) // 8, "little")
        return _FORM + b85encode(zlib.compress(data, 9)).decode()

    def __contains__(self, offset: int) -> bool:
        return offset < self.first or bool(self._bits >> (offset - self.first) & 1)

    def with_range(self, first: int, end: int) -> HandledOffsets:
        """These, and the offsets from `first` on, before `end`."""
        first = max(first, self.first)
        if first >= end:
            return self
        bits = self._bits | ((1 << (end - first)) - 1) << (first - self.first)
        done = (~bits & (bits + 1)).bit_length() - 1
        return HandledOffsets(self.first + done, bits >> done)


class Resent(NamedTuple):
    """A message as it was before it was rejected."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, str | bytes | None]]
    time: int


class Chunk:
    """Letters of one partition that are sent or dropped in one transaction."""

    def __init__(self) -> None:
        self.letters: list[Letter] = []
        self.messages: list[Resent] = []
        self._bytes = 0

    def add(self, letter: Letter, resent: Resent | None) -> None:
        self.letters.append(letter)
        if resent is not None:
            self.messages.append(resent)
            self._bytes += len(resent.value or b"") + len(resent.key or b"")

    @property
    def is_full(self) -> bool:
        return len(self.letters) >= CHUNK or self._bytes >= CHUNK_BYTES


class TopicLetters:
    """A context manager. `settings.dead_letters` is the topic with the letters, `settings.group` the worker's group."""

    def __init__(self, settings: KafkaSettings, seconds: float) -> None:
        """Raises KafkaUnusable."""
        self._topic = settings.dead_letters
        self._seconds = seconds
        self._id = f"{settings.group}{GROUP_SUFFIX}-{self._topic}"
        self._settings = settings
        reading = {
            **_FETCHED,
            **settings.common(),
            "group.id": f"{settings.group}{GROUP_SUFFIX}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
        try:
            self._admin = AdminClient(settings.common(), logger=LIBRDKAFKA)
            self._consumer = Consumer(reading, logger=LIBRDKAFKA)
        except KafkaException as error:
            raise KafkaUnusable(f"the Kafka properties are invalid: {reason_of(error)}") from error
        try:
            topics = self._admin.list_topics(timeout=seconds).topics
        except KafkaException as error:
            self._consumer.close()
            raise KafkaUnusable(
                f"cannot reach Kafka at {settings.bootstrap} within {seconds:g} s: {reason_of(error)}"
            ) from error
        self._partitions = {name: len(topic.partitions) for name, topic in topics.items()}
        self._producer: Producer | None = None
        if self._topic not in topics:
            self._consumer.close()
            raise KafkaUnusable(f"there is no topic {self._topic!r} at {settings.bootstrap}: no letter was written")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()
        if self._producer is not None:
            self._producer.purge()
            self._producer.close()

    def walk(self, wanted: Wanted, action: Action | None) -> Iterator[Dealt]:
        """The letters that are there now and were neither sent nor dropped, by partition, each with what became of it.
        Raises UnknownLetters, KafkaUnusable and Stopped."""
        if wanted.feeds:
            raise UnknownLetters("--feed is for letters of change feeds, which are in the store: leave --kafka out")
        ids = sorted({offset_of(each) for each in wanted.ids})
        if action is not None and self._producer is None:
            # Before the offsets are read: an earlier command commits nothing after this.
            self._producer = self._transactional()
        left = wanted.limit
        for partition in sorted({each for each, _ in ids}) if ids else range(self._partitions[self._topic]):
            if left == 0:
                return
            offsets = [offset for each, offset in ids if each == partition]
            for dealt in self._walk_partition(partition, wanted._replace(limit=left), offsets, action):
                left = None if left is None else left - 1
                yield dealt

    def _transactional(self) -> Producer:
        producer = Producer(self._settings.producer(self._id), logger=LIBRDKAFKA)
        try:
            producer.init_transactions(self._seconds)
        except KafkaException as error:
            raise KafkaUnusable(f"Kafka begins no transaction of {self._id!r}: {reason_of(error)}") from error
        return producer

    def _walk_partition(
        self, partition: int, wanted: Wanted, offsets: Sequence[int], action: Action | None
    ) -> Iterator[Dealt]:
        handled, end = self._state(partition)
        following, number, chunk = handled.first, 0, Chunk()
        for message in self._messages(partition, handled, end, offsets):
            offset = message.offset() or 0
            if not offsets:
                # Offsets without a message are ends of transactions.
                handled, following = handled.with_range(following, offset), offset + 1
            letter = letter_of(message)
            if offset in handled or not wanted.matches(letter.at, letter.reason):
                continue
            number += 1
            if action is None:
                yield Dealt(letter, Outcome.LISTED)
            elif isinstance(resent := self._resent(message) if action is Action.RETRY else None, str):
                yield Dealt(letter, Outcome.FAILED, resent)
            else:
                handled = handled.with_range(offset, offset + 1)
                chunk.add(letter, resent)
                if chunk.is_full:
                    yield from self._committed(partition, handled, chunk, action)
                    chunk = Chunk()
            if number == wanted.limit:
                break
        if action is not None and chunk.letters:
            yield from self._committed(partition, handled, chunk, action)

    def _messages(
        self, partition: int, handled: HandledOffsets, end: int, offsets: Sequence[int]
    ) -> Iterator[KafkaMessage]:
        """Those from the first that is not done, or those with these offsets; before `end`."""
        for first, last in [(each, each + 1) for each in offsets] or [(handled.first, end)]:
            if first >= end or last <= handled.first:
                continue
            self._consumer.assign([TopicPartition(self._topic, partition, first)])
            yield from self._read(last)

    def _read(self, end: int) -> Iterator[KafkaMessage]:
        waited, is_before_open = 0.0, False
        while True:
            message = self._consumer.poll(POLL_SECONDS)
            if message is None:
                waited += POLL_SECONDS
                if is_before_open and waited >= OPEN_SECONDS:
                    return
                if waited >= self._seconds:
                    raise Stopped(f"Kafka sends nothing of {self._topic} within {self._seconds:g} s")
                continue
            error = message.error()
            if error is None:
                waited, is_before_open = 0.0, False
                offset = message.offset() or 0
                if offset < end:
                    yield message
                if offset + 1 >= end:
                    return
            elif error.code() == KafkaError._PARTITION_EOF:
                if (message.offset() or 0) >= end:
                    return
                # What comes next is in a transaction that is not ended: a worker's, often for a moment only.
                is_before_open = True
            elif not error.retriable():
                raise Stopped(f"Kafka does not read {self._topic}: {error.str()}")

    def _resent(self, message: KafkaMessage) -> Resent | str:
        """The message to send; or why there is none."""
        given = message.headers()
        headers = given if isinstance(given, list) else []
        own = [header for header in headers if not header[0].startswith(HEADER)]
        told = told_by(headers)
        if "feed" in told:
            return "it is the letter of a change feed: send it again from the store, without --kafka"
        if "topic" not in told:
            return f"it has no header {HEADER}topic, so it is not known where it was"
        partitions = self._partitions.get(told["topic"])
        if partitions is None:
            return f"there is no topic {told['topic']!r} any more"
        # Other producers may divide keys otherwise; its partition keeps it in line with the messages of its key.
        partition = _number(told.get("partition"), _ANY_PARTITION)
        return Resent(
            told["topic"],
            partition if partition < partitions else _ANY_PARTITION,
            message.key(),
            message.value(),
            own,
            max(_number(told.get("time"), 0), 0),
        )

    def _committed(self, partition: int, handled: HandledOffsets, chunk: Chunk, action: Action) -> Iterator[Dealt]:
        """Sends the messages of a chunk, and commits what is done then, or neither. Raises Stopped."""
        producer = self._producer
        assert producer is not None
        metadata = handled.metadata
        if len(metadata) > METADATA_BYTES:
            raise Stopped(
                f"the group cannot remember so many letters that were left out; send or drop those before "
                f"{chunk.letters[0].id} first, from {partition}:{handled.first} on"
            )
        place = TopicPartition(self._topic, partition, handled.first, metadata)
        errors: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: KafkaMessage) -> None:
            if error is not None:
                errors.append(error)

        try:
            producer.begin_transaction()
            for topic, to, key, value, headers, time in chunk.messages:
                producer.produce(
                    topic, value, key, partition=to, timestamp=time, headers=headers, on_delivery=delivered
                )
            producer.send_offsets_to_transaction([place], self._consumer.consumer_group_metadata(), self._seconds)
            producer.commit_transaction(self._seconds)
        except KafkaException as error:
            raise self._failure(producer, errors[0] if errors else error.args[0]) from error
        outcome = Outcome.SENT if action is Action.RETRY else Outcome.DROPPED
        for letter in chunk.letters:
            yield Dealt(letter, outcome)

    def _failure(self, producer: Producer, error: KafkaError) -> Stopped:
        if error.code() in _FENCED:
            # To close it would raise this again.
            self._producer = None
            return Stopped(f"another command has begun to send or drop letters of {self._topic}")
        try:
            producer.abort_transaction(self._seconds)
        except KafkaException as trouble:
            return Stopped(f"Kafka does not take the letters: {error.str()}; {reason_of(trouble)}")
        return Stopped(f"Kafka does not take the letters: {error.str()}")

    def _state(self, partition: int) -> tuple[HandledOffsets, int]:
        """What is done, and the end of the partition now: what comes later may be a letter that was sent again."""
        place = TopicPartition(self._topic, partition)
        try:
            low, _ = self._consumer.get_watermark_offsets(place, self._seconds)
            # The consumer's own end is before transactions that are not ended.
            asked = self._admin.list_offsets({place: _LATEST}, request_timeout=self._seconds)
            high = asked[place].result().offset
            (committed,) = self._consumer.committed([place], self._seconds)
        except KafkaException as error:
            raise Stopped(f"Kafka does not tell the offsets of {self._topic}: {reason_of(error)}") from error
        return HandledOffsets.read(committed.offset, committed.metadata, low), high


def told_by(headers: Headers) -> dict[str, str]:
    """What the worker has added, by the names without the prefix."""
    return {
        name.removeprefix(HEADER): value.decode(errors="replace") if isinstance(value, bytes) else value or ""
        for name, value in headers
        if name.startswith(HEADER)
    }


def letter_of(message: KafkaMessage) -> Letter:
    given = message.headers()
    headers = given if isinstance(given, list) else []
    told = told_by(headers)
    at = datetime.fromtimestamp(max(message.timestamp()[1], 0) / 1000, UTC)
    content = {
        "topic": told.get("topic", ""),
        "partition": _number(told.get("partition"), None),
        "offset": _number(told.get("offset"), None),
        "key": _text(message.key()),
        "value": _text(message.value()),
        "headers": [[name, _text(value)] for name, value in headers if not name.startswith(HEADER)],
    }
    source = told.get("topic") or told.get("feed") or message.topic() or ""
    return Letter(f"{message.partition()}:{message.offset()}", source, at, told.get("reason", ""), content)


def offset_of(text: str) -> tuple[int, int]:
    """Raises UnknownLetters."""
    partition, _, offset = text.partition(":")
    if not partition.isdecimal() or not offset.isdecimal():
        raise UnknownLetters(f"{text!r} is not the id of a letter in a topic: PARTITION:OFFSET, as the list shows it")
    return int(partition), int(offset)


def _text(value: bytes | str | None) -> str | dict[str, str] | None:
    """Bytes that are no text are in base64."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(value).decode()}


N = TypeVar("N", int, None)


def _number(text: str | None, otherwise: int | N) -> int | N:
    return int(text) if text is not None and text.isdecimal() else otherwise
