"""`sortkey` with favourites, whose changes are counted in two ways: exactly once, and by ADD as they are delivered.

Both are change feeds of one follower, so that they meet the same faults. The second adds what a batch says, in
transactions of up to 100 updates; nothing in its items tells what they have counted.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC
from typing import Annotated, Any, Final

import sortkey as sk
from sortkey.cli.main import main
from sortkey_services.favourites.model import Favourite, FavouriteCount
from sortkey_services.favourites.service import FavouritesService
from tests.registered import register_only

LARGEST_TRANSACTION: Final = 100

ADDED: Final = sk.Table("exactly-once-added")

Group = tuple[str, str]
"""A restaurant and a window."""


class AddedCount(sk.Item, table=ADDED):
    restaurant: Annotated[str, sk.in_key]
    window: Annotated[str, sk.in_key]
    count: int = 0

    key = sk.Key("{restaurant}", "{window}")


def groups(favourite: Favourite) -> Iterator[Group]:
    """Those that a favourite counts in."""
    day = f"{favourite.since.astimezone(UTC):%Y-%m-%d}"
    return ((favourite.restaurant, window) for window in ("ALL_TIME", day[:4], day[:7], day))


class AddOnDelivery:
    def __init__(self, session: sk.AsyncSession) -> None:
        self._client = session.client

    async def on_changes(self, changes: Sequence[sk.Change[Favourite]]) -> None:
        deltas: Counter[Group] = Counter()
        for change in changes:
            if change.new is not None:
                deltas.update(groups(change.new))
            if change.old is not None:
                deltas.subtract(groups(change.old))
        updates = [_update(*group, delta) for group, delta in deltas.items() if delta]
        for start in range(0, len(updates), LARGEST_TRANSACTION):
            await self._client.transact_write_items(TransactItems=updates[start : start + LARGEST_TRANSACTION])


def _update(restaurant: str, window: str, delta: int) -> dict[str, Any]:
    return {
        "Update": {
            "TableName": ADDED.name,
            "Key": AddedCount.key(restaurant=restaurant, window=window).key(),
            "UpdateExpression": "ADD #count :delta",
            "ExpressionAttributeNames": {"#count": "count"},
            "ExpressionAttributeValues": {":delta": {"N": str(delta)}},
        }
    }


class ComparedFavourites(FavouritesService):
    """Favourites with the second way beside its own."""

    def __init__(self, session: sk.AsyncSession, **options: Any) -> None:
        super().__init__(session, **options)
        added = AddOnDelivery(session).on_changes
        self.feeds = [*self.feeds, sk.feeds.ChangeFeed("counts-by-add", Favourite, added, attempts=None)]

    async def start(self) -> None:
        await super().start()
        await self._session.create_tables(ADDED)


def tables(_: Mapping[str, Any]) -> Sequence[type[sk.Item]]:
    return Favourite, FavouriteCount, AddedCount


DEFINITION: Final = sk.services.ServiceDefinition(
    name="favourites",
    summary="favourites, counted in two ways",
    tables=tables,
    make=lambda session, _: ComparedFavourites(session),
    has_feeds=True,
)

if __name__ == "__main__":
    register_only(favourites="__main__:DEFINITION")
    sys.exit(main())
