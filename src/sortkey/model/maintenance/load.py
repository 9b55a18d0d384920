"""`LoadWork`: writes the items of an iterator, of any length, as `db.load` does.

Items are taken a few at a time, so that the event loop, or another thread, has its turn in between. An item is encoded
when it is taken, and written with those around it. If an item is bad, or its source raises an error, all items before
it are written first. So what is written is always the beginning of the source, and a number says how much.

A `LoadWriter` writes groups of rows in one commit each in a store of the process, and rounds of batches elsewhere.
Either writes in the order of the rows, as far as it matters: of two rows with the same key, the later one remains.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, Self

from botocore.exceptions import ClientError

from sortkey.client.interface import AnyClient, InProcessPuts, PendingCommit
from sortkey.client.stores import IN_FLIGHT
from sortkey.limits import BATCH_WRITE_REQUESTS, MIB
from sortkey.model.calls.arguments import require_item, require_several
from sortkey.model.calls.item_decoder import Identity, identifier
from sortkey.model.calls.rejected_values import explained
from sortkey.model.calls.steps import Answer, Call, Commit, Context, ParallelCalls, Steps, code_of
from sortkey.model.calls.writes import Write, batch_write_calls, reject_revision, stamped, unprocessed
from sortkey.model.costs.meter import units_of
from sortkey.model.errors import FAILURES, LoadError
from sortkey.model.fields.codec import Row
from sortkey.model.items.item import Item
from sortkey.model.items.schema import Schema
from sortkey.model.items.stamps import Stamps, keep_stamps
from sortkey.model.maintenance.long_work import LongWork, UnitRate

COMMIT_ROWS: Final = 512
"""The rows of a commit on a quick disk, or while others write."""
MOST_COMMIT_ROWS: Final = 8192
MOST_COMMIT_BYTES: Final = 4 * MIB
"""The most rows and bytes of a commit on any disk. While it runs, the writes of others wait."""
SLICE: Final = 32
"""How many items are taken at a time: about a millisecond's work."""
SHOWN: Final = 200
"""How much of a bad item an error shows, in characters."""
ROUND_ROWS: Final = IN_FLIGHT * BATCH_WRITE_REQUESTS


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


class LoadWork(LongWork[LoadResult]):
    def __init__(self, context: Context, client: AnyClient[Any], options: LoadOptions) -> None:
        _check(options)
        if options.rate is not None:
            context.require_consumed_capacity("rate=")
        self._context = context
        self._options = options
        self._writer = _writer(context, client)
        self._rate = None if options.rate is None else UnitRate(options.rate, context.pacing.monotonic)
        self._paid = 0.0
        self._schemas: dict[type[Item], Schema[Any]] = {}
        self._source: Iterator[Item] = iter(())
        self._is_last = False
        self._taken = 0
        self._failure: tuple[str, Exception] | None = None
        self._stamped: deque[tuple[int, Stamps, Item, Item]] = deque()
        self._shown = 0
        self._began = context.pacing.monotonic()

    def of(self, items: Iterable[Item], *, last: bool = True) -> Self:
        """Load these items next; `last` says whether they are the last ones."""
        require_several(items, "items")
        self._source = iter(items)
        self._is_last = last
        return self

    @property
    def result(self) -> LoadResult:
        seconds = self._context.pacing.monotonic() - self._began
        return LoadResult(self._writer.rows, self._position, self._writer.units, seconds)

    @property
    def _position(self) -> int:
        return min(self._taken, self._options.after) + self._writer.rows

    def pause(self) -> float:
        if self._rate is None:
            return 0.0
        self._rate.took(self._writer.units - self._paid)
        self._paid = self._writer.units
        return self._rate.pause()

    def part(self) -> Steps[bool]:
        if self._writer.is_full:
            yield from self._write(self._writer.write())
            return True
        # Without a step: a source may take as long as it likes, and a session's timeout is for the store.
        if self._take_slice():
            return True
        if self._is_last or self._failure is not None:
            yield from self._write(self._writer.finish())
            if self._writer.has_unwritten:
                return True
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
            schema = self._context.schema(type(item))
            reject_revision(schema, "a load")
            self._schemas[type(item)] = schema
        if schema.stamps is None:
            self._writer.add(schema, item)
            return
        stored = stamped(schema, item, self._context.moment)
        self._writer.add(schema, stored)
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


class LoadWriter(ABC):
    def __init__(self) -> None:
        self.rows = 0
        """How many rows are written: the first ones that were added."""
        self.units = 0.0

    @abstractmethod
    def add(self, schema: Schema[Any], item: Item) -> None:
        """Add the row of an item. Raises what the store is known to reject it with."""

    @property
    @abstractmethod
    def is_full(self) -> bool:
        """Whether it is time to `write`."""

    @abstractmethod
    def write(self) -> Steps[None]:
        """Write the rows that were added. They may be written only when the next ones are, or at the end."""

    @abstractmethod
    def finish(self) -> Steps[None]:
        """Write what is left, and wait until it is written; again if the store has not taken all."""

    @property
    def has_unwritten(self) -> bool:
        """Whether to `finish` again."""
        return False


