"""Where a service's events go, by its settings."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

import sortkey as sk
from sortkey.feeds.targets import aws_targets
from sortkey.services.event_settings import EventSettings
from tests.feeds.changes.parcels import Parcel, caught_up, number_of, opened

BUS = "arn:aws:events:eu-west-1:123456789012:event-bus/shop"
TOPIC = "arn:aws:sns:eu-west-1:123456789012:moved"
MOCK = {"bootstrap.servers": "mock:9092", "test.mock.num.brokers": 1}


def moved(changes: Sequence[sk.Change[Parcel]]) -> list[sk.feeds.OutgoingEvent]:
    return [sk.feeds.OutgoingEvent(str(number_of(each)), "k", b"%d" % number_of(each)) for each in changes]


def feeds(given: dict[str, Any]) -> list[sk.feeds.ChangeFeed[Parcel]]:
    settings = msgspec.convert(given, EventSettings)
    settings.require_known_kinds("depot", ("moved", "lost"))
    return settings.feeds("depot", "moves", Parcel, moved, kind="moved", topic="parcels")


def names(given: dict[str, Any]) -> list[str]:
    return [feed.name for feed in feeds(given)]


def test_there_are_no_events_unless_configured() -> None:
    assert names({}) == []


# One that is away delays none of the others, and a new one begins with what the stream has.
def test_each_target_has_a_feed_of_its_own() -> None:
    assert names({"kafka": "localhost:9092"}) == ["moves"]
    assert names({"kafka": MOCK, "eventbridge": BUS, "sns": {"moved": TOPIC}}) == [
        "moves",
        "moves.eventbridge",
        "moves.sns",
    ]
    assert names({"sns": {"lost": TOPIC}}) == []


def test_a_bus_without_a_region_takes_that_of_the_settings_or_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(sk.services.BadSettings, match="depot: eventbridge: the region of the bus 'shop' is not known"):
        feeds({"eventbridge": "shop"})
    assert names({"eventbridge": "shop", "aws_region": "eu-west-1"}) == ["moves.eventbridge"]
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    assert names({"eventbridge": "shop"}) == ["moves.eventbridge"]


def test_properties_of_kafka_come_from_a_table_and_a_file(tmp_path: Path) -> None:
    file = tmp_path / "kafka.properties"
    file.write_text("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=a\nsasl.password=b\n")
    assert names({"kafka": "localhost:9092", "kafka_config": str(file)}) == ["moves"]
    assert names({"kafka": MOCK, "kafka_config": str(file)}) == ["moves"]
    # What librdkafka says shows that it has got them.
    file.write_text("sasl.mechanism=NONE\n")
    with pytest.raises(sk.services.BadSettings, match=r"depot: kafka: the Kafka properties are invalid: .*NONE"):
        feeds({"kafka": {"bootstrap.servers": "x:1", "security.protocol": "SASL_SSL"}, "kafka_config": str(file)})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kafka": {"security.protocol": "SSL"}}, "depot: kafka: bootstrap.servers is missing"),
        ({"kafka": {**MOCK, "acks": 1}}, "depot: kafka: acks is set by"),
        ({"kafka": {**MOCK, "no.such": 1}}, "depot: kafka: the Kafka properties are invalid: No such"),
        ({"kafka_config": "f"}, "depot: kafka_config: has no effect without kafka"),
        ({"kafka": "x:1", "kafka_config": "/nowhere"}, "depot: kafka_config: cannot read the Kafka properties in /now"),
        ({"eventbridge": "no bus", "aws_region": "eu-west-1"}, "depot: eventbridge: an event bus is named by"),
        ({"eventbridge": BUS, "event_source": "aws.x"}, "depot: eventbridge: source is a text"),
        ({"sns": {"moved": "moved"}}, "depot: sns.moved: a topic of SNS is named by its ARN"),
        ({"sns": {"mooved": TOPIC}}, "depot: sns.mooved: there are no such events; did you mean 'moved'"),
    ],
)
def test_wrong_settings_are_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(sk.services.BadSettings, match=message):
        feeds(given)


def test_without_the_package_of_kafka_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("sortkey.feeds.targets.kafka_topic.import_module", missing)
    with pytest.raises(sk.services.BadSettings, match=r"depot: kafka: .*pip install 'sortkey\[kafka\]'"):
        feeds({"kafka": "x:1"})


# All other errors are waited for, so it would block the feed for ever.
def test_an_event_that_a_target_never_takes_is_a_dead_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []

    class Client:
        def put_events(self, **request: list[dict[str, str]]) -> dict[str, Any]:
            details = [each["Detail"] for each in request["Entries"]]
            rejected = [{"ErrorCode": "MalformedDetail"} if each == "2" else {} for each in details]
            taken.extend(each for each in details if each != "2")
            return {"FailedEntryCount": sum(map(bool, rejected)), "Entries": rejected}

    monkeypatch.setattr(aws_targets.AwsTarget, "_client", Client())

    async def program() -> None:
        async with opened("memory:") as db:
            (feed,) = feeds({"eventbridge": BUS})
            async with sk.feeds.Follower(db, [feed]) as follower:
                await db.batch(put=[Parcel(number=each) for each in range(5)])
                await caught_up(follower)
            letters = [each async for each in db.iterate(sk.feeds.DeadLetter.key(feed="moves.eventbridge"))]
            assert [each.reason for each in letters] == ["EventRejected: AWS rejects the event 2: MalformedDetail"]

    asyncio.run(program())
    assert set(taken) == {"0", "1", "3", "4"}
