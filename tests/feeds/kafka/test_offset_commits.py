"""Offsets and dead letters reach the broker together, once, whatever goes wrong between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from sortkey.feeds.kafka.dead_letters import DeadLetters, headers
from sortkey.feeds.kafka.message import Message, Rejected
from sortkey.feeds.kafka.metrics import KafkaMetrics
from sortkey.feeds.kafka.offset_commits import OffsetCommits
from tests.feeds.kafka.working import SECONDS, dead_letters, settings
from tests.kafka.broker import Broker
from tests.kafka.topic import committed, produce


def rejected(topic: str, *offsets: int) -> list[Rejected]:
    return [Rejected(Message(b"%d" % offset, b"k", topic, 0, offset), "poisoned") for offset in offsets]


class Bench:
    """A member of a group that has one partition, and its commits."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.topic = broker.topic(1)
        produce(broker.bootstrap, self.topic, [("k", b"%d" % each) for each in range(10)])
        self.kafka = settings(broker, self.topic)
        self.consumer = Consumer(self.kafka.consumer())
        self.consumer.subscribe([self.topic])
        assert self.consumer.poll(SECONDS) is not None
        self.metrics = KafkaMetrics()
        self.commits = OffsetCommits(self.kafka, self.consumer, self.metrics)
        self.commits.begin({})

    def letters(self, number: int = 0) -> list[bytes | None]:
        """At least so many."""
        return [letter.value() for letter in dead_letters(self.kafka, number)]

    @property
    def committed(self) -> int:
        return committed(self.broker.bootstrap, self.topic, self.kafka.group, 1)[0]


@pytest.fixture
def bench(broker: Broker) -> Iterator[Bench]:
    bench = Bench(broker)
    yield bench
    bench.consumer.close()
    bench.commits.close()


def test_offsets_alone(bench: Bench) -> None:
    bench.commits.handled(0, 4, ())
    bench.commits.commit()
    assert bench.committed == bench.commits.committed[0] == 4
    assert bench.letters() == []


def test_nothing_to_commit_is_no_commit(bench: Bench) -> None:
    bench.commits.commit()
    assert bench.metrics.commits == {"ok": 0, "failed": 0}


def test_offsets_with_dead_letters(bench: Bench) -> None:
    bench.commits.handled(0, 4, rejected(bench.topic, 1, 3))
    bench.commits.commit()
    bench.commits.handled(0, 6, rejected(bench.topic, 5))
    bench.commits.commit()
    assert (bench.committed, bench.letters(3)) == (6, [b"1", b"3", b"5"])
    assert bench.metrics.dead_letters == 3


def test_what_is_forgotten_is_not_committed(bench: Bench) -> None:
    bench.commits.handled(0, 4, rejected(bench.topic, 1))
    bench.commits.forget({0})
    bench.commits.commit()
    assert (bench.committed, bench.letters()) == (-1001, [])


def broken(monkeypatch: pytest.MonkeyPatch, call: str, effect: bool) -> None:
    """Let this call of the next producer fail once, with or without its effect."""
    failed: list[str] = []

    class Broken(Producer):
        def _fail_once(self, name: str, *arguments: Any) -> None:
            if name != call or failed:
                getattr(Producer, name)(self, *arguments)
                return
            if effect:
                getattr(Producer, name)(self, *arguments)
            failed.append(name)
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "nobody answered"))

        def send_offsets_to_transaction(self, *arguments: Any) -> None:
            self._fail_once("send_offsets_to_transaction", *arguments)

        def commit_transaction(self, *arguments: Any) -> None:
            self._fail_once("commit_transaction", *arguments)

    monkeypatch.setattr("sortkey.feeds.kafka.dead_letters.Producer", Broken)


# The answer was lost, and whether the transaction had succeeded shows only in the group's offsets.
@pytest.mark.parametrize(
    ("call", "effect"),
    [("send_offsets_to_transaction", False), ("commit_transaction", False), ("commit_transaction", True)],
)
def test_a_transaction_in_doubt_sends_no_dead_letter_twice_and_none_never(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, call: str, effect: bool
) -> None:
    broken(monkeypatch, call, effect)
    bench.commits.handled(0, 4, rejected(bench.topic, 1, 3))
    with pytest.raises(KafkaException):
        bench.commits.commit()
    # More messages have come since.
    bench.commits.handled(0, 6, rejected(bench.topic, 5))
    bench.commits.commit()
    assert (bench.committed, bench.letters(3)) == (6, [b"1", b"3", b"5"])
    assert bench.metrics.dead_letters == 3
    assert bench.metrics.commits["failed"] == 1


def test_a_transaction_in_doubt_of_partitions_that_are_gone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "commit_transaction", effect=False)
    bench.commits.handled(0, 4, rejected(bench.topic, 1, 3))
    with pytest.raises(KafkaException):
        bench.commits.commit()
    bench.commits.forget({0})
    bench.commits.commit()
    assert (bench.committed, bench.letters()) == (-1001, [])


# A worker that the group has removed wakes up: another worker has its partitions, and rejects the same message.
def test_a_worker_that_the_group_has_given_up_sends_no_dead_letters(bench: Bench) -> None:
    stale = bench.consumer.consumer_group_metadata()
    bench.consumer.unsubscribe()
    bench.consumer.close()
    zombie = DeadLetters(bench.kafka, SECONDS)
    with pytest.raises(KafkaException):
        zombie.send(rejected(bench.topic, 1), [TopicPartition(bench.topic, 0, 2)], stale)
    zombie.recover()
    zombie.close()
    assert (bench.committed, bench.letters()) == (-1001, [])


def test_headers_tell_where_a_dead_letter_comes_from_after_its_own() -> None:
    message = Message(b"v", b"k", "t", 3, 17, 1_750_000_000_000, [("trace", b"1"), ("sortkey-reason", b"before")])
    assert headers(message, "bad \udcff " + "x" * 10_000) == [
        ("trace", b"1"),
        ("sortkey-reason", b"bad ? " + b"x" * 4090),
        ("sortkey-topic", "t"),
        ("sortkey-partition", "3"),
        ("sortkey-offset", "17"),
        ("sortkey-time", "1750000000000"),
    ]
