"""Dead letters of change feeds in a Kafka topic."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

import sortkey as sk
from sortkey.feeds.kafka import dead_letters
from sortkey.feeds.kafka.dead_letters import open_topic
from sortkey.feeds.kafka.kafka_settings import KafkaUnusable
from tests.kafka.broker import Broker
from tests.kafka.topic import everything
from tests.maven import free_port

NOON = datetime(2026, 8, 24, 12, tzinfo=UTC)
LETTER = sk.feeds.DeadLetter(
    feed="parcels", shard="shard-1", sequence="7", record='{"eventName": "INSERT"}', reason="no", at=NOON, expires=NOON
)


def test_a_letter_arrives_with_its_reason(broker: Broker) -> None:
    topic = "parcels.dead-letters"
    with open_topic(broker.bootstrap, topic, None, 30) as send:
        asyncio.run(send(LETTER))
    # The topic exists now.
    with open_topic(broker.bootstrap, topic, None, 30) as send:
        asyncio.run(send(LETTER))
    for message in everything(broker.bootstrap, topic):
        assert (message.key(), message.value()) == (b"parcels", LETTER.record.encode())
        assert message.headers() == [
            ("sortkey-reason", b"no"),
            ("sortkey-feed", b"parcels"),
            ("sortkey-shard", b"shard-1"),
            ("sortkey-sequence", b"7"),
            ("sortkey-time", b"2026-08-24T12:00:00+00:00"),
        ]
    assert len(everything(broker.bootstrap, topic)) == 2


# The feed then tries again, and does not go on.
def test_a_letter_that_the_broker_does_not_take_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "SEND_SECONDS", 0.1)
    nowhere = {"bootstrap.servers": f"127.0.0.1:{free_port()}"}
    with (
        dead_letters.TopicDeadLetters(nowhere, "letters") as send,
        pytest.raises(TimeoutError, match=r"within 0\.1 s"),
    ):
        asyncio.run(send(LETTER))


def test_settings_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(KafkaUnusable, match="cannot reach Kafka at"):
        open_topic(f"127.0.0.1:{free_port()}", "letters", None, 0.1)
    config = tmp_path / "kafka.properties"
    config.write_text("no.such.property=1\n")
    with pytest.raises(KafkaUnusable, match="the Kafka properties are invalid"):
        open_topic("127.0.0.1:1", "letters", config, 0.5)
