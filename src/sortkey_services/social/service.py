"""The social service: its parts, joined."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any, Final

from litestar.types import ControllerRouterHandler

import sortkey as sk
from sortkey.clock import Clock, SystemClock
from sortkey_services.social import demo
from sortkey_services.social.follows import Follows, Mutuals
from sortkey_services.social.leaderboards import Leaderboards
from sortkey_services.social.model import COUNTS, FORMER_TOP, LEADERBOARD_TABLES, SOCIAL, Order, Score
from sortkey_services.social.orders import Orders
from sortkey_services.social.products import Products
from sortkey_services.social.users import Pins, Users

TABLES: Final = (SOCIAL, COUNTS, *LEADERBOARD_TABLES)
DEMO_ROWS_AT_ONCE: Final = 500
DEMO_SECONDS: Final = 0.5
"""Between two visits."""


class SocialService:
    name = "social"

    def __init__(self, session: sk.AsyncSession, clock: Clock | None = None) -> None:
        self._session = session
        self._clock = clock or SystemClock()
        self.users = Users(session)
        self.follows = Follows(session, self.users, self._clock)
        self.mutuals = Mutuals(session, self.users)
        self.pins = Pins(session)
        self.orders = Orders(session)
        self.products = Products(session)
        self.leaderboards = Leaderboards(session)

    @property
    def routes(self) -> Sequence[ControllerRouterHandler]:
        parts = (self.users, self.follows, self.mutuals, self.pins, self.orders, self.products, self.leaderboards)
        return [route for part in parts for route in part.routes]

    @property
    def feeds(self) -> Sequence[sk.feeds.ChangeFeed[Any]]:
        return [*self.follows.feeds, *self.leaderboards.feeds]

    async def start(self) -> None:
        await self._session.replace_index(Score.top, FORMER_TOP)
        try:
            await self._session.create_tables(*TABLES)
        except sk.TablesDiffer:
            # A table of an earlier version lacks an index. What else differs is raised again.
            await self._session.fill_index(Order.by_customer)
            await self._session.create_tables(*TABLES)
        await self.orders.take_over()

    async def load_demo(self, progress: sk.services.Progress) -> None:
        if await self._session.get(demo.LAST.key, consistent=True) is not None:
            return
        rows = list(demo.rows())
        for done in range(0, len(rows), DEMO_ROWS_AT_ONCE):
            # In order: if the last one is stored, all are.
            await self._session.batch(put=rows[done : done + DEMO_ROWS_AT_ONCE])
            progress(min(done + DEMO_ROWS_AT_ONCE, len(rows)), len(rows))

    async def run_demo(self) -> None:
        """Visitors begin and end to follow each other, until it is cancelled."""
        visitors = demo.Visitors(Random(self._clock.now()))
        while True:
            visit = visitors.next()
            await (self.follows.follow if visit.follows else self.follows.unfollow)(visit.user, visit.other)
            await asyncio.sleep(DEMO_SECONDS)
