"""Pages: the one way in which Query and Scan walk rows.

A page ends when the range does, when `limit` rows have been looked at, or when the rows looked at (before any
filter) reach 1 MB. Rows are fetched in chunks, since a chunk costs a fraction of as many single steps. Whether a
chunk has left the range is told by its last key, because keys come in order; only then are its keys looked at.
"""

from __future__ import annotations

from itertools import accumulate, islice
from typing import Final, NamedTuple

from sortkey.engine.rows import stored_item
from sortkey.limits import PAGE_BYTES
from sortkey.storage import Cursor, Transaction

FIRST_CHUNK: Final = 32
"""Most ranges without a limit are short, and what is fetched beyond their end is for nothing."""
CHUNK: Final = 256


class Page(NamedTuple):
    rows: list[bytes]
    """Those looked at."""
    size: int
    """Theirs together, by AWS's rules."""
    more: bool
    """Whether the range goes on behind them."""


def page(transaction: Transaction, low: bytes, high: bytes, forward: bool, limit: int | None) -> Page:
    """Read rows with low <= key < high in key order, or against it."""
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
            # A page full of bytes looks ahead; one at its limit only says that more may come.
            more = kept < len(rows) or len(rows) == limit or bool(walk.fetch(1))
            return Page(rows[:kept], size, more)
        if len(fetched) < wanted:
            return Page(rows, size, more=False)
        wanted = CHUNK if limit is None else min(CHUNK, limit - len(rows))
    return Page(rows, size, more=True)


class _Walk:
    """One way through a range, in chunks."""

    __slots__ = ("_begun", "_cursor", "_forward", "_high", "_low")

    def __init__(self, transaction: Transaction, low: bytes, high: bytes, forward: bool) -> None:
        self._low = low
        self._high = high
        self._forward = forward
        self._cursor: Cursor = transaction.cursor()
        self._begun = False

    def fetch(self, wanted: int) -> list[bytes]:
        """The next rows; fewer than wanted when the range ends, and then nobody may ask again."""
        if not self._advance():
            return []
        cursor = self._cursor
        start = cursor.key()
        rows = list(islice(cursor.iternext(keys=False) if self._forward else cursor.iterprev(keys=False), wanted))
        # The cursor stands on the last row that it gave, or nowhere when there was none left.
        last = cursor.key()
        if len(rows) == wanted and (last < self._high if self._forward else last >= self._low):
            return rows
        return self._inside(start, rows)

    def _advance(self) -> bool:
        """Go to the next row, be it inside or not; whether there is one."""
        cursor = self._cursor
        if self._begun:
            return cursor.next() if self._forward else cursor.prev()
        self._begun = True
        if self._forward:
            return cursor.set_range(self._low)
        return cursor.prev() if cursor.set_range(self._high) else cursor.last()

    def _inside(self, start: bytes, rows: list[bytes]) -> list[bytes]:
        """Those of the rows, which begin at `start`, that belong to the range."""
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
    """How many of these rows, which are too many, make a full page, and its size. The row that reaches 1 MB belongs."""
    sizes = accumulate(map(stored_item.size, rows))
    return next((count, size) for count, size in enumerate(sizes, 1) if size >= PAGE_BYTES)
