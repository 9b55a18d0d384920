"""Events of what is permanent: one for each change, and one for each store and instant, through a real Kafka."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from sortkey_services.pricing.service import Settings
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
    made = service.wait(service.pricing.change_prices(given, "ada"))
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
        "recordedAt": "2026-08-24T12:00:00Z",
    }
    (legacy,) = events(broker, settings.legacy_topic)
    assert (legacy["store"], legacy["channel"], legacy["effectiveDate"]) == ("s1", "ALL", "2026-08-24T12:05:00Z")


def test_without_a_broker_there_are_no_events(service: Service) -> None:
    assert len(service.pricing.feeds) == 1
