"""The service on every store, without its leaderboards, and with the consumers of follows. Its calls are awaited, so
that tests are not coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey_services.social.model import COUNTS, SOCIAL
from sortkey_services.social.service import SocialService

R = TypeVar("R")

NOON = datetime(2026, 8, 24, 12, tzinfo=UTC)


class Service:
    """A started service, whose calls are waited for."""

    def __init__(self, runner: asyncio.Runner, session: sk.AsyncSession) -> None:
        self._runner = runner
        self.session = session
        self.clock = ManualClock(NOON.timestamp())
        self.social = SocialService(session, self.clock)
        self.wait(session.create_tables())

    def wait(self, call: Coroutine[Any, Any, R]) -> R:
        return self._runner.run(call)

    def users(self, *users: str, city: str = "London") -> None:
        for user in users:
            self.wait(self.social.users.put(user, user.title() or user, city))

    def follow(self, *pairs: tuple[str, str]) -> None:
        for user, other in pairs:
            self.wait(self.social.follows.follow(user, other))

    def unfollow(self, user: str, other: str) -> None:
        self.wait(self.social.follows.unfollow(user, other))

    def count(self) -> None:
        """Let the counts of follows have all changes so far."""

        async def follow() -> None:
            async with sk.feeds.Follower(self.session, self.social.follows.feeds) as follower:
                await follower.caught_up()

        self.wait(follow())

    def counts(self, user: str) -> tuple[int, int]:
        """How many the user follows, and how many follow the user."""
        counts = self.wait(self.social.users.get(user))
        return counts.following, counts.followers


@pytest.fixture
def service(store: str) -> Iterator[Service]:
    with asyncio.Runner() as runner:

        async def opened() -> sk.AsyncSession:
            return await sk.async_connect(store, tables=[SOCIAL, COUNTS])

        session = runner.run(opened())
        yield Service(runner, session)
        runner.run(session.close())
