"""Pages: the one path on which Query and Scan read rows, and what they return of them.

A page ends at the end of its range, after `limit` rows, or when the rows read (before any filter) reach 1 MB. Rows are
fetched in chunks, which cost a fraction of the same number of single steps. Keys are ordered, so the last key of a
chunk shows whether the chunk has left the range; only then are the other keys compared.

A page of 1 MB can have 200,000 rows. So a page is read in *slices* (see `slices`): a walk stops after any chunk, and
goes on later. A walk that pauses often takes a newer snapshot, because a snapshot that is held keeps the store from
using freed space again. So a long page may show newer rows at its end than at its beginning, as DynamoDB's does.

A `Selection` applies filter and projection to the rows of a walk, and adds their count and LastEvaluatedKey.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, islice
from typing import Any, Final

from sortkey.engine.operations.answers import Consumed, is_requested
from sortkey.engine.operations.slices import ROW_UNITS, SLICE_UNITS, Slices, units_of_rows
from sortkey.engine.requests.expression_parameters import projection_of
from sortkey.engine.requests.items import Query
from sortkey.engine.requests.shapes import INVALID
from sortkey.engine.rows import stored_item
from sortkey.engine.rows.partition_loads import SMALL_UNITS
from sortkey.engine.rows.records import first_damaged, first_damaged_of
from sortkey.engine.rows.stored_item import Json, key_reader
from sortkey.engine.tables.core import Answer, Core
from sortkey.engine.tables.table import Index, Keyed, Table, check_key, ends_of, normalise_key
from sortkey.errors import ValidationException
from sortkey.expressions import Bindings, Condition, Projection, ShownPaths
from sortkey.limits import PAGE_BYTES
from sortkey.storage import Cursor, Transaction, are_sound, ascending, descending
from sortkey.values.attribute import Item
from sortkey.values.errors import InvalidRequest
from sortkey.values.size import read_units

FIRST_CHUNK: Final = 32
"""Most ranges without a limit are short, and rows fetched beyond their end are wasted."""
CHUNK: Final = 128
"""A chunk of the largest items takes 50 MB for a moment."""
SLICES_A_SNAPSHOT: Final = 64

INVALID_START = "The provided starting key is invalid"
NO_ITEMS = Json(b"[]", binary=False)


class PageWalk:
    """One page: the rows with low <= key < high in key order, or in reverse, until the page ends."""

    __slots__ = (
        "_core",
        "_limit",
        "_page_bytes",
        "_pauses",
        "_range",
        "_start",
        "ended",
        "last_row",
        "more",
        "rows_read",
        "size",
        "snapshot",
    )

    def __init__(
        self,
        core: Core,
        snapshot: Transaction,
        low: bytes,
        high: bytes,
        forward: bool,
        limit: int | None,
        page_bytes: int = PAGE_BYTES,
    ) -> None:
        """Reads the snapshot, and later ones that it begins; `close` ends the last."""
        self._core = core
        self.snapshot = snapshot
        self._range = _Range(snapshot, low, high, forward)
        self._start = low
        self._limit = limit
        self._page_bytes = page_bytes
        self._pauses = 0
        self.rows_read = 0
        """Before any filter."""
        self.size = 0
        """The size of all rows read, by AWS's rules."""
        self.last_row = b""
        self.ended = low >= high
        self.more = False
        """Whether the range may go on after the page; known once the page has ended."""

    def first_rows(self) -> list[bytes]:
        """Up to two chunks, which most pages do not exceed."""
        rows = self.chunk()
        if not self.ended:
            rows += self.chunk()
        return rows

    def rows(self, most: int) -> list[bytes]:
        """The page's next rows, about `most`; fewer, if the page ends."""
        rows = self.chunk()
        while not self.ended and len(rows) < most:
            rows += self.chunk()
        return rows

    def chunk(self) -> list[bytes]:
        """The page's next rows; none, if it has ended."""
        if self.ended:
            return []
        limit = self._limit
        wanted = CHUNK if self.rows_read else FIRST_CHUNK
        if limit is not None:
            wanted = min(CHUNK, limit - self.rows_read)
        rows = self._range.fetch(wanted)
        if self._core.verifies_many and not are_sound(rows):
            raise first_damaged_of(self.snapshot, self._range.entries(self.snapshot))
        fetched = len(rows)
        size = self.size + stored_item.total_size(rows)
        if size >= self._page_bytes:
            self.ended = True
            kept, size = _within_page(rows, self.size, self._page_bytes)
            # A page that ends by size looks ahead. One that ends by limit does not.
            self.more = kept < fetched or self.rows_read + fetched == limit or bool(self._range.fetch(1))
            rows = rows[:kept]
        elif fetched < wanted:
            self.ended = True
        elif self.rows_read + fetched == limit:
            self.ended = self.more = True
        self.size = size
        self.rows_read += len(rows)
        if rows:
            self.last_row = rows[-1]
        return rows

    def pause(self) -> None:
        """Call it at the end of a slice."""
        self._pauses += 1
        if self._pauses % SLICES_A_SNAPSHOT == 0 and not self.ended:
            self.snapshot.abort()
            self.snapshot = self._core.read()
            self._range.resume(self.snapshot)

    def charge(self, consistent: bool) -> float:
        """The read units of a page of one partition, for which they are counted."""
        units = read_units(self.size, consistent)
        partitions = self._core.partitions
        if partitions.reads_left_out and units <= SMALL_UNITS:
            partitions.reads_left_out -= 1
        else:
            partitions.count_read(self._start, units)
        return units

    def close(self) -> None:
        self.snapshot.abort()


