"""A table with a stream, and a consumer that keeps what it gets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import sortkey as sk

PARCELS = sk.Table("feed-parcels", stream="NEW_AND_OLD_IMAGES")

SECONDS = 60.0
"""For something that has to happen; it takes much less."""


class Parcel(sk.Item, table=PARCELS):
    number: int
    place: str = "depot"

    key = sk.Key("PARCEL#{number:06}", "PARCEL")


class Van(sk.Item, table=PARCELS):
    name: str

    key = sk.Key("VAN#{name}", "VAN")


class Kept:
    """Keeps the changes that it gets, and tells when there are enough."""

    def __init__(self) -> None:
        self.batches: list[list[sk.Change[Parcel]]] = []
        self._more = asyncio.Condition()

    async def __call__(self, changes: Sequence[sk.Change[Parcel]]) -> None:
        self.batches.append(list(changes))
        async with self._more:
            self._more.notify_all()

    @property
    def changes(self) -> list[sk.Change[Parcel]]:
        return [change for batch in self.batches for change in batch]

    @property
    def numbers(self) -> list[int]:
        return [number_of(change) for change in self.changes]

    async def until(self, count: int) -> None:
        """Wait until it has got this many changes."""
        await self._wait_for(lambda: len(self.changes) >= count)

    async def until_number(self, number: int) -> None:
        """Wait until it has got a change of this parcel."""
        await self._wait_for(lambda: number in self.numbers)

    async def _wait_for(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS), self._more:
            await self._more.wait_for(condition)


def number_of(change: sk.Change[Parcel]) -> int:
    item = change.new or change.old
    assert item is not None
    return item.number


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[sk.AsyncSession]:
    """A session with the table."""
    async with sk.async_connect(url, tables=[PARCELS]) as db:
        await db.create_tables()
        yield db


async def caught_up(follower: sk.feeds.Follower) -> None:
    async with asyncio.timeout(SECONDS):
        await follower.caught_up()
