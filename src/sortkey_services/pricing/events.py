"""Events out: one for each change that is permanent, and one for each store and instant, to Kafka or AWS.

They follow from the table's changes: the transition applies a change by one write, which the stream has. So no event is
lost, and none is sent for a change that was not made. An event may be sent again, with the same `eventId`. A target
that does not answer delays its events, and nothing else.

    price-changes    {"eventId", "store", "product", "channel", "kind", "action", "amount", "previousAmount",
                      "currency", "effectiveAt", "requestedBy", "caller", "recordedAt"}
    price-updated    {"eventId", "store", "channel", "channels", "effectiveDate", "changes"}, which old consumers know
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

import sortkey as sk
from sortkey_services.pricing.model import ChangeRow, StoreUpdate
from sortkey_services.pricing.prices import ALL_CHANNELS, PriceAction, PriceKind, amount_of, instant_of, micros_of
from sortkey_services.pricing.reads import public_id

CHANGES_KIND: Final = "price-changes"
STORES_KIND: Final = "price-updated"


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
    caller: str | None
    recorded_at: datetime


class StoreEvent(msgspec.Struct, frozen=True, rename="camel"):
    event_id: str
    store: str
    channel: str
    """The only one that has changed, or ALL."""
    channels: list[str]
    effective_date: datetime
    changes: int


def event_feeds(
    settings: sk.services.EventSettings, topic: str, legacy_topic: str, currency: str
) -> list[sk.feeds.ChangeFeed[Any]]:
    """None without a target. Raises BadSettings."""
    settings.require_known_kinds("pricing", (CHANGES_KIND, STORES_KIND))

    def of_changes(changes: Sequence[sk.Change[ChangeRow]]) -> list[sk.feeds.OutgoingEvent]:
        made = (change.new for change in changes if _is_permanent(change))
        return [_outgoing(change_event(row, currency)) for row in made if row is not None]

    def of_updates(changes: Sequence[sk.Change[StoreUpdate]]) -> list[sk.feeds.OutgoingEvent]:
        return [_outgoing(store_event(change.new)) for change in changes if change.new is not None]

    return [
        *settings.feeds("pricing", "price-change-events", ChangeRow, of_changes, kind=CHANGES_KIND, topic=topic),
        *settings.feeds("pricing", "price-store-events", StoreUpdate, of_updates, kind=STORES_KIND, topic=legacy_topic),
    ]


def _outgoing(event: ChangeEvent | StoreEvent) -> sk.feeds.OutgoingEvent:
    """Events of a store stay in order."""
    return sk.feeds.OutgoingEvent(event.event_id, event.store, msgspec.json.encode(event))


def _is_permanent(change: sk.Change[ChangeRow]) -> bool:
    """Whether the transition has made this change: a loaded price, which is listed later, is no event."""
    old, new = change.old, change.new
    return old is not None and new is not None and old.status == "SCHEDULED" and new.status == "APPLIED"


def change_event(row: ChangeRow, currency: str) -> ChangeEvent:
    return ChangeEvent(
        event_id=public_id(row),
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
        caller=row.caller,
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
