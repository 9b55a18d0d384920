"""Notes in memory, and the app that serves them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

import sortkey as sk
from sortkey.server.app import app_of
from sortkey.server.metrics import path_samples
from sortkey.server.middleware import Middleware
from tests.server.calling import Answer, Ask, asking, call
from tests.server.notes import Note, Notes

Use = Callable[[Middleware], Awaitable[None]]
WithApp = Callable[..., None]


@asynccontextmanager
async def notes_in_memory() -> AsyncIterator[tuple[Notes, Callable[..., Middleware]]]:
    """The service, and what makes an app of it."""
    async with sk.async_connect("memory:", tables=[Note]) as session:
        notes = Notes(session, {})
        await notes.start()

        def app(**settings: Any) -> Middleware:
            return app_of([notes], lambda: path_samples(session.meter.readings()), **settings)

        yield notes, app


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """Asks one app of the notes, without settings."""

    @asynccontextmanager
    async def serving() -> AsyncIterator[Callable[..., Awaitable[Answer]]]:
        async with notes_in_memory() as (_, app):
            yield partial(call, app())

    with asking(serving()) as ask:
        yield ask


@pytest.fixture
def with_app() -> WithApp:
    """Runs what a test does with an app, given the app's settings."""

    def run(use: Callable[[Middleware], Coroutine[Any, Any, None]], **settings: Any) -> None:
        async def whole() -> None:
            async with notes_in_memory() as (_, app):
                await use(app(**settings))

        asyncio.run(whole())

    return run
