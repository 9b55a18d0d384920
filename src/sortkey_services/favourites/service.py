"""The favourites service, called by HTTP: marks and unmarks, lists in both directions, counts and top lists."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from typing import Final

import sortkey as sk
from sortkey.services.pages import PageArguments
from sortkey_services.favourites import demo
from sortkey_services.favourites.model import COUNTS, FAVOURITES, Favourite, FavouriteCount
from sortkey_services.favourites.settings import Settings
from sortkey_services.favourites.windows import check_window

MAX_ID_BYTES: Final = 256
MAX_TOP: Final = 1000
DEMO_BATCH: Final = 500
DEMO_SECONDS: Final = 0.5
"""Between two visits."""
DEFAULTS: Final = Settings()


class Favourites:
    name = "favourites"

    def __init__(
        self, session: sk.AsyncSession, settings: Settings = DEFAULTS, now: Callable[[], float] = time.time
    ) -> None:
        self._session = session
        self._now = now
        counts = settings.counts.aggregator(session)
        self.feeds = [sk.feeds.ChangeFeed("favourite-counts", Favourite, counts.on_changes)]

    async def start(self) -> None:
        await self._session.create_tables(FAVOURITES, COUNTS)

    async def load_demo(self, progress: sk.services.Progress) -> None:
        last = demo.EXAMPLES[-1]
        if await self.since(last.user, last.restaurant) is not None:
            return
        favourites = demo.favourites()
        for done in range(0, len(favourites), DEMO_BATCH):
            # In order: if the last one is stored, all are.
            await self._session.batch(put=favourites[done : done + DEMO_BATCH])
            progress(min(done + DEMO_BATCH, len(favourites)), len(favourites))

    async def run_demo(self) -> None:
        """Visitors mark and unmark restaurants, until it is cancelled."""
        visitors = demo.Visitors(Random(self._now()))
        while True:
            visit = visitors.next()
            await (self.mark if visit.marks else self.unmark)(visit.user, visit.restaurant)
            await asyncio.sleep(DEMO_SECONDS)

    async def mark(self, user: str, restaurant: str) -> datetime:
        """Makes it a favourite, in one conditional write; returns since when it is one."""
        path = _path(user, restaurant)
        favourite = Favourite(user=user, restaurant=restaurant, since=datetime.fromtimestamp(self._now(), UTC))
        while not await self._session.put(favourite, if_absent=True):
            stored = await self._session.get(path, consistent=True)
            if stored is not None:
                return stored.since
            # It was unmarked between the two requests.
        return favourite.since

    async def unmark(self, user: str, restaurant: str) -> None:
        await self._session.delete(_path(user, restaurant))

    async def since(self, user: str, restaurant: str) -> datetime | None:
        """Since when it is a favourite; None if it is not."""
        stored = await self._session.get(_path(user, restaurant), consistent=True)
        return None if stored is None else stored.since

    async def favourites_of(self, user: str, page: PageArguments) -> sk.Page[Favourite]:
        """A user's favourites, newest first."""
        return await self._session.page(Favourite.mine(user=user), descending=True, consistent=True, **page)

    async def fans_of(self, restaurant: str, page: PageArguments) -> sk.Page[Favourite]:
        """Whose favourite it is, newest first."""
        return await self._session.page(Favourite.fans(restaurant=restaurant), descending=True, **page)

    async def count(self, restaurant: str, window: str) -> FavouriteCount:
        check_id("restaurant", restaurant)
        check_window(window)
        found = await self._session.get(FavouriteCount.key(restaurant=restaurant, window=window))
        return found or FavouriteCount(restaurant=restaurant, window=window)

    async def top(self, window: str, limit: int) -> list[FavouriteCount]:
        """The restaurants with the most favourites, by count downward, ties by id."""
        check_window(window)
        path = FavouriteCount.top(window=window).after(0)
        # One more tells whether the last count is shared with restaurants beyond the limit.
        found = [count async for count in self._session.iterate(path, descending=True, limit=limit + 1)]
        if len(found) > limit and found[limit].count == found[limit - 1].count:
            least = found[limit].count
            sharing = [each async for each in self._session.iterate(FavouriteCount.top(window=window, count=least))]
            found = [each for each in found if each.count > least] + sharing
        return sorted(found, key=lambda each: (-each.count, each.restaurant))[:limit]


def check_id(name: str, value: str) -> None:
    """Raises BadRequest for an id that no key can hold."""
    if not 1 <= len(value.encode()) <= MAX_ID_BYTES:
        raise sk.services.BadRequest(f"{name}: must have 1 to {MAX_ID_BYTES} bytes, not {len(value.encode())}")


def _path(user: str, restaurant: str) -> sk.AccessPath[Favourite]:
    check_id("user", user)
    check_id("restaurant", restaurant)
    return Favourite.key(user=user, restaurant=restaurant)
