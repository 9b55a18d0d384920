"""Pages: the one way in which Query and Scan walk rows.

A page ends when the range does, when `limit` rows have been looked at, or when the rows looked at (before any
filter) reach 1 MB. Rows are fetched in chunks, since a chunk costs a fraction of as many single steps; whether a
chunk has left the range is told by its last key alone, because keys come in order.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import Final

from sortkey.engine import stored
from sortkey.limits import PAGE_BYTES
from sortkey.storage import Transaction

CHUNK: Final = 128

Entry = tuple[bytes, bytes]


class Page:
    """Rows looked at, and whether the range goes on behind them."""

    __slots__ = ("more", "rows")

    def __init__(self, rows: list[bytes], more: bool) -> None:
        self.rows = rows
        self.more = more

    @property
    def size(self) -> int:
        return stored.total_size(self.rows)


def page(transaction: Transaction, low: bytes, high: bytes, forward: bool, limit: int | None) -> Page:
    """Read rows with low <= key < high in key order, or against it."""
    if low >= high:
        return Page([], more=False)
    entries = _entries(transaction, low, high, forward)
    rows: list[bytes] = []
    length = 0
    while limit is None or len(rows) < limit:
        wanted = CHUNK if limit is None else min(CHUNK, limit - len(rows))
        fetched = list(islice(entries, wanted))
        inside = _inside(fetched, low, high, forward)
        rows += inside
        length += sum(map(len, inside))
        # A stored row is longer than the item's size, so most pages need not be measured.
        if length >= PAGE_BYTES:
            kept = _within_page(rows)
            if kept is not None:
                more = kept < len(rows) or len(rows) == limit or _any_inside(entries, low, high, forward)
                return Page(rows[:kept], more)
        if len(inside) < wanted:
            return Page(rows, more=False)
    return Page(rows, more=True)


def _within_page(rows: list[bytes]) -> int | None:
    """How many rows make a full page: the row that reaches 1 MB still belongs to it. None when they do not fill one."""
    size = 0
    for count, row in enumerate(rows, 1):
        size += stored.size(row)
        if size >= PAGE_BYTES:
            return count
    return None


def _entries(transaction: Transaction, low: bytes, high: bytes, forward: bool) -> Iterator[Entry]:
    cursor = transaction.cursor()
    if forward:
        return cursor.iternext() if cursor.set_range(low) else iter(())
    found = cursor.prev() if cursor.set_range(high) else cursor.last()
    return cursor.iterprev() if found else iter(())


def _any_inside(entries: Iterator[Entry], low: bytes, high: bytes, forward: bool) -> bool:
    """Whether anything follows. A page full of bytes looks ahead; one at its limit only says that more may come."""
    return bool(_inside(list(islice(entries, 1)), low, high, forward))


def _inside(entries: list[Entry], low: bytes, high: bytes, forward: bool) -> list[bytes]:
    if entries:
        last = entries[-1][0]
        if forward and last >= high:
            entries = entries[: bisect_left(entries, (high,))]
        elif not forward and last < low:
            entries = [entry for entry in entries if entry[0] >= low]
    return [row for _, row in entries]
