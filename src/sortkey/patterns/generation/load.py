"""`Load`: writes the items of one generation, beside what is served, and publishes it.

Items are written in parts of bounded size. After every few parts the load says how far it is, so that a load of the
same source can go on from there. Puts of the same items again change nothing, so a part that was written but not noted
is written twice, and two processes may load the same source at once.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from typing import Final, Generic, NamedTuple, TypeVar

from sortkey.model.items.item import Item, replace
from sortkey.patterns.generation.pointer import Generation, Served, Superseded
from sortkey.patterns.generation.pointer_book import PointerBook

T = TypeVar("T", bound=Item)
ShowRows = Callable[[int], None]
"""Called with the number of items written so far."""

_PART: Final = 400
"""Items that are written at once: 16 batches."""
_NOTED: Final = 25
"""Parts between two notes of how far the load is."""


class Load(Generic[T]):
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
        self._position = 0
        """How many items of the source were read."""

    @property
    def id(self) -> str:
        """The generation's id; `Generations.join` takes it in another process."""
        return self._generation.id

    async def write(self, items: Iterable[T] | AsyncIterable[T], *, progress: ShowRows | None = None) -> None:
        """Write items; further calls write more. A resumed load reads past those that are written already, so all calls
        together must have the same items in the same order. `progress` is called with the number of items written so
        far, over all calls."""
        skipped, start = max(0, self.resumed_at - self._position), self._position
        async for part in self._parts(items, skipped):
            await self._book.session.batch(put=part.items)
            self._position = start + part.end
            self.rows += len(part.items)
            if progress is not None and part.items:
                progress(self.rows)
            if part.is_last or part.number % _NOTED == 0:
                await self._note(self.rows)

    async def write_share(self, items: Iterable[T] | AsyncIterable[T]) -> int:
        """Write some of the items, while other processes write others, and return how many. A share that fails is to be
        written again as a whole."""
        written = 0
        async for part in self._parts(items, 0):
            await self._book.session.batch(put=part.items)
            written += len(part.items)
            if part.is_last or part.number % _NOTED == 0:
                await self._note(None)
        return written

    async def publish(self, *, rows: int | None = None) -> Served:
        """Serve this generation from now on. Raises Superseded if one with a later as-of is served; this one is then
        discarded. `rows` is the number of items, if other processes have written them."""
        if rows is None and self._position < self.resumed_at:
            raise ValueError(
                f"generation {self.id} has {self.resumed_at} items of an earlier attempt, but now there are only "
                f"{self._position}; discard the load, and give other items another source="
            )
        return await self._book.publish(self.id, self.rows if rows is None else rows)

    async def discard(self) -> None:
        """Give the load up; its items are removed in the background."""
        await self._book.discard(self._generation)

    async def _parts(self, items: Iterable[T] | AsyncIterable[T], skipped: int) -> AsyncIterator[_Part[T]]:
        """The items after the first ones, in their generation. The last part may be empty."""
        position = number = 0
        part: list[T] = []
        async for item in _each(items):
            position += 1
            if position <= skipped:
                continue
            if not isinstance(item, self._class):
                raise TypeError(f"item {position} is not a {self._class.__name__}: {item!r}")
            part.append(replace(item, **{self._field: self.id}))
            if len(part) == _PART:
                number += 1
                yield _Part(part, position, number, is_last=False)
                part = []
        yield _Part(part, position, number + 1, is_last=True)

    async def _note(self, rows: int | None) -> None:
        try:
            await self._book.touch(self.id, rows)
        except Superseded:
            # What was written since the removal has to be removed, too.
            await self.discard()
            raise


class _Part(NamedTuple, Generic[T]):
    items: list[T]
    end: int
    """How many items were read up to its end."""
    number: int
    is_last: bool


async def _each(items: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
