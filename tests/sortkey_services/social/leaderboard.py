"""Leaderboards whose calls are waited for."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import sortkey as sk
from sortkey_services.social.leaderboards import Leaderboards, new_event
from sortkey_services.social.model import LEADERBOARD_TABLES, ScoreEvent

GAME = "chess"


class Board:
    def __init__(
        self, leaderboards: Leaderboards, session: sk.AsyncSession, wait: Callable[[Coroutine[Any, Any, Any]], Any]
    ) -> None:
        self.leaderboards = leaderboards
        self.session = session
        self.wait = wait

    @staticmethod
    async def opened(store: str) -> tuple[sk.AsyncSession, Leaderboards]:
        session = await sk.async_connect(store, tables=LEADERBOARD_TABLES)
        await session.create_tables()
        return session, Leaderboards(session)

    def add(self, *points: tuple[str, int], game: str = GAME) -> None:
        self.add_events(*(new_event(game, player, each, None) for player, each in points))

    def add_events(self, *events: ScoreEvent) -> tuple[int, int]:
        """How many were accepted and repeated."""
        added = self.wait(self.leaderboards.add(events))
        return added.accepted, added.repeated

    def count(self) -> None:
        """Let everything follow all events so far."""

        async def follow() -> None:
            async with sk.feeds.Follower(self.session, self.leaderboards.feeds) as follower:
                await caught_up(follower)

        self.wait(follow())

    def top(self, game: str = GAME, limit: int = 100) -> list[tuple[str, int, int]]:
        found = self.wait(self.leaderboards.top(game, limit))
        return [(each.player, each.points, each.rank) for each in found]

    def standing(self, player: str, game: str = GAME) -> tuple[int, int, bool]:
        found = self.wait(self.leaderboards.standing(game, player))
        return found.points, found.rank, found.exact

    def total(self, game: str = GAME) -> tuple[int, int]:
        found = self.wait(self.leaderboards.total(game))
        return found.players, found.points


async def caught_up(follower: sk.feeds.Follower) -> None:
    """First the scores follow the events, then ranges and totals follow the scores."""
    await follower.caught_up()
    await follower.caught_up()
