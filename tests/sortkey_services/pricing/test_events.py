"""Events of what is permanent: one for each change, and one for each store and instant, to Kafka and AWS."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import boto3
import msgspec
import pytest
from moto import mock_aws

from sortkey_services.pricing.service import Settings, read_settings
from tests.kafka.broker import Broker
from tests.kafka.topic import everything
from tests.sortkey_services.pricing.conftest import Service

pytestmark = pytest.mark.parametrize("store", ["memory"], indirect=True)


def events(broker: Broker, topic: str) -> list[dict[str, Any]]:
    return [msgspec.json.decode(message.value() or b"") for message in everything(broker.bootstrap, topic)]


def test_each_change_and_each_store_and_instant_has_an_event_once_it_is_permanent(
    service: Service, broker: Broker
) -> None:
    settings = Settings(kafka=broker.bootstrap, topic=broker.topic(1), legacy_topic=broker.topic(1))
    service.pricing = service.process(settings)
    at = service.now + timedelta(minutes=5)
    given = [
        {"store": "s1", "product": product, "amount": amount, "effectiveAt": at.isoformat()}
        for product, amount in (("P1", 10), ("P2", 20))
    ]
    made = service.wait(service.pricing.change_prices(given, "ada", "till"))
    service.follow()
    assert events(broker, settings.topic) == []
    service.pass_minutes(5)
    for _ in range(2):
        service.follow()
        service.wait(service.pricing.apply_due("s1", at))
    found = {event["product"]: event for event in events(broker, settings.topic)}
    assert sorted(found) == ["P1", "P2"]
    assert found["P2"] == {
        "eventId": made[1].id,
        "store": "s1",
        "product": "P2",
        "channel": "ALL",
        "kind": "BASE",
        "action": "SET",
        "amount": 20.0,
        "previousAmount": None,
        "currency": "EUR",
        "effectiveAt": "2026-08-24T12:05:00Z",
        "requestedBy": "ada",
        "caller": "till",
        "recordedAt": "2026-08-24T12:00:00Z",
    }
    (legacy,) = events(broker, settings.legacy_topic)
    assert (legacy["store"], legacy["channel"], legacy["effectiveDate"]) == ("s1", "ALL", "2026-08-24T12:05:00Z")


# Each target has its own feeds.
@pytest.mark.slow
def test_events_go_to_eventbridge_and_sns_too(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with mock_aws():
        sqs, sns, bridge = (boto3.client(each) for each in ("sqs", "sns", "events"))
        queues = [sqs.create_queue(QueueName=each)["QueueUrl"] for each in ("bus", "topic")]
        bus, topic = (
            sqs.get_queue_attributes(QueueUrl=each, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
            for each in queues
        )
        bridge.put_rule(Name="prices", EventPattern=json.dumps({"source": ["sortkey.pricing"]}))
        bridge.put_targets(Rule="prices", Targets=[{"Id": "queue", "Arn": bus}])
        made = sns.create_topic(Name="price-updated")["TopicArn"]
        sns.subscribe(TopicArn=made, Protocol="sqs", Endpoint=topic)
        service.pricing = service.process(read_settings({"eventbridge": "default", "sns": {"price-updated": made}}))
        service.change("P1", "10.00", minutes=5)
        service.follow()
        service.pass_minutes(5)
        service.follow()
        found = [
            [json.loads(each["Body"]) for each in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]]
            for url in queues
        ]
    on_bus = {each["detail-type"]: each["detail"] for each in found[0]}
    assert (on_bus["price-changes"]["product"], on_bus["price-changes"]["amount"]) == ("P1", 10.0)
    assert on_bus["price-updated"]["store"] == "s1"
    (on_topic,) = found[1]
    assert json.loads(on_topic["Message"]) == on_bus["price-updated"]


def test_without_a_broker_there_are_no_events(service: Service) -> None:
    assert len(service.pricing.feeds) == 1
