"""Dead letters in a topic, through a real Kafka."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from confluent_kafka import Message as KafkaMessage
from confluent_kafka import Producer

from sortkey.feeds.kafka.dead_letters import headers
from sortkey.feeds.kafka.kafka_settings import KafkaSettings, KafkaUnusable
from sortkey.feeds.kafka.message import Message
from sortkey.feeds.resend import topic_letters
from sortkey.feeds.resend.letters import Action, Dealt, Stopped, UnknownLetters, Wanted
from sortkey.feeds.resend.topic_letters import TopicLetters
from tests.kafka.broker import Broker
from tests.kafka.topic import SECONDS, everything
from tests.maven import free_port

ALL = Wanted()
PARTITIONS = 2


class Topic:
    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.name = broker.topic(PARTITIONS)
        self.settings = KafkaSettings(broker.bootstrap, self.name, f"{self.name}-group", f"{self.name}.dead-letters")
        self.lister = TopicLetters(self.settings, SECONDS)
        """One for all lists: to open it takes long."""

    def reject(self, *rejected: tuple[Message, str]) -> None:
        """As a worker does, each in a transaction, whose end takes an offset, too."""
        producer = Producer({"bootstrap.servers": self.broker.bootstrap, "transactional.id": str(uuid4())})
        producer.init_transactions(SECONDS)
        for message, reason in rejected:
            producer.begin_transaction()
            added = list(headers(message, reason))
            producer.produce(self.settings.dead_letters, message.value, message.key, headers=added)
            producer.commit_transaction(SECONDS)

    def walk(self, wanted: Wanted = ALL, action: Action | None = None) -> list[Dealt]:
        if action is None:
            return list(self.lister.walk(wanted, None))
        with TopicLetters(self.settings, SECONDS) as letters:
            return list(letters.walk(wanted, action))

    def outcomes(self, wanted: Wanted = ALL, action: Action | None = None) -> list[str]:
        return [each.outcome for each in self.walk(wanted, action)]

    def ids(self, wanted: Wanted = ALL) -> list[str]:
        return [each.letter.id for each in self.walk(wanted)]

    def messages(self, number: int) -> list[KafkaMessage]:
        """What is in the worker's topic, by partition; at least so many: a transaction is seen a moment after it was
        committed."""
        deadline = time.monotonic() + SECONDS
        while True:
            found = everything(self.broker.bootstrap, self.name, PARTITIONS)
            if len(found) >= number or time.monotonic() > deadline:
                # A consumer hears of partitions in any order.
                return sorted(found, key=lambda each: (each.partition() or 0, each.offset() or 0))

    def sent(self, number: int) -> list[bytes | None]:
        return [message.value() for message in self.messages(number)]


@pytest.fixture
def topic(broker: Broker) -> Iterator[Topic]:
    made = Topic(broker)
    with made.lister:
        yield made


def message(topic: Topic, value: str, partition: int = 0, key: str = "k") -> Message:
    return Message(value.encode(), key.encode(), topic.name, partition, 7, 1_756_000_000_000, [("trace", b"t1")])


def rejected(topic: Topic, values: Iterable[str], reason: str = "no such tenant") -> None:
    topic.reject(*((message(topic, value), reason) for value in values))


def test_letters_are_listed_whole(topic: Topic) -> None:
    topic.reject((message(topic, "a", 1), "not JSON"))
    (dealt,) = topic.walk()
    assert (dealt.outcome, dealt.letter.id, dealt.letter.source, dealt.letter.reason) == (
        "listed",
        "0:0",
        topic.name,
        "not JSON",
    )
    assert dealt.letter.content == {
        "topic": topic.name,
        "partition": 1,
        "offset": 7,
        "key": "k",
        "value": "a",
        "headers": [["trace", "t1"]],
    }
    assert datetime.now(UTC) - dealt.letter.at < timedelta(hours=1)


def test_messages_go_back_as_they_were_to_their_partition_and_once(topic: Topic) -> None:
    topic.reject(*((message(topic, value, partition), "no") for partition in (1, 0) for value in ("a", "b")))
    assert topic.outcomes(action=Action.RETRY) == ["sent"] * 4
    found = topic.messages(4)
    assert [(each.partition(), each.value(), each.key()) for each in found] == [
        (0, b"a", b"k"),
        (0, b"b", b"k"),
        (1, b"a", b"k"),
        (1, b"b", b"k"),
    ]
    assert all(each.headers() == [("trace", b"t1")] for each in found)
    assert all(each.timestamp()[1] == 1_756_000_000_000 for each in found)
    assert topic.walk(action=Action.RETRY) == topic.walk() == []
    assert len(topic.sent(4)) == 4
    # A worker rejects one of them again.
    rejected(topic, ["a"])
    assert topic.outcomes() == ["listed"]


def test_filters_leave_letters_out_for_a_later_command(topic: Topic) -> None:
    rejected(topic, ["a"], "no tenant")
    rejected(topic, ["b", "c"], "late")
    rejected(topic, ["d"], "no tenant")
    assert topic.ids(Wanted(reason="LATE")) == ["0:2", "0:4"]
    assert topic.outcomes(Wanted(reason="late", limit=1), Action.RETRY) == ["sent"]
    assert topic.sent(1) == [b"b"]
    assert topic.outcomes(Wanted(ids=["0:6", "0:99"]), Action.DROP) == ["dropped"]
    assert topic.ids() == ["0:0", "0:4"]
    assert topic.ids(Wanted(ids=["0:4", "0:6"])) == ["0:4"]
    now = datetime.now(UTC)
    assert topic.ids(Wanted(since=now + timedelta(hours=1))) == topic.ids(Wanted(until=now - timedelta(hours=1))) == []
    assert topic.outcomes(action=Action.RETRY) == ["sent", "sent"]
    assert (topic.sent(3), topic.ids()) == ([b"b", b"a", b"c"], [])


def test_transactions_are_of_a_bounded_number(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_letters, "CHUNK", 2)
    rejected(topic, "abcde")
    with TopicLetters(topic.settings, SECONDS) as letters:
        walk = letters.walk(ALL, Action.RETRY)
        assert next(walk).letter.id == "0:0"
        # The command ends here.
    assert topic.sent(2) == [b"a", b"b"]
    assert topic.outcomes(action=Action.RETRY) == ["sent"] * 3
    assert topic.sent(5) == [b"a", b"b", b"c", b"d", b"e"]


# Each would send what the other one sends.
def test_a_second_command_ends_the_first(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_letters, "CHUNK", 1)
    rejected(topic, "abc")
    with TopicLetters(topic.settings, SECONDS) as letters:
        walk = letters.walk(ALL, Action.RETRY)
        next(walk)
        assert topic.outcomes(action=Action.RETRY) == ["sent", "sent"]
        with pytest.raises(Stopped, match="another command has begun"):
            next(walk)
    assert topic.sent(3) == [b"a", b"b", b"c"]


def test_letters_that_cannot_be_sent_stay(topic: Topic) -> None:
    gone = message(topic, "a")._replace(topic="no-such-topic")
    topic.reject((gone, "no"), (message(topic, "b", partition=9), "no"))
    producer = Producer({"bootstrap.servers": topic.broker.bootstrap})
    producer.produce(topic.settings.dead_letters, b"c")
    producer.produce(topic.settings.dead_letters, b"d", headers=[("sortkey-feed", b"arrivals")])
    assert producer.flush(SECONDS) == 0
    found = topic.walk(action=Action.RETRY)
    assert [each.outcome for each in found if each.outcome == "failed"] == ["failed"] * 3
    reasons = " ".join(each.reason for each in found)
    assert "there is no topic 'no-such-topic' any more" in reasons
    assert "no header sortkey-topic" in reasons
    assert "letter of a change feed" in reasons
    # Its partition is gone: the key decides.
    assert topic.sent(1) == [b"b"]
    assert len(topic.ids()) == 3


def test_what_the_group_cannot_remember_is_not_sent(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_letters, "METADATA_BYTES", 5)
    rejected(topic, "ab")
    with pytest.raises(Stopped, match="send or drop those before 0:2 first, from 0:0 on"):
        topic.walk(Wanted(ids=["0:2"]), Action.RETRY)
    assert (topic.sent(0), topic.ids()) == ([], ["0:0", "0:2"])


def test_what_cannot_be_asked_for(topic: Topic) -> None:
    with pytest.raises(UnknownLetters, match="PARTITION:OFFSET"):
        topic.walk(Wanted(ids=["arrivals/s/1"]))
    with pytest.raises(UnknownLetters, match="--feed is for"):
        topic.walk(Wanted(feeds=["arrivals"]))
    with pytest.raises(KafkaUnusable, match="there is no topic 'missing'"):
        TopicLetters(KafkaSettings(topic.broker.bootstrap, "x", "g", "missing"), SECONDS)
    with pytest.raises(KafkaUnusable, match="cannot reach Kafka"):
        TopicLetters(KafkaSettings(f"127.0.0.1:{free_port()}", "x", "g", "missing"), 0.1)
    with pytest.raises(KafkaUnusable, match="properties are invalid"):
        TopicLetters(KafkaSettings("x:1", "x", "g", "missing", {"no.such": "1"}), 0.1)