class _Range:
    """One walk through a range, in chunks."""

    __slots__ = ("_begun", "_cursor", "_forward", "_high", "_last", "_low")

    def __init__(self, transaction: Transaction, low: bytes, high: bytes, forward: bool) -> None:
        self._low = low
        self._high = high
        self._forward = forward
        self._cursor: Cursor = transaction.cursor()
        self._begun = False
        self._last: bytes | None = None
        """The key of the last row fetched."""

    def entries(self, transaction: Transaction) -> Iterator[tuple[bytes, bytes]]:
        """Row keys and rows, from the beginning of the range, or from where it was resumed."""
        return (ascending if self._forward else descending)(transaction, self._low, self._high)

    def fetch(self, wanted: int) -> list[bytes]:
        """The next rows. Fewer than wanted means that the range has ended; then it must not be called again."""
        if not self._advance():
            return []
        cursor = self._cursor
        start = cursor.key()
        rows = list(islice(cursor.iternext(keys=False) if self._forward else cursor.iterprev(keys=False), wanted))
        # The cursor is on the last row returned, or nowhere if the store has ended.
        last = self._last = cursor.key()
        if len(rows) == wanted and (last < self._high if self._forward else last >= self._low):
            return rows
        return self._inside(start, rows)

    def resume(self, transaction: Transaction) -> None:
        """Go on behind the last row fetched, which may be gone, in another snapshot."""
        self._cursor = transaction.cursor()
        self._begun = False
        if self._last is not None:
            if self._forward:
                self._low = self._last + b"\0"
            else:
                self._high = self._last

    def _advance(self) -> bool:
        """Go to the next row, inside the range or not; returns whether there is one."""
        cursor = self._cursor
        if self._begun:
            return cursor.next() if self._forward else cursor.prev()
        self._begun = True
        if self._forward:
            return cursor.set_range(self._low)
        return cursor.prev() if cursor.set_range(self._high) else cursor.last()

    def _inside(self, start: bytes, rows: list[bytes]) -> list[bytes]:
        """The rows that belong to the range. `start` is the key of the first row."""
        cursor = self._cursor
        cursor.set_key(start)
        if self._forward:
            keys = islice(cursor.iternext(values=False), len(rows))
            inside = sum(1 for key in keys if key < self._high)
        else:
            keys = islice(cursor.iterprev(values=False), len(rows))
            inside = sum(1 for key in keys if key >= self._low)
        return rows[:inside]


def _within_page(rows: list[bytes], size: int, most: int) -> tuple[int, int]:
    """How many of these rows fill the page of this size so far, and its size then. The row that reaches 1 MB fits."""
    sizes = accumulate(map(stored_item.size, rows), initial=size)
    return next((count, size) for count, size in enumerate(sizes) if size >= most)


