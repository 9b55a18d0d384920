"""`sk.services.EventSettings`: where a service's events go, as its table of the configuration file says.

    [pricing]
    kafka = "localhost:9092"                  # or a table with librdkafka's properties
    kafka_config = "kafka.properties"         # further properties, lines of name=value
    eventbridge = "shop"                      # a bus: its name or ARN
    event_source = "shop.pricing"
    aws_region = "eu-west-1"

    [pricing.sns]
    price-changes = "arn:aws:sns:eu-west-1:123456789012:price-changes"

Each target has a change feed of its own, so that one which is away delays none of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from sortkey.extras import MissingExtra, installed_by
from sortkey.feeds.changes.change_feed import ChangeFeed
from sortkey.feeds.targets.aws_targets import EventBridgeBus, SnsTopic
from sortkey.feeds.targets.event_target import EventRejected, EventTarget, OutgoingEvent
from sortkey.feeds.targets.kafka_topic import KafkaTopic
from sortkey.model.calls.change import Change
from sortkey.model.errors import DeclarationError, suggestion
from sortkey.model.items.item import Item
from sortkey.services.interface import BadSettings

ItemT = TypeVar("ItemT", bound=Item)

Events = Callable[[Sequence[Change[ItemT]]], Sequence[OutgoingEvent]]
"""The events that changes make."""


class EventSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a service with events; it derives its own from these.

    class Settings(sk.services.EventSettings, frozen=True, forbid_unknown_fields=True):
        topic: str = "orders"
    """

    kafka: str | dict[str, str | int | float | bool] | None = None
    """The brokers, or librdkafka's properties."""
    kafka_config: str | None = None
    """A file with further properties."""
    eventbridge: str | None = None
    event_source: str | None = None
    """`source` of the events on EventBridge; by default `sortkey.` and the service."""
    aws_region: str | None = None
    """Of a bus that is named without an ARN; by default the environment's."""
    sns: dict[str, str] = {}
    """ARNs of topics, by the kind of event."""

    def feeds(
        self, service: str, name: str, of: type[ItemT], events: Events[ItemT], *, kind: str, topic: str
    ) -> list[ChangeFeed[ItemT]]:
        """The feeds that send what `events` makes of changes, one for each target; none without a target. `kind` is the
        kind of these events: the detail type of EventBridge, and the name under `sns`. `topic` is that of Kafka.

            settings.feeds("shop", "order-events", Order, paid_orders, kind="orders", topic=settings.topic)

        Events that a target can never take go to the dead letters; everything else is waited for. Raises BadSettings.
        """
        return [
            ChangeFeed(f"{name}{suffix}", of, _sending(target, events), attempts=None, poison=[EventRejected])
            for suffix, target in self._targets(service, kind, topic)
        ]

    def require_known_kinds(self, service: str, kinds: Collection[str]) -> None:
        """Raises BadSettings if `sns` has another kind of event."""
        for kind in self.sns:
            if kind not in kinds:
                raise BadSettings(f"{service}: sns.{kind}: there are no such events{suggestion(kind, kinds)}")

    def _targets(self, service: str, kind: str, topic: str) -> Iterator[tuple[str, EventTarget]]:
        """With what the names of their feeds end with."""
        if self.kafka is not None:
            # Its feed was the only one once, and keeps its position.
            yield "", self._kafka_topic(service, topic)
        elif self.kafka_config is not None:
            raise BadSettings(f"{service}: kafka_config: has no effect without kafka, the brokers; set kafka, too")
        if self.eventbridge is not None:
            source, region = self.event_source or f"sortkey.{service}", self._region(service)
            with _named(f"{service}: eventbridge"):
                bus = EventBridgeBus(self.eventbridge, source=source, kind=kind, region=region)
            yield ".eventbridge", bus
        if kind in self.sns:
            with _named(f"{service}: sns.{kind}"):
                sns_topic = SnsTopic(self.sns[kind])
            yield ".sns", sns_topic

    def _kafka_topic(self, service: str, topic: str) -> KafkaTopic:
        given = {"bootstrap.servers": self.kafka} if isinstance(self.kafka, str) else dict(self.kafka or {})
        try:
            if self.kafka_config is not None:
                with installed_by("kafka"):
                    settings = import_module("sortkey.feeds.kafka.kafka_settings")
                try:
                    given = {**settings.read_properties(Path(self.kafka_config)), **given}
                except settings.KafkaUnusable as error:
                    raise BadSettings(f"{service}: kafka_config: {error}") from error
            with _named(f"{service}: kafka"):
                return KafkaTopic(topic, given)
        except MissingExtra as error:
            raise BadSettings(f"{service}: kafka: {error}") from None

    def _region(self, service: str) -> str | None:
        """None if the bus has it."""
        if self.eventbridge is not None and self.eventbridge.startswith("arn:"):
            return None
        known: str | None = self.aws_region or import_module("botocore.session").get_session().get_config_variable(
            "region"
        )
        if known is None:
            raise BadSettings(
                f"{service}: eventbridge: the region of the bus {self.eventbridge!r} is not known; set aws_region, or "
                "AWS_DEFAULT_REGION, or name the bus by its ARN"
            )
        return known


@contextmanager
def _named(setting: str) -> Iterator[None]:
    """What a target rejects is named as a setting."""
    try:
        yield
    except DeclarationError as error:
        raise BadSettings(f"{setting}: {error}") from error


def _sending(target: EventTarget, events: Events[ItemT]) -> Any:
    async def on_changes(changes: Sequence[Change[ItemT]]) -> None:
        await target.send(events(changes))

    return on_changes
