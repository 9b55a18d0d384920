"""The service on every store, with its consumer; its calls are awaited, so that tests are not coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey_services.favourites.model import FavouriteCount
from sortkey_services.favourites.service import FavouritesService, Settings, top_page
from sortkey_services.favourites.service_definition import FAVOURITES

R = TypeVar("R")

NOON = datetime(2026, 8, 24, 12, tzinfo=UTC)


class Service:
    """A started service, whose calls are waited for."""

    def __init__(self, runner: asyncio.Runner, session: sk.AsyncSession) -> None:
        self._runner = runner
        self.session = session
        self.clock = ManualClock(NOON.timestamp())
        self.restart(Settings())

    def restart(self, settings: Settings) -> None:
        """The service with these settings, on the same store."""
        self.favourites = FavouritesService(self.session, settings, self.clock)
        self.wait(self.favourites.start())

    def wait(self, call: Coroutine[Any, Any, R]) -> R:
        return self._runner.run(call)

    def mark(self, *pairs: tuple[str, str]) -> None:
        for user, restaurant in pairs:
            self.wait(self.favourites.mark(user, restaurant))

    def unmark(self, user: str, restaurant: str) -> None:
        self.wait(self.favourites.unmark(user, restaurant))

    def count(self) -> None:
        """Let the counts follow all marks so far."""

        async def follow() -> None:
            async with sk.feeds.Follower(self.session, self.favourites.feeds) as follower:
                await follower.caught_up()

        self.wait(follow())

    def counted(self, restaurant: str, window: str = "ALL_TIME") -> int:
        return self.wait(self.favourites.count(restaurant, window)).count

    def top(self, window: str = "ALL_TIME", limit: int = 10) -> list[tuple[str, int]]:
        return shown(self.top_page(window, limit))

    def top_page(
        self, window: str = "ALL_TIME", limit: int = 10, after: str | None = None, before: str | None = None
    ) -> sk.Page[FavouriteCount]:
        return self.wait(self.favourites.top(window, top_page(limit, after, before)))


def shown(page: sk.Page[FavouriteCount]) -> list[tuple[str, int]]:
    return [(each.restaurant, each.count) for each in page]


@pytest.fixture
def service(store: str) -> Iterator[Service]:
    with asyncio.Runner() as runner:

        async def opened() -> sk.AsyncSession:
            return await sk.async_connect(store, tables=FAVOURITES.tables({}))

        session = runner.run(opened())
        yield Service(runner, session)
        runner.run(session.close())
