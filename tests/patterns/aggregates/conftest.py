"""Aggregates on every store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

import sortkey as sk
from tests.passing_time import BRIEF
from tests.patterns.aggregates.favourites import COUNTS, FAVOURITES, LISTS, RANGES

__all__ = ["db", "runner"]


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def db(store: str, runner: asyncio.Runner) -> Iterator[sk.AsyncSession]:
    """An open session with all tables."""

    async def opened() -> sk.AsyncSession:
        session = await sk.async_connect(store, tables=[FAVOURITES, COUNTS, RANGES, LISTS], pacing=BRIEF)
        await session.create_tables()
        return session

    session = runner.run(opened())
    yield session
    runner.run(session.close())
