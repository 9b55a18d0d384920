"""`Load`: writes the items of an iterator, of any length, as `db.load` does.

Items are taken a few at a time, so that the event loop, or another thread, has its turn in between. An item is encoded
when it is taken, and written with those around it. If an item is bad, or its source raises an error, all items before
it are written first. So what is written is always the beginning of the source, and a number says how much.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, Self

from sortkey.client.interface import AnyClient
from sortkey.model.calls.steps import Context, Steps
from sortkey.model.calls.writes import stamped
from sortkey.model.errors import FAILURES, LoadError
from sortkey.model.items.item import Item
from sortkey.model.items.schema import Schema
from sortkey.model.items.stamps import Stamps, keep_stamps
from sortkey.model.maintenance.load_writers import CommitWriter, LoadWriter, RejectedRow, RoundWriter
from sortkey.model.maintenance.long_work import LongWork
from sortkey.model.maintenance.unit_rate import UnitRate
from sortkey.model.paths.arguments import require_item, require_several

SLICE: Final = 32
"""How many items are taken at a time: about a millisecond's work."""
SHOWN: Final = 200
"""How much of a bad item an error shows, in characters."""


class LoadResult(NamedTuple):
    """What `db.load` did, or has done so far: `progress=` receives one after each commit or round of batches.

    >>> db.load(Parcel(number=number) for number in range(1000)).position
    1000
    """

    items: int
    """How many items this call has written."""
    position: int
    """How many items of the source are written, those that `after=` skipped included."""
    write_units: float
    seconds: float

    @property
    def items_per_second(self) -> float:
        """How many items this call has written per second."""
        return self.items / self.seconds if self.seconds else 0.0


ShowLoad = Callable[[LoadResult], None]


class LoadOptions(NamedTuple):
    after: int = 0
    rate: float | None = None
    progress: ShowLoad | None = None


class Load(LongWork[LoadResult]):
    def __init__(self, context: Context, client: AnyClient[Any], options: LoadOptions) -> None:
        _check(options)
        if options.rate is not None:
            context.require_consumed_capacity("rate=")
        self._context = context
        self._options = options
        self._writer = _writer(context, client)
        self._rate = None if options.rate is None else UnitRate(options.rate, context.pacing.now)
        self._paid = 0.0
        self._schemas: dict[type[Item], Schema[Any]] = {}
        self._source: Iterator[Item] = iter(())
        self._is_last = False
        self._taken = 0
        self._failure: tuple[str, Exception] | None = None
        self._stamped: deque[tuple[int, Stamps, Item, Item]] = deque()
        self._shown = 0
        self._began = context.pacing.now()

    def of(self, items: Iterable[Item], *, last: bool = True) -> Self:
        """Load these items next; `last` says whether they are the last ones."""
        require_several(items, "items")
        self._source = iter(items)
        self._is_last = last
        return self

    @property
    def result(self) -> LoadResult:
        seconds = self._context.pacing.now() - self._began
        return LoadResult(self._writer.rows, self._position, self._writer.units, seconds)

    @property
    def _position(self) -> int:
        return min(self._taken, self._options.after) + self._writer.rows

    def pause(self) -> float:
        pause = self._writer.pause()
        if self._rate is not None:
            self._rate.took(self._writer.units - self._paid)
            self._paid = self._writer.units
            pause = max(pause, self._rate.pause())
        return pause

    def part(self) -> Steps[bool]:
        if self._writer.is_full:
            yield from self._write(self._writer.write())
            return True
        # Without a step: a source may take as long as it likes, and a session's timeout is for the store.
        if self._take_slice():
            return True
        if self._is_last or self._failure is not None:
            yield from self._write(self._writer.finish())
            self._end()
        return False

    def _take_slice(self) -> bool:
        """Take the next few items; returns whether there may be more."""
        for _ in range(SLICE):
            try:
                item = next(self._source)
            except StopIteration:
                return False
            except Exception as error:  # noqa: BLE001  it is raised when the items before are written
                self._failure = (f"the source raised an error after {self._taken:,} items", error)
                return False
            self._taken += 1
            if self._taken <= self._options.after:
                continue
            try:
                self._add(item)
            except Exception as error:  # noqa: BLE001  the same
                self._failure = (f"item {self._taken:,}, {_shown(item)}, cannot be written", error)
                return False
            if self._writer.is_full:
                break
        return True

    def _add(self, item: Item) -> None:
        schema = self._schemas.get(type(item))
        if schema is None:
            require_item(item)
            schema = self._schemas[type(item)] = self._context.schema(type(item))
        if schema.stamps is None:
            self._writer.add(schema, schema.encode(item))
            return
        stored = stamped(schema, item, self._context.moment)
        self._writer.add(schema, schema.encode(stored))
        self._stamped.append((self._taken, schema.stamps, item, stored))

    def _write(self, steps: Steps[None]) -> Steps[None]:
        try:
            yield from steps
        except RejectedRow as error:
            what = f"item {self._position + 1:,}, {error}, cannot be written"
            raise self._error(what, error.reason) from error.reason
        except FAILURES as error:
            raise self._error("the store did not write the next items", error) from error
        while self._stamped and self._stamped[0][0] <= self._position:
            keep_stamps(*self._stamped.popleft()[1:])
        if self._options.progress is not None and self._writer.rows > self._shown:
            self._shown = self._writer.rows
            self._options.progress(self.result)

    def _end(self) -> None:
        if self._failure is not None:
            what, error = self._failure
            raise self._error(what, error) from error
        if self._taken < self._options.after:
            raise ValueError(f"after={self._options.after:,}, but the source has only {self._taken:,} items")

    def _error(self, what: str, error: BaseException) -> LoadError:
        position, items = self._position, self._writer.rows
        return LoadError(
            f"{what}: {type(error).__name__}: {error}; the first {position:,} items are written, {items:,} of them by "
            f"this load (to continue: after={position})",
            position,
            items,
        )


async def pieces(items: AsyncIterable[Item]) -> AsyncIterator[tuple[Iterable[Item], bool]]:
    """The items of an async source in small lists, each with whether it is the last one. If the source raises an error,
    so does the last one."""
    piece: list[Item] = []
    failure: Exception | None = None
    source = aiter(items)
    while True:
        try:
            piece.append(await anext(source))
        except StopAsyncIteration:
            break
        except Exception as error:  # noqa: BLE001  the last piece raises it
            failure = error
            break
        if len(piece) == SLICE:
            yield piece, False
            piece = []
    yield piece if failure is None else _ending(piece, failure), True


def _ending(items: list[Item], error: Exception) -> Iterator[Item]:
    yield from items
    raise error


def _writer(context: Context, client: AnyClient[Any]) -> LoadWriter:
    puts = client.in_process_puts
    return RoundWriter(context) if puts is None else CommitWriter(context, puts)


def _check(options: LoadOptions) -> None:
    if type(options.after) is not int or options.after < 0:
        raise ValueError(f"after must be a number of items, the position of an earlier load, not {options.after!r}")
    if not (options.progress is None or callable(options.progress)):
        raise TypeError(f"progress must be a function of one argument, not {options.progress!r}")


def _shown(item: object) -> str:
    text = repr(item)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
