"""The event loop and the session of a Lambda function, which stand still between two events."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Sequence
from typing import Any, Final, TypeVar

from sortkey.model.items.item import Item
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.connect import async_connect
from sortkey.model.tables.table import Table

T = TypeVar("T")

ANSWER_SECONDS: Final = 1.0
"""Left for the answer when the function's time is nearly over."""


class LambdaLoop:
    def __init__(self, store: str | os.PathLike[str] | None, tables: Sequence[type[Item] | Table]) -> None:
        self._store = store
        self._tables = tables
        self._session: AsyncSession | None = None
        self._runner = asyncio.Runner()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    async def session(self) -> AsyncSession:
        """Opened when it is first asked for, and kept."""
        if self._session is None:
            assert self._store is not None
            self._session = await async_connect(self._store, tables=self._tables)
        return self._session

    def close(self) -> None:
        if self._session is not None:
            self._runner.run(self._session.close())
        self._runner.close()


def seconds_left(context: Any) -> float | None:
    """None if the context does not tell, as in tests."""
    remaining = getattr(context, "get_remaining_time_in_millis", None)
    return None if remaining is None else max(0.0, remaining() / 1000 - ANSWER_SECONDS)
