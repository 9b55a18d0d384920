"""Events out: one for each change that is permanent, and one for each store and instant, to topics of Kafka.

They follow from the table's changes: the transition applies a change in a transaction, and the stream has what the
transaction wrote. So no event is lost, and none is sent for a change that was not made. An event may be sent again,
with the same `eventId`. A broker that does not answer delays the events, and nothing else.

    price-changes    {"eventId", "store", "product", "channel", "kind", "action", "amount", "previousAmount",
                      "currency", "effectiveAt", "requestedBy", "recordedAt"}
    price-updated    {"eventId", "store", "channel", "channels", "effectiveDate", "changes"}, which old consumers know
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime
from importlib import import_module
from typing import Any, Final

import msgspec

import sortkey as sk
from sortkey_services.pricing.model import ChangeRow, StoreUpdate
from sortkey_services.pricing.prices import ALL_CHANNELS, PriceAction, PriceKind, amount_of, instant_of, micros_of
from sortkey_services.pricing.reads import ChangeId

SEND_SECONDS: Final = 10.0


class ChangeEvent(msgspec.Struct, frozen=True, rename="camel"):
    event_id: str
    store: str
    product: str
    channel: str
    kind: PriceKind
    action: PriceAction
    amount: float | None
    previous_amount: float | None
    currency: str
    effective_at: datetime
    requested_by: str | None
    recorded_at: datetime


class StoreEvent(msgspec.Struct, frozen=True, rename="camel"):
    event_id: str
    store: str
    channel: str
    """The only one that has changed, or ALL."""
    channels: list[str]
    effective_date: datetime
    changes: int


def event_feeds(bootstrap: str | None, topic: str, legacy_topic: str, currency: str) -> list[sk.feeds.ChangeFeed[Any]]:
    """None without a broker. Raises BadSettings if the package for Kafka is not installed."""
    if bootstrap is None:
        return []
    events = _Events(bootstrap, topic, legacy_topic, currency)
    return [
        sk.feeds.ChangeFeed("price-change-events", ChangeRow, events.on_changes, attempts=None),
        sk.feeds.ChangeFeed("price-store-events", StoreUpdate, events.on_updates, attempts=None),
    ]


class _Events:
    def __init__(self, bootstrap: str, topic: str, legacy_topic: str, currency: str) -> None:
        self._topic = topic
        self._legacy_topic = legacy_topic
        self._currency = currency
        try:
            producer = import_module("confluent_kafka").Producer
        except ModuleNotFoundError:
            raise sk.services.BadSettings(
                "pricing: kafka: needs a package; run: pip install 'sortkey[kafka]'"
            ) from None
        self._producer = producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})

    async def on_changes(self, changes: Sequence[sk.Change[ChangeRow]]) -> None:
        made = (change.new for change in changes if _is_permanent(change))
        events = [change_event(row, self._currency) for row in made if row is not None]
        await self._send(self._topic, ((event.store, event) for event in events))

    async def on_updates(self, changes: Sequence[sk.Change[StoreUpdate]]) -> None:
        events = [store_event(change.new) for change in changes if change.new is not None]
        await self._send(self._legacy_topic, ((event.store, event) for event in events))

    async def _send(self, topic: str, events: Iterable[tuple[str, msgspec.Struct]]) -> None:
        await asyncio.to_thread(self._send_all, topic, [(key, msgspec.json.encode(event)) for key, event in events])

    def _send_all(self, topic: str, messages: Sequence[tuple[str, bytes]]) -> None:
        """Returns when the broker has all of them. Events of a store are in one partition, so they stay in order."""
        errors: list[object] = []
        for key, value in messages:
            self._producer.produce(topic, value, key.encode(), on_delivery=lambda error, _: errors.append(error))
        self._producer.flush(SEND_SECONDS)
        if len(errors) < len(messages):
            self._producer.purge()
            raise TimeoutError(f"the broker did not take the events of topic {topic} within {SEND_SECONDS:g} s")
        failed = [error for error in errors if error is not None]
        if failed:
            raise OSError(f"the broker refused events of topic {topic}: {failed[0]}")


def _is_permanent(change: sk.Change[ChangeRow]) -> bool:
    """Whether the transition has made this change: a loaded price, which is listed later, is no event."""
    old, new = change.old, change.new
    return old is not None and new is not None and old.status == "SCHEDULED" and new.status == "APPLIED"


def change_event(row: ChangeRow, currency: str) -> ChangeEvent:
    return ChangeEvent(
        event_id=ChangeId(row.store, micros_of(row.effective_at), row.number).text,
        store=row.store,
        product=row.product,
        channel=row.channel,
        kind=row.kind,
        action=PriceAction.DELETE if row.cents is None else PriceAction.SET,
        amount=None if row.cents is None else float(amount_of(row.cents)),
        previous_amount=None if row.previous is None else float(amount_of(row.previous)),
        currency=currency,
        effective_at=row.effective_at,
        requested_by=row.by,
        recorded_at=instant_of(row.recorded),
    )


def store_event(row: StoreUpdate) -> StoreEvent:
    channels = sorted(row.channels)
    return StoreEvent(
        event_id=f"{row.store}:{micros_of(row.effective_at)}:{row.changes}",
        store=row.store,
        channel=channels[0] if len(channels) == 1 else ALL_CHANNELS,
        channels=channels,
        effective_date=row.effective_at,
        changes=row.changes,
    )
