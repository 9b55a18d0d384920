"""Pages: the one path on which Query and Scan read rows.

A page ends at the end of its range, after `limit` rows, or when the rows read (before any filter) reach 1 MB. Rows are
fetched in chunks, which cost a fraction of the same number of single steps. Keys are ordered, so the last key of a
chunk shows whether the chunk has left the range; only then are the other keys compared.
"""

from __future__ import annotations

from itertools import accumulate, islice
from typing import Final, NamedTuple

from sortkey.engine.rows import stored_item
from sortkey.limits import PAGE_BYTES
from sortkey.storage import Cursor, Transaction

FIRST_CHUNK: Final = 32
"""Most ranges without a limit are short, and rows fetched beyond their end are wasted."""
CHUNK: Final = 256


class Page(NamedTuple):
    rows: list[bytes]
    """All rows read, before any filter."""
    size: int
    """The size of all rows, by AWS's rules."""
    more: bool
    """Whether the range may go on after these rows."""


def page(transaction: Transaction, low: bytes, high: bytes, forward: bool, limit: int | None) -> Page:
    """Read rows with low <= key < high in key order, or in reverse."""
    if low >= high:
        return Page([], 0, more=False)
    walk = _Walk(transaction, low, high, forward)
    rows: list[bytes] = []
    size = 0
    wanted = FIRST_CHUNK if limit is None else min(CHUNK, limit)
    while wanted:
        fetched = walk.fetch(wanted)
        rows += fetched
        size += stored_item.total_size(fetched)
        if size >= PAGE_BYTES:
            kept, size = _within_page(rows)
            # A page that ends by size looks ahead. One that ends by limit does not.
            more = kept < len(rows) or len(rows) == limit or bool(walk.fetch(1))
            return Page(rows[:kept], size, more)
        if len(fetched) < wanted:
            return Page(rows, size, more=False)
        wanted = CHUNK if limit is None else min(CHUNK, limit - len(rows))
    return Page(rows, size, more=True)


class _Walk:
    """One walk through a range, in chunks."""

    __slots__ = ("_begun", "_cursor", "_forward", "_high", "_low")

    def __init__(self, transaction: Transaction, low: bytes, high: bytes, forward: bool) -> None:
        self._low = low
        self._high = high
        self._forward = forward
        self._cursor: Cursor = transaction.cursor()
        self._begun = False

    def fetch(self, wanted: int) -> list[bytes]:
        """The next rows. Fewer than wanted means that the range has ended; then it must not be called again."""
        if not self._advance():
            return []
        cursor = self._cursor
        start = cursor.key()
        rows = list(islice(cursor.iternext(keys=False) if self._forward else cursor.iterprev(keys=False), wanted))
        # The cursor is on the last row returned, or nowhere if the store has ended.
        last = cursor.key()
        if len(rows) == wanted and (last < self._high if self._forward else last >= self._low):
            return rows
        return self._inside(start, rows)

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


def _within_page(rows: list[bytes]) -> tuple[int, int]:
    """How many of these rows make a full page, and its size. The row that reaches 1 MB belongs to the page."""
    sizes = accumulate(map(stored_item.size, rows))
    return next((count, size) for count, size in enumerate(sizes, 1) if size >= PAGE_BYTES)
