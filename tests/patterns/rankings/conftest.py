"""Rankings on every store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

import sortkey as sk
from tests.patterns.rankings.scoreboard import BOARD_RANGES, BOARD_SCORES, feed_of


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def db(store: str, runner: asyncio.Runner) -> Iterator[sk.AsyncSession]:
    """An open session with all tables."""

    async def opened() -> sk.AsyncSession:
        session = await sk.async_connect(store, tables=[BOARD_SCORES, BOARD_RANGES])
        await session.create_tables()
        return session

    session = runner.run(opened())
    yield session
    runner.run(session.close())


@pytest.fixture
def follower(db: sk.AsyncSession, runner: asyncio.Runner) -> Iterator[sk.feeds.Follower]:
    """One that counts as long as the test runs."""
    follower = sk.feeds.Follower(db, [feed_of(db)])
    runner.run(follower.__aenter__())
    yield follower
    runner.run(follower.__aexit__(None, None, None))
