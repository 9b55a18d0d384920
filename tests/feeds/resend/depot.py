"""A service whose feeds and timers give changes up for as long as it is broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sortkey as sk

PARCELS = sk.Table("resend-parcels", stream="NEW_AND_OLD_IMAGES")
COUNTS = sk.Table("resend-counts")

BROKEN: set[str] = set()
"""What raises: places, and `timers`."""


class Broken(Exception):
    """For the parcel's own sake."""


POISON = [Broken, sk.KeyPartError]


class Parcel(sk.Item, table=PARCELS):
    number: int
    place: str = "depot"
    due: datetime | None = None

    key = sk.Key("PARCEL#{number:06}", "PARCEL")


class PlaceCount(sk.Item, table=COUNTS):
    place: str
    parcels: int = 0

    key = sk.Key("{place}")


def place_of(parcel: Parcel) -> str:
    if parcel.place in BROKEN:
        raise Broken(f"no place {parcel.place}")
    return parcel.place


COUNTED = sk.patterns.aggregate(
    Parcel, into=PlaceCount, by={"place": place_of}, values={"parcels": sk.patterns.count()}
)
DUE = sk.patterns.schedule("depot-due", Parcel, at="due")


class Depot:
    name = "depot"
    routes: Sequence[Any] = ()

    def __init__(self, session: sk.AsyncSession, settings: Mapping[str, Any]) -> None:  # noqa: ARG002
        self.session = session
        self.arrived: list[sk.Change[Parcel]] = []
        self.reminded: list[datetime] = []
        self.feeds: list[sk.feeds.ChangeFeed[Any] | sk.feeds.Timers[Any]] = [
            sk.feeds.ChangeFeed("arrivals", Parcel, self.on_changes, poison=[Broken]),
            sk.feeds.ChangeFeed("place-counts", Parcel, COUNTED.aggregator(session).on_changes, poison=POISON),
            sk.feeds.Timers(DUE, self.on_due, poison=[Broken]),
        ]

    async def on_changes(self, changes: Sequence[sk.Change[Parcel]]) -> None:
        for change in changes:
            if change.new is not None:
                place_of(change.new)
        self.arrived += changes

    async def on_due(self, due: sk.patterns.Due[Parcel]) -> None:
        if "timers" in BROKEN:
            raise Broken("no timers")
        self.reminded.append(due.at)

    async def start(self) -> None:
        await self.session.create_tables(PARCELS, COUNTS)

    async def counted(self) -> dict[str, int]:
        return {each.place: each.parcels async for each in self.session.scan(PlaceCount)}


DEFINITION = sk.services.ServiceDefinition(
    "depot", "parcels", lambda _: [PARCELS, COUNTS], Depot, has_feeds=True, takes_messages=True
)
WITHOUT_FEEDS = sk.services.ServiceDefinition("shelf", "parcels", lambda _: [PARCELS], Depot, takes_messages=True)
