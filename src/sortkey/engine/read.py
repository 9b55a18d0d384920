"""Pages: the one path on which Query and Scan read rows.

A page ends at the end of its range, after `limit` rows, or when the rows read (before any filter) reach 1 MB. Rows are
fetched in chunks, which cost a fraction of the same number of single steps. Keys are ordered, so the last key of a
chunk shows whether the chunk has left the range; only then are the other keys compared.

A page of 1 MB can have 200,000 rows. So a page is read in *slices* (see `slices`): a walk stops after any chunk, and
goes on later. A walk that pauses often takes a newer snapshot, because a snapshot that is held keeps the store from
using freed space again. So a long page may show newer rows at its end than at its beginning, as DynamoDB's does.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, islice
from typing import Final

from sortkey.engine.core import Core
from sortkey.engine.rows import stored_item
from sortkey.engine.rows.records import first_damaged_of
from sortkey.limits import PAGE_BYTES
from sortkey.storage import Cursor, Transaction, are_sound, ascending, descending

FIRST_CHUNK: Final = 32
"""Most ranges without a limit are short, and rows fetched beyond their end are wasted."""
CHUNK: Final = 128
"""A chunk of the largest items takes 50 MB for a moment."""
SLICES_A_SNAPSHOT: Final = 64


class PageWalk:
    """One page: the rows with low <= key < high in key order, or in reverse, until the page ends."""

    __slots__ = ("_core", "_limit", "_pauses", "_range", "ended", "last_row", "more", "rows_read", "size", "snapshot")

    def __init__(
        self,
        core: Core,
        snapshot: Transaction,
        low: bytes,
        high: bytes,
        forward: bool,
        limit: int | None,
    ) -> None:
        """Reads the snapshot, and later ones that it begins; `close` ends the last."""
        self._core = core
        self.snapshot = snapshot
        self._range = _Range(snapshot, low, high, forward)
        self._limit = limit
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
        if size >= PAGE_BYTES:
            self.ended = True
            kept, size = _within_page(rows, self.size)
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


def _within_page(rows: list[bytes], size: int) -> tuple[int, int]:
    """How many of these rows fill the page of this size so far, and its size then. The row that reaches 1 MB fits."""
    sizes = accumulate(map(stored_item.size, rows), initial=size)
    return next((count, size) for count, size in enumerate(sizes) if size >= PAGE_BYTES)
