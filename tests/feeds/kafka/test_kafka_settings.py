from __future__ import annotations

from pathlib import Path
from time import monotonic

import pytest

from sortkey.feeds.kafka.kafka_settings import KafkaSettings, KafkaUnusable, prepare, read_properties
from tests.kafka.broker import Broker
from tests.maven import free_port


def read(folder: Path, text: str) -> dict[str, str]:
    path = folder / "kafka.properties"
    path.write_text(text)
    return read_properties(path)


def test_properties_are_lines(tmp_path: Path) -> None:
    text = "# who we are\nsasl.username = me\n\nsasl.password=a=b#c\n"
    assert read(tmp_path, text) == {"sasl.username": "me", "sasl.password": "a=b#c"}


# A password on an invalid line must not be logged.
def test_a_line_that_is_no_property_is_named_and_not_shown(tmp_path: Path) -> None:
    with pytest.raises(KafkaUnusable, match=r"line 2 is not name=value$"):
        read(tmp_path, "\nsecret")


@pytest.mark.parametrize("name", ["group.id", "enable.auto.commit", "enable.auto.offset.store", "transactional.id"])
def test_properties_that_the_worker_sets_are_rejected(tmp_path: Path, name: str) -> None:
    with pytest.raises(KafkaUnusable, match=f"line 1: {name} is set by the worker"):
        read(tmp_path, f"{name}=x")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(KafkaUnusable, match="No such file"):
        read_properties(tmp_path / "none")


def kafka(bootstrap: str, topic: str, **properties: str) -> KafkaSettings:
    return KafkaSettings(bootstrap, topic, "g", f"{topic}-rejected", properties)


def test_a_property_that_does_not_exist() -> None:
    with pytest.raises(KafkaUnusable, match=r'No such configuration property: "sasl\.user"'):
        prepare(kafka("127.0.0.1:1", "t", **{"sasl.user": "me"}), 1)


@pytest.mark.parametrize(
    "contradiction", [{"max.poll.interval.ms": "1000"}, {"max.in.flight": "100"}], ids=["consumer", "producer"]
)
def test_properties_that_contradict_each_other(contradiction: dict[str, str]) -> None:
    with pytest.raises(KafkaUnusable, match=r"the Kafka properties are invalid: .*must be"):
        prepare(kafka("127.0.0.1:1", "t", **contradiction), 1)


def test_a_broker_that_is_not_there() -> None:
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(KafkaUnusable, match=f"cannot reach Kafka at {address} within 0.1 s"):
        prepare(kafka(address, "t"), 0.1)


def test_a_topic_that_is_not_there(broker: Broker) -> None:
    with pytest.raises(KafkaUnusable, match=r"there is no topic 'nobody-made-this' at .*: create it first"):
        prepare(kafka(broker.bootstrap, "nobody-made-this"), 60)


def test_the_topic_for_dead_letters_is_made_when_missing(broker: Broker) -> None:
    settings = kafka(broker.bootstrap, broker.topic(1))
    prepare(settings, 60)
    # The broker may list the topic a moment after it has answered.
    until = monotonic() + 60
    while settings.dead_letters not in broker.admin.list_topics(timeout=60).topics:
        assert monotonic() < until
    prepare(settings, 60)