class CommitWriter(LoadWriter):
    """For a store in the process. While a group of rows goes to the disk, the next one is prepared; only one is in the
    write queue, so a write of someone else waits for one group at most.

    A sync takes about as long for many rows as for few. So a group grows until its rows take the writer as long as the
    sync takes: larger groups would hardly be quicker. While someone else writes, too, groups are small.
    """

    def __init__(self, context: Context, puts: Callable[[], InProcessPuts]) -> None:
        super().__init__()
        self._context = context
        self._new_group = puts
        self._group = puts()
        self._entities: dict[str, None] = {}
        self._most_rows = COMMIT_ROWS
        self._committing: tuple[PendingCommit, int, float, str] | None = None
        self._writes_before: int | None = None

    def add(self, schema: Schema[Any], item: Item) -> None:
        measured = None if schema.writer is None else schema.writer(item)
        row, size = (schema.encode(item), None) if measured is None else measured
        try:
            self._group.add(schema.table, row, size=size)
        except ClientError as error:
            raise explained(Call("PutItem", {"TableName": schema.table, "Item": row}, ""), error) from None
        self._entities[schema.name] = None

    @property
    def is_full(self) -> bool:
        return len(self._group) >= self._most_rows or self._group.bytes >= MOST_COMMIT_BYTES

    def write(self) -> Steps[None]:
        yield from self._settle()
        if len(self._group):
            now, name = self._context.pacing.monotonic(), _metered(self._entities)
            pending = self._group.submit()
            self._committing = (pending, len(self._group), now, name)
            self._group = self._new_group()
            self._entities = {}
            # To prepare rows now would make the writer's turn longer, for which others wait.
            yield Commit(pending, pending.turn)

    def finish(self) -> Steps[None]:
        yield from self.write()
        yield from self._settle()

    def _settle(self) -> Steps[None]:
        """Wait for the group that is being committed."""
        if self._committing is None:
            return
        pending, rows, began, name = self._committing
        self._committing = None
        answer: Answer = yield Commit(pending, pending.answer)
        self._adapt(pending)
        units = units_of(answer.get("ConsumedCapacity"))
        self.rows += rows
        self.units += units
        self._context.meter.add(name, 0, 0, units, self._context.pacing.monotonic() - began, written=True)

    def _adapt(self, committed: PendingCommit) -> None:
        work, sync = committed.work_seconds, committed.sync_seconds
        # Between two groups nothing else was written if the store has answered one write more: the first group.
        alone = self._writes_before is None or committed.writes_before == self._writes_before + 1
        self._writes_before = committed.writes_before
        if committed.others_wait or not alone:
            self._most_rows = COMMIT_ROWS
        elif sync > work:
            self._most_rows = min(MOST_COMMIT_ROWS, 2 * self._most_rows)
        elif 2 * sync < work:
            self._most_rows = max(COMMIT_ROWS, self._most_rows // 2)


class RejectedRow(Exception):
    """The store rejects one row; the rows before it are written."""

    def __init__(self, schema: Schema[Any], row: Row, reason: ClientError) -> None:
        self.reason = reason
        key = ", ".join(f"{part.name}={row.get(part.name)}" for part in schema.primary.attributes)
        super().__init__(f"{schema.name} with {key}")


class RoundWriter(LoadWriter):
    """For other stores. A round is a few batches at once; the next one begins when all of it is written. What the store
    leaves unprocessed is sent again, by the next write if it has taken some."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._round: list[tuple[Schema[Any], Row]] = []
        self._left: list[Write] = []
        """What was sent of the round, and is to be sent again."""

    def add(self, schema: Schema[Any], item: Item) -> None:
        self._round.append((schema, schema.encode(item)))

    @property
    def is_full(self) -> bool:
        return len(self._round) >= ROUND_ROWS or bool(self._left)

    def write(self) -> Steps[None]:
        name = _metered(dict.fromkeys(schema.name for schema, _ in self._round))
        try:
            self._left = yield from self._send(self._left or _distinct(self._round), name)
        except ClientError as error:
            if code_of(error) != "ValidationException":
                raise
            # The error of a batch does not say which row is meant.
            rows, self._round, self._left = self._round, [], []
            yield from self._put_each(rows, name)
        else:
            if not self._left:
                self.rows += len(self._round)
                self._round = []

    def finish(self) -> Steps[None]:
        if self._round:
            yield from self.write()

    @property
    def has_unwritten(self) -> bool:
        return bool(self._round)

    def _send(self, writes: list[Write], name: str) -> Steps[list[Write]]:
        """Send writes until the store takes some; returns the others."""
        attempt = 0
        while True:
            calls = batch_write_calls(self._context, writes, name)
            results: list[Answer | ClientError] = yield ParallelCalls(calls)
            self.units += sum(units_of(each.get("ConsumedCapacity")) for each in results if isinstance(each, dict))
            left = [write for call, result in zip(calls, results, strict=True) for write in unprocessed(call, result)]
            if not left:
                return left
            yield self._context.pacing.pause(attempt)
            if len(left) < len(writes):
                return left
            attempt += 1

    def _put_each(self, rows: list[tuple[Schema[Any], Row]], name: str) -> Steps[None]:
        """Put rows one by one, up to the one that the store rejects."""
        for schema, row in rows:
            try:
                answer = yield from self._context.send("PutItem", {"TableName": schema.table, "Item": row}, name)
            except ClientError as error:
                raise RejectedRow(schema, row, error) from error
            self.units += units_of(answer.get("ConsumedCapacity"))
            self.rows += 1


def _distinct(rows: list[tuple[Schema[Any], Row]]) -> list[Write]:
    """The puts of these rows. A batch may not have a key twice, so only the last row of each key is put."""
    found: dict[tuple[str, Identity], Write] = {}
    for schema, row in rows:
        found[schema.table, identifier(schema.primary)(row)] = (schema.table, {"PutRequest": {"Item": row}})
    return list(found.values())


def _metered(entities: Iterable[str]) -> str:
    return f"load {', '.join(entities)}"
