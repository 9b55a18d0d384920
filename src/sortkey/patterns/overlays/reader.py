"""`OverlayReader`: reads a base item and its overlay at the same time, and merges them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from sortkey.client.capabilities import EMBEDDED
from sortkey.model.calls.item_decoder import Undecodable
from sortkey.model.items.item import Item
from sortkey.model.keys.key import BoundKey
from sortkey.model.paths.access_path import AccessPath
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of
from sortkey.patterns.overlays.merge import Merge

BaseT = TypeVar("BaseT", bound=Item)
OverT = TypeVar("OverT", bound=Item)
OtherT = TypeVar("OtherT", bound=Item)
ReadBase = Callable[..., Awaitable[BaseT | None]]
"""Reads the base item with these fields of its key, given by name."""


class OverlayReader(Generic[BaseT, OverT]):
    """An overlay in one store. `Overlay.reader` makes it."""

    def __init__(
        self,
        session: AsyncSession,
        items: type[OverT],
        key: BoundKey[OverT],
        merge: Merge,
        read_base: ReadBase[BaseT],
        consistent: bool,
        undecodable: Undecodable,
    ) -> None:
        self._session = session
        self._context = context_of(session)
        self._items = items
        self._key = key
        self._merge = merge
        self._read_base = read_base
        self._consistent = consistent
        self._undecodable: Undecodable = undecodable
        # In the process there is nothing to wait for, so tasks would only cost.
        self._in_parallel = self._context.capabilities is not EMBEDDED

    async def get(self, /, **fields: Any) -> BaseT | None:
        """The base item with this key, as newer items of the overlay show it; None if there is no base item."""
        base, items = await self._read(fields, self._path(fields))
        return None if base is None else self._shown(base, items)

    async def get_with(self, beside: type[OtherT], /, **fields: Any) -> tuple[BaseT, list[OtherT]] | None:
        """As `get`, with the items of another class that are in the partition of the overlay's items: the same Query
        reads both. They are not merged, and the overlay's TTL and times do not concern them."""
        base, items = await self._read(fields, self._path(fields).of_all_classes())
        if base is None:
            return None
        over = [each for each in items if isinstance(each, self._items)]
        return self._shown(base, over), [each for each in items if isinstance(each, beside)]

    def _shown(self, base: BaseT, over: list[OverT]) -> BaseT:
        shown: BaseT = self._merge(base, over, self._context.moment)
        return shown

    async def _read(self, fields: dict[str, Any], path: AccessPath[OtherT]) -> tuple[BaseT | None, list[OtherT]]:
        if self._in_parallel:
            return await self._read_both(fields, path)
        base = await self._read_base(**fields)
        return base, [] if base is None else await self._read_overlay(path)

    async def _read_both(self, fields: dict[str, Any], path: AccessPath[OtherT]) -> tuple[BaseT | None, list[OtherT]]:
        try:
            async with asyncio.TaskGroup() as tasks:
                over = tasks.create_task(self._read_overlay(path))
                base = await self._read_base(**fields)
        except BaseExceptionGroup as errors:
            # The other read was cancelled because of the first error.
            raise errors.exceptions[0] from None
        return base, over.result()

    async def _read_overlay(self, path: AccessPath[OtherT]) -> list[OtherT]:
        read = self._session.iterate(path, consistent=self._consistent, undecodable=self._undecodable)
        return [item async for item in read]

    def _path(self, fields: dict[str, Any]) -> AccessPath[OverT]:
        return self._key(**{name: fields[name] for name in self._key.layout.partition_fields if name in fields})
