"""Events to a topic of Kafka, mostly of librdkafka's own mock."""

from __future__ import annotations

import asyncio

import pytest
from confluent_kafka import KafkaException

import sortkey as sk
from sortkey.feeds.shards.outages import is_outage
from sortkey.feeds.targets import kafka_topic
from tests.kafka.broker import Broker
from tests.kafka.topic import everything
from tests.maven import free_port

MOCK: dict[str, str | int | float | bool] = {"bootstrap.servers": "mock:9092", "test.mock.num.brokers": 1}


def event(name: str, key: str = "k", size: int = 0) -> sk.feeds.OutgoingEvent:
    return sk.feeds.OutgoingEvent(name, key, name.encode() + b"x" * size)


def send(target: sk.feeds.KafkaTopic, *events: sk.feeds.OutgoingEvent) -> None:
    asyncio.run(target.send(events))


def test_events_arrive_with_their_keys_in_order(broker: Broker) -> None:
    name = broker.topic(1)
    target = sk.feeds.KafkaTopic(name, {"bootstrap.servers": broker.bootstrap})
    send(target, *(event(f"e{each}", f"k{each % 2}") for each in range(5)))
    send(target)
    found = [(each.key(), each.value()) for each in everything(broker.bootstrap, name)]
    assert found == [(b"k%d" % (each % 2), b"e%d" % each) for each in range(5)]


def test_a_broker_that_does_not_answer_is_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_topic, "SEND_SECONDS", 0.1)
    target = sk.feeds.KafkaTopic("orders", {"bootstrap.servers": f"127.0.0.1:{free_port()}"})
    with pytest.raises(TimeoutError, match=r"the events of topic orders within 0\.1 s") as raised:
        send(target, event("e1"))
    assert is_outage(raised.value)


# The others are sent, and the feed finds out which one it was.
@pytest.mark.slow
def test_an_event_that_is_too_large_is_rejected() -> None:
    target = sk.feeds.KafkaTopic("orders", {**MOCK, "message.max.bytes": 1000})
    with pytest.raises(sk.feeds.EventRejected, match="topic orders takes no message of this size: big"):
        send(target, event("e1"), event("big", size=2000), event("e2"))
    send(target, event("e1"), event("e2"))


@pytest.mark.slow
def test_a_queue_that_is_full_is_waited_for() -> None:
    target = sk.feeds.KafkaTopic("orders", {**MOCK, "queue.buffering.max.messages": 2})
    send(target, *(event(f"e{each}") for each in range(7)))


def test_a_topic_that_is_missing_is_no_poison(broker: Broker) -> None:
    target = sk.feeds.KafkaTopic("no-such-topic", {"bootstrap.servers": broker.bootstrap, "message.timeout.ms": 2000})
    with pytest.raises(KafkaException):
        send(target, event("e1"))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "bootstrap.servers is missing"),
        ({"bootstrap.servers": "x:1", "acks": 0}, r"acks is set by sk\.feeds\.KafkaTopic"),
        ({"bootstrap.servers": "x:1", "no.such": "1"}, 'invalid: No such configuration property: "no.such"'),
        ({"bootstrap.servers": "x:1", "security.protocol": "TLS"}, "security.protocol"),
    ],
)
def test_properties_that_cannot_be(config: dict[str, str | int | float | bool], message: str) -> None:
    with pytest.raises(sk.DeclarationError, match=message):
        sk.feeds.KafkaTopic("orders", config)
