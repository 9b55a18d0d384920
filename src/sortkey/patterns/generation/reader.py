"""`GenerationReader`: reads items of the generation that is served, with one GetItem each.

The reader remembers the pointer and renews it while it reads: an answer is of a generation that was served at most
`2 * renew` seconds before the read began. A generation has all its items before it is published and keeps them as long
as the pointer names it, and for a while afterwards. So an item that is found is right. An item that is not found is
asked for once more, with the pointer and consistently, for three reasons:

* the reader was frozen for so long that its generation is being removed;
* an eventually consistent read does not see yet what was written just before the generation was published;
* there is no such item, which is then certain.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

from sortkey.client.stores import EMBEDDED
from sortkey.model.items.item import Item
from sortkey.model.items.key import BoundKey
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.sessions.pattern_steps import context_of
from sortkey.patterns.generation.pointer import PointerBook, Served

T = TypeVar("T", bound=Item)


class GenerationReader(Generic[T]):
    """Reads what is served. `Generations.reader` makes it; a process needs one."""

    def __init__(self, session: AsyncSession, book: PointerBook, key: BoundKey[T], field: str, renew: float) -> None:
        self._session = session
        self._book = book
        self._key = key
        self._field = field
        self._renew = renew
        context = context_of(session)
        self._now = context.pacing.monotonic
        # In the process there is nothing to wait for, so tasks would only cost.
        self._in_parallel = context.capabilities is not EMBEDDED
        self._served: Served | None = None
        self._asked: float | None = None
        """When the pointer that is remembered was asked for."""
        self._renewing = False

    async def current(self) -> Served | None:
        """The generation that is served; None before the first. Its id is for paths of your own: all items of one
        generation belong together."""
        if self._is_old:
            await self._read_pointer()
        return self._served

    async def get(self, /, **fields: Any) -> T | None:
        """The item with this key, given without its generation; None if the generation that is served has none."""
        known = self._served
        if known is not None and self._is_old and self._in_parallel:
            # What is remembered is most likely still served.
            item = await self._read_both(known, fields)
            if item is not None and known == self._served:
                return item
        served, seen = await self.current(), None
        while served is not None:
            item = await self._session.get(self._path(served, fields), consistent=seen is not None)
            if item is not None or served == seen:
                return item
            served, seen = await self._read_pointer(), served
        return None

    async def lookup(self, keys: Iterable[Mapping[str, Any]]) -> list[T | None]:
        """The items with these keys, given without their generation, in the order of the keys; None for each key
        without an item. All are of one generation."""
        wanted = list(keys)
        served, seen = await self.current(), None
        while served is not None:
            placed = [{**fields, self._field: served.id} for fields in wanted]
            found = await self._session.lookup(self._key, placed, consistent=seen is not None)
            if None not in found or served == seen:
                return found
            served, seen = await self._read_pointer(), served
        return [None] * len(wanted)

    @property
    def _is_old(self) -> bool:
        if self._asked is None:
            return True
        age = self._now() - self._asked
        # One read renews for all that are under way.
        return age >= (2 * self._renew if self._renewing else self._renew)

    async def _read_pointer(self) -> Served | None:
        asked = self._now()
        self._renewing = True
        try:
            pointer = await self._book.pointer()
        finally:
            self._renewing = False
        # A slower read may have begun earlier.
        if self._asked is None or asked >= self._asked:
            self._served, self._asked = pointer.current, asked
        return self._served

    async def _read_both(self, served: Served, fields: Mapping[str, Any]) -> T | None:
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._read_pointer())
                return await self._session.get(self._path(served, fields))
        except BaseExceptionGroup as errors:
            # The other read was cancelled because of the first error.
            raise errors.exceptions[0] from None

    def _path(self, served: Served, fields: Mapping[str, Any]) -> Any:
        return self._key(**fields, **{self._field: served.id})
