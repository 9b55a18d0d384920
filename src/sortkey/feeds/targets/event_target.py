"""What an event is to the outside, and what takes events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class OutgoingEvent(NamedTuple):
    """An event, ready to be sent.

    event = sk.feeds.OutgoingEvent(id="order-7-paid", key="order-7", body=b'{"eventId": "order-7-paid"}')
    """

    id: str
    """The same each time that it is sent: receivers leave out what they have."""
    key: str
    """Events of one key stay in order, where the target keeps an order."""
    body: bytes
    """JSON."""


class EventRejected(ValueError):
    """The target can never take this event. Feeds name it as `poison`, so that it goes to the dead letters."""


class EventTarget(Protocol):
    """Takes events, at least once: `KafkaTopic`, `EventBridgeBus` or `SnsTopic`.

    async def on_changes(changes: Sequence[sk.Change[Order]]) -> None:
        await target.send([paid(change.new) for change in changes if is_payment(change)])

    FEED = sk.feeds.ChangeFeed("payments", Order, on_changes, attempts=None, poison=[sk.feeds.EventRejected])
    """

    async def send(self, events: Sequence[OutgoingEvent]) -> None:
        """Returns when the target has all of them. Raises EventRejected; any other error is one of the target, and the
        events are to be sent again."""
        ...
