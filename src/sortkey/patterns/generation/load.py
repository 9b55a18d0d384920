"""`GenerationLoad`: writes the items of one generation, beside what is served, and publishes it.

Every few thousand items the load notes how many are written, so that a load of the same source can go on from there.
Puts of the same items again change nothing, so items that were written but not noted are written twice, and two
processes may load the same source at once.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable
from contextlib import suppress
from typing import Final, Generic, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from sortkey.model.errors import LoadError, ModelError
from sortkey.model.items.item import Item, replace
from sortkey.model.maintenance.load import LoadResult, ShowLoad
from sortkey.patterns.generation.pointer import Generation, PointerBook, Served, Superseded

T = TypeVar("T", bound=Item)

NOTED: Final = 10_000
"""Items between two notes of how far the load is."""


class GenerationLoad(Generic[T]):
    """A load that is under way. `Generations.begin` makes it."""

    def __init__(self, book: PointerBook, field: str, cls: type[T], generation: Generation) -> None:
        self._book = book
        self._field = field
        self._class = cls
        self._generation = generation
        self.rows: int = generation.rows
        """How many items of the source are written."""
        self.resumed_at: int = generation.rows
        """How many of them an earlier attempt has written; `write` leaves them out."""

    @property
    def id(self) -> str:
        """The generation's id; `Generations.join` takes it in another process."""
        return self._generation.id

    async def write(
        self, items: Iterable[T] | AsyncIterable[T], *, rate: float | None = None, progress: ShowLoad | None = None
    ) -> None:
        """Write the items of the source. A resumed load reads past those that are written already, so they must be the
        same, in the same order. `rate` and `progress` are those of `db.load`. Raises LoadError as it does."""

        def show(loaded: LoadResult) -> None:
            self.rows = loaded.position
            if progress is not None:
                progress(loaded)

        try:
            loaded = await self._load(self._placed(items, of_all=True), self.resumed_at, rate, show)
        except LoadError as error:
            self.rows = error.position
            # If the store cannot be reached, a load that goes on writes more of them again.
            with suppress(ClientError, BotoCoreError, ModelError):
                await self._note(self.rows)
            raise
        self.rows = loaded.position
        await self._note(self.rows)

    async def write_share(
        self, items: Iterable[T] | AsyncIterable[T], *, rate: float | None = None, progress: ShowLoad | None = None
    ) -> int:
        """Write some of the items, while other processes write others, and return how many. A share that fails is to be
        written again as a whole."""
        loaded = await self._load(self._placed(items, of_all=False), 0, rate, progress)
        await self._note(None)
        return loaded.items

    async def publish(self, *, rows: int | None = None) -> Served:
        """Serve this generation from now on. Raises Superseded if one with a later as-of is served; this one is then
        discarded. `rows` is the number of items, if other processes have written them."""
        return await self._book.publish(self.id, self.rows if rows is None else rows)

    async def discard(self) -> None:
        """Give the load up; its items are removed in the background."""
        await self._book.discard(self._generation)

    async def _load(
        self, placed: AsyncIterator[T], after: int, rate: float | None, progress: ShowLoad | None
    ) -> LoadResult:
        try:
            return await self._book.session.load(placed, after=after, rate=rate, progress=progress)
        except LoadError as error:
            if isinstance(error.__cause__, Superseded):
                raise error.__cause__ from None
            raise

    async def _placed(self, items: Iterable[T] | AsyncIterable[T], *, of_all: bool) -> AsyncIterator[T]:
        """The items in their generation. Notes how far the load is while they are taken."""
        taken = 0
        async for item in _each(items):
            if not isinstance(item, self._class):
                raise TypeError(f"expected a {self._class.__name__}, got {item!r}")
            yield replace(item, **{self._field: self.id})
            taken += 1
            if taken % NOTED == 0:
                await self._note(self.rows if of_all else None)

    async def _note(self, rows: int | None) -> None:
        try:
            await self._book.touch(self.id, rows)
        except Superseded:
            # What was written since the removal has to be removed, too.
            await self.discard()
            raise


async def _each(items: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
