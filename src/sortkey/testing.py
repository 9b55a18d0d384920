"""`sk.testing`: a store for a test, its faults, and a clock that the test moves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from sortkey.client import Faults
from sortkey.clock import Clock, ManualClock
from sortkey.model.items.item import Item
from sortkey.model.items.table import Table
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.connect import async_connect, connect
from sortkey.model.sessions.session import Session

__all__ = ["Faults", "ManualClock", "async_local", "local"]


@contextmanager
def local(*tables: type[Item] | Table, clock: Clock | None = None, faults: Faults | None = None) -> Iterator[Session]:
    """A session of a new store in memory, with these tables. `clock` is the session's, such as an
    `sk.testing.ManualClock`; `faults` are the store's (docs/guides/faults.md).

        @pytest.fixture
        def db() -> Iterator[sk.Session]:
            with sk.testing.local(Order) as session:
                yield session
    """
    with connect("memory:", tables=tables, clock=clock, faults=faults) as session:
        session.create_tables()
        yield session


@asynccontextmanager
async def async_local(
    *tables: type[Item] | Table, clock: Clock | None = None, faults: Faults | None = None
) -> AsyncIterator[AsyncSession]:
    """As `local`, for async use: `async with sk.testing.async_local(Order) as db`."""
    async with async_connect("memory:", tables=tables, clock=clock, faults=faults) as session:
        await session.create_tables()
        yield session