class Selection:
    """The part of a request that selects what to return. `target` checks it against the table."""

    def __init__(self, request: Any, bindings: Bindings | None, condition: Condition | None) -> None:
        self.request = request
        self.condition = condition
        self.projection: Projection | ShownPaths | None = projection_of(request, bindings)
        self.count_only = request.select == "COUNT"
        self._check_select()

    def _check_select(self) -> None:
        select = self.request.select
        chosen = self.projection is not None
        member = "ProjectionExpression" if self.request.projection_expression is not None else "AttributesToGet"
        if select == "SPECIFIC_ATTRIBUTES" and not chosen:
            raise self._invalid(
                "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
            )
        if chosen and select not in (None, "SPECIFIC_ATTRIBUTES"):
            what = "only the Count" if select == "COUNT" else select
            raise self._invalid(f"Cannot specify the {member} when choosing to get {what}")
        if select == "ALL_PROJECTED_ATTRIBUTES" and self.request.index_name is None:
            raise ValidationException("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")

    def _invalid(self, message: str) -> ValidationException:
        """AWS reports what a Query cannot select as a violation of its service model, but not what a Scan cannot."""
        error = InvalidRequest(message)
        return ValidationException(error.detected) if isinstance(self.request, Query) else error

    def target(self, table: Table) -> Keyed:
        """The table or index to read. Raises ValidationException if it cannot answer the request."""
        name = self.request.index_name
        if name is None:
            return table
        index = table.indexes.get(name)
        if index is None and name in table.vector_indexes:
            stop = "." if isinstance(self.request, Query) else ""
            operation = type(self.request).__name__
            raise ValidationException(f"{operation} operation not supported on this index type{stop}")
        if index is None:
            raise ValidationException(f"The table does not have the specified index: {name}")
        if not index.entry.local:
            self._check_global(index)
        elif self.condition is not None:
            _check_filter(index, self.condition)
        return index

    def _check_global(self, index: Index) -> None:
        if self.request.consistent_read:
            raise ValidationException("Consistent reads are not supported on global secondary indexes")
        if index.entry.backfilled_to is not None:
            raise ValidationException(f"Cannot read from backfilling global secondary index: {index.name}")
        if index.kept is None:
            return
        if self.request.select == "ALL_ATTRIBUTES":
            raise ValidationException(
                f"{INVALID}Select type ALL_ATTRIBUTES is not supported for global secondary index {index.name} "
                "because its projection type is not ALL"
            )
        if self.projection is not None and (missing := sorted(self.projection.attributes - index.kept)):
            raise ValidationException(
                f"{INVALID}Global secondary index {index.name} does not project [{', '.join(missing)}]"
            )
        if self.condition is not None:
            _check_filter(index, self.condition)

    def answer(self, table: Table, target: Keyed, walk: PageWalk, rows: list[bytes]) -> Slices[Answer]:
        """Read the rest of the page and select from it, chunk by chunk, so that no more than the answer is kept."""
        selected = _Selected(self, table, target, walk)
        units = 0
        try:
            while rows:
                for row_units in selected.take_plain(rows) if selected.plain else selected.take(rows):
                    units += row_units
                    if units >= SLICE_UNITS:
                        units = 0
                        yield
                        walk.pause()
                rows = walk.chunk()
        finally:
            walk.close()
        return self._answer(table, target, walk, selected.count, selected.json(), selected.fetched_sizes)

    def answer_at_once(self, table: Table, target: Keyed, walk: PageWalk, rows: list[bytes]) -> Answer | None:
        """Handles the common case, a page of few rows that have all attributes; returns None otherwise."""
        if not walk.ended or (isinstance(target, Index) and self.lacks(target)):
            return None
        condition, projection = self.condition, self.projection
        if condition is not None or projection is not None:
            if units_of_rows(rows, 0 if condition is None else condition.evaluations) >= SLICE_UNITS:
                return None
            if condition is not None:
                rows = [row for row in rows if condition(stored_item.decode(row))]
        items = NO_ITEMS if self.count_only else Json.items(rows, projection)
        return self._answer(table, target, walk, len(rows), items, [])

    def _answer(
        self, table: Table, target: Keyed, walk: PageWalk, count: int, items: Json, fetched_sizes: list[int]
    ) -> Answer:
        answer: Answer = {"Count": count, "ScannedCount": walk.rows_read}
        if not self.count_only:
            answer["Items"] = items
        if walk.more and walk.rows_read:
            answer["LastEvaluatedKey"] = _last_evaluated_key(table, target, walk.last_row)
        if is_requested(self.request.return_consumed_capacity):
            answer["ConsumedCapacity"] = self._consumed(table, target, walk.size, fetched_sizes)
        return answer

    def lacks(self, index: Index) -> bool:
        if not index.entry.local or index.kept is None:
            return False
        if self.projection is not None:
            return not self.projection.attributes <= index.kept
        return bool(self.request.select == "ALL_ATTRIBUTES")

    def _consumed(self, table: Table, target: Keyed, size: int, fetched_sizes: list[int]) -> dict[str, Any]:
        consistent = bool(self.request.consistent_read)
        units = read_units(size, consistent)
        if isinstance(target, Index):
            consumed = Consumed(table, 0.0, {target.name: units})
            for fetched in fetched_sizes:
                consumed.add(read_units(fetched, consistent))
        else:
            consumed = Consumed(table, units)
        return consumed.shape(self.request.return_consumed_capacity)


