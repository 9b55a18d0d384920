"""`OverlayReader`: reads a base item and its overlay at the same time, and merges them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from sortkey.client.capabilities import EMBEDDED
from sortkey.model.items.item import Item
from sortkey.model.keys.key import BoundKey
from sortkey.model.sessions.async_session import AsyncSession, context_of
from sortkey.patterns.overlay.merge import Merge

BaseT = TypeVar("BaseT", bound=Item)
OverT = TypeVar("OverT", bound=Item)
ReadBase = Callable[..., Awaitable[BaseT | None]]
"""Reads the base item with these fields of its key, given by name."""


class OverlayReader(Generic[BaseT, OverT]):
    """An overlay in one store. `Overlay.reader` makes it."""

    def __init__(
        self,
        session: AsyncSession,
        key: BoundKey[OverT],
        merge: Merge,
        read_base: ReadBase[BaseT],
        consistent: bool,
    ) -> None:
        self._session = session
        self._context = context_of(session)
        self._key = key
        self._merge = merge
        self._read_base = read_base
        self._consistent = consistent
        # In the process there is nothing to wait for, so tasks would only cost.
        self._in_parallel = self._context.capabilities is not EMBEDDED

    async def get(self, /, **fields: Any) -> BaseT | None:
        """The base item with this key, as newer items of the overlay show it; None if there is no base item."""
        if self._in_parallel:
            base, items = await self._read_both(fields)
        else:
            base = await self._read_base(**fields)
            items = [] if base is None else await self._read_overlay(fields)
        shown: BaseT | None = None if base is None else self._merge(base, items, self._context.moment)
        return shown

    async def _read_both(self, fields: dict[str, Any]) -> tuple[BaseT | None, list[OverT]]:
        try:
            async with asyncio.TaskGroup() as tasks:
                over = tasks.create_task(self._read_overlay(fields))
                base = await self._read_base(**fields)
        except BaseExceptionGroup as errors:
            # The other read was cancelled because of the first error.
            raise errors.exceptions[0] from None
        return base, over.result()

    async def _read_overlay(self, fields: dict[str, Any]) -> list[OverT]:
        path = self._key(**{name: fields[name] for name in self._key.layout.partition_fields if name in fields})
        return [item async for item in self._session.iterate(path, consistent=self._consistent)]
