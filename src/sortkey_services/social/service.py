"""The social service: its parts, joined."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

from litestar.types import ControllerRouterHandler

import sortkey as sk
from sortkey_services.social import (
    demo,
    follows_routes,
    leaderboards_routes,
    orders_routes,
    pins_routes,
    products_routes,
    users_routes,
)
from sortkey_services.social.follows import Follows
from sortkey_services.social.leaderboard_model import LEADERBOARD_TABLES
from sortkey_services.social.leaderboards import Leaderboards
from sortkey_services.social.model import COUNTS, SOCIAL
from sortkey_services.social.mutuals import Mutuals
from sortkey_services.social.orders import Orders
from sortkey_services.social.pins import Pins
from sortkey_services.social.products import Products
from sortkey_services.social.users import Users

TABLES: Final = (SOCIAL, COUNTS, *LEADERBOARD_TABLES)
DEMO_BATCH: Final = 500
DEMO_SECONDS: Final = 0.5
"""Between two visits."""


class SocialService:
    name = "social"

    def __init__(self, session: sk.AsyncSession, now: Callable[[], float] = time.time) -> None:
        self._session = session
        self._now = now
        self.users = Users(session)
        self.follows = Follows(session, self.users, now)
        self.mutuals = Mutuals(session, self.users)
        self.pins = Pins(session)
        self.orders = Orders(session)
        self.products = Products(session)
        self.leaderboards = Leaderboards(session)

    @property
    def routes(self) -> Sequence[ControllerRouterHandler]:
        return [
            *users_routes.routes(self.users),
            *follows_routes.routes(self.follows, self.mutuals),
            *pins_routes.routes(self.pins),
            *orders_routes.routes(self.orders),
            *products_routes.routes(self.products),
            *leaderboards_routes.routes(self.leaderboards),
        ]

    @property
    def feeds(self) -> Sequence[sk.feeds.ChangeFeed[Any]]:
        return [*self.follows.feeds, *self.leaderboards.feeds]

    async def start(self) -> None:
        await self._session.create_tables(*TABLES)

    async def load_demo(self, progress: sk.services.Progress) -> None:
        if await self._session.get(demo.LAST.key, consistent=True) is not None:
            return
        rows = list(demo.rows())
        for done in range(0, len(rows), DEMO_BATCH):
            # In order: if the last one is stored, all are.
            await self._session.batch(put=rows[done : done + DEMO_BATCH])
            progress(min(done + DEMO_BATCH, len(rows)), len(rows))

    async def run_demo(self) -> None:
        """Visitors begin and end to follow each other, until it is cancelled."""
        visitors = demo.Visitors(Random(self._now()))
        while True:
            visit = visitors.next()
            await (self.follows.follow if visit.follows else self.follows.unfollow)(visit.user, visit.other)
            await asyncio.sleep(DEMO_SECONDS)