class _Selected:
    """The items selected so far, as text."""

    __slots__ = (
        "_condition",
        "_count_only",
        "_evaluations",
        "_fetches",
        "_items",
        "_table",
        "_walk",
        "count",
        "fetched_sizes",
        "plain",
    )

    def __init__(self, selection: Selection, table: Table, target: Keyed, walk: PageWalk) -> None:
        self._table = table
        self._walk = walk
        self._condition = selection.condition
        self._count_only = selection.count_only
        self._fetches = isinstance(target, Index) and selection.lacks(target)
        self.plain = self._condition is None and selection.projection is None and not self._fetches
        """Whole rows, all of them."""
        self._evaluations = 0 if self._condition is None else self._condition.evaluations
        self._items = stored_item.ItemTexts(selection.projection)
        self.count = 0
        self.fetched_sizes: list[int] = []
        """Of the rows fetched from the table because a local index lacks some of the requested attributes."""

    def take_plain(self, rows: list[bytes]) -> tuple[int]:
        """Take all of more rows; returns the units of work."""
        self._keep(rows)
        return (ROW_UNITS * len(rows),)

    def take(self, rows: list[bytes]) -> Iterator[int]:
        """Select from more rows. Yields, again and again, the units of work done since the last time."""
        return self._take_in_parts(self._full_rows(rows) if self._fetches else rows)

    def _take_in_parts(self, rows: list[bytes]) -> Iterator[int]:
        """Halve the rows until a part takes less than a slice."""
        units = units_of_rows(rows, self._evaluations)
        if units >= SLICE_UNITS and len(rows) > 1:
            half = len(rows) // 2
            yield from self._take_in_parts(rows[:half])
            yield from self._take_in_parts(rows[half:])
        elif units >= SLICE_UNITS and self._condition is not None:
            yield from self._take_costly(rows[0], self._condition)
        else:
            self._filter(rows)
            yield units

    def json(self) -> Json:
        return self._items.json()

    def _take_costly(self, row: bytes, condition: Condition) -> Iterator[int]:
        """One row, evaluated operator by operator."""
        steps = condition.steps(stored_item.decode(row))
        units = units_of_rows([row], 1)
        try:
            while True:
                next(steps)
                yield units
        except StopIteration as end:
            if end.value:
                self._keep([row])

    def _filter(self, rows: list[bytes]) -> None:
        condition = self._condition
        self._keep(rows if condition is None else [row for row in rows if condition(stored_item.decode(row))])

    def _keep(self, rows: list[bytes]) -> None:
        self.count += len(rows)
        if not self._count_only:
            self._items.add(rows)

    def _full_rows(self, rows: list[bytes]) -> list[bytes]:
        keys = [self._table.row_prefix(stored_item.decode(row)) for row in rows]
        full = [row for row in map(self._walk.snapshot.get, keys) if row is not None]
        if not are_sound(full):
            raise first_damaged(self._walk.snapshot, keys)
        self.fetched_sizes += map(stored_item.size, full)
        return full


def _check_filter(index: Index, condition: Condition) -> None:
    if index.kept is not None and (missing := sorted(condition.attributes - index.kept)):
        raise ValidationException(
            f"{INVALID}Secondary index {index.name} does not project one or more filter attributes: "
            f"[{', '.join(missing)}]"
        )


def _last_evaluated_key(table: Table, target: Keyed, row: bytes) -> Json:
    """LastEvaluatedKey: the key of the table, and of the index that was read."""
    names = tuple(dict.fromkeys(target.names + table.names))
    return Json(key_reader(names)(stored_item.text(row)), stored_item.has_binary(row))


def start_row(table: Table, target: Keyed, start: Item, wrong_names: str) -> tuple[Item, bytes]:
    """The canonical ExclusiveStartKey and its row key. The row need not exist. `wrong_names` is the error of a key
    with other attributes, in which Query and Scan differ."""
    key = normalise_key(start)
    names = set(target.names + table.names)
    if set(key) != names:
        raise ValidationException(wrong_names)
    try:
        for keyed in (table, target):
            check_key(keyed, {name: key[name] for name in keyed.names})
    except ValidationException as error:
        raise ValidationException(f"{INVALID_START}: {error.message}") from None
    row = target.row_prefix(key)
    return key, row + ends_of(table.row_prefix(key))[target.end] if isinstance(target, Index) else row
