"""The pages of LMDB's trees, read and checked one at a time, without LMDB, which believes what it reads.

    branch entry   page number(6) key length(2) key; the first key of a page is left out
    leaf entry     length(4) flags(2) key length(2) key, to an even length, then the value, or where it is
    long value     first page(8) commit(8) pages(8); the first page has a header

A page begins with its header and the offsets of its entries, in the order of their keys. The entries themselves fill
the end of the page without a gap, so an entry that is missing from the offsets leaves a trace.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from operator import le, lt
from typing import Any, Final, NamedTuple

from sortkey.storage.meta_pages import HEADER, Damage, Meta, ReadAt

BRANCH: Final = 0x01
LEAF: Final = 0x02
OVERFLOW: Final = 0x04
LONG_VALUE: Final = 0x01
META_PAGES: Final = 2

_ENTRY: Final = struct.Struct("=HHHH")
ENTRY_BYTES: Final = _ENTRY.size
_LONG: Final = struct.Struct("=QQQ")
_NUMBER: Final = struct.Struct("=Q")
_OVERFLOW_PAGES: Final = struct.Struct("=I")

Key = bytes | int
KeyOf = Callable[[Any], Key]
"""Makes a key of the bytes of a page; None leaves them as they are."""
TakeLong = Callable[[int, int, int], None]
"""Takes the first page of a long value, the number of its pages, and the commit that wrote them; may raise Damage."""


class Branch(NamedTuple):
    low: Key | None
    """The least key that may be below this page; None if there is no bound."""
    keys: Sequence[Key]
    """The bounds between its children."""
    high: Key | None
    """Greater than every key below this page."""
    children: list[int]

    def bounds(self, child: int) -> tuple[Key | None, Key | None]:
        """The bounds of one of its children."""
        return self.keys[child - 1] if child else self.low, self.keys[child] if child < len(self.keys) else self.high


Place = tuple[int, int, bool]
"""Where a value is, its length, and whether it is long: then the place is in the file, else on the leaf's page."""


class Leaf(NamedTuple):
    page: bytes
    keys: list[Key]
    values: list[Place]
    overflow_pages: int


def number_of(key: bytes) -> int:
    """A key of the tree of free pages."""
    if len(key) != _NUMBER.size:
        raise Damage("the list of free pages has a key that is not a number")
    number: int = _NUMBER.unpack(key)[0]
    return number


class Pages:
    """The pages of the trees of one commit."""

    def __init__(self, read: ReadAt, meta: Meta, take_long: TakeLong) -> None:
        """`take_long` is called with the pages of each long value."""
        self._size = meta.page_size
        self._read = read
        self._commit = meta.commit
        self._end = meta.last_page + 1
        self._take_long = take_long

    def branch(self, number: int, low: Key | None, high: Key | None, key_of: KeyOf | None = None) -> Branch:
        return self.branch_of(self.page(number), number, low, high, key_of)

    def branch_of(
        self, page: bytes, number: int, low: Key | None, high: Key | None, key_of: KeyOf | None = None
    ) -> Branch:
        starts, _ = self._entries(page, number, BRANCH)
        keys: list[Key] = []
        children: list[int] = []
        for start in starts:
            least, middle, most, key_length = _ENTRY.unpack_from(page, start)
            children.append(least | middle << 16 | most << 32)
            keys.append(page[start + ENTRY_BYTES : start + ENTRY_BYTES + key_length])
        del keys[0]
        if key_of is not None:
            keys = [key_of(key) for key in keys]
        _check_order(number, keys, low, high)
        return Branch(low, keys, high, children)

    def leaf(self, number: int, low: Key | None, high: Key | None, key_of: KeyOf | None = None) -> Leaf:
        """A leaf with all its entries."""
        page = self.page(number)
        starts, used = self._entries(page, number, LEAF)
        keys: list[Key] = []
        values: list[Place] = []
        overflow_pages = 0
        unpack = _ENTRY.unpack_from
        for start in starts:
            least, most, flags, key_length = unpack(page, start)
            key_at = start + ENTRY_BYTES
            key_end = key_at + key_length
            at = key_end + (key_length & 1)
            length = least | most << 16
            end = at + (_LONG.size if flags else length)
            if end > len(page) or flags not in (0, LONG_VALUE):
                raise Damage(f"page {number} has an entry that does not end in it")
            used -= end - start + (end - start & 1)
            keys.append(page[key_at:key_end])
            if flags:
                at, count = self._long_value(page[at:end], length)
                overflow_pages += count
                values.append((at, length, True))
            else:
                values.append((at, length, False))
        if used:
            raise Damage(f"page {number} has other entries than its header says")
        if key_of is not None:
            keys = [key_of(key) for key in keys]
        _check_order(number, keys, low, high)
        return Leaf(page, keys, values, overflow_pages)

    def value(self, leaf: Leaf, place: Place) -> bytes:
        at, length, is_long = place
        return self.read_long(at, length) if is_long else leaf.page[at : at + length]

    def read_long(self, at: int, length: int) -> bytes:
        """A part of a long value."""
        return self._read(length, at)

    def page(self, number: int) -> bytes:
        self._require_range(number, 1)
        page = self._read(self._size, number * self._size)
        if len(page) < self._size:
            raise Damage(f"the file ends before page {number}")
        return page

    def _entries(self, page: bytes, number: int, wanted: int) -> tuple[list[int], int]:
        """Where the entries of a page start, and the number of bytes that they take."""
        own_number, commit, _, flags, lower, upper = HEADER.unpack_from(page)
        if own_number != number or commit > self._commit:
            raise Damage(f"page {number} is of another place or time")
        if flags not in (BRANCH, LEAF) or lower & 1 or not lower <= upper <= self._size - HEADER.size:
            raise Damage(f"page {number} has a wrong header")
        if flags != wanted:
            raise Damage(f"page {number} is on the wrong level")
        starts = [start + HEADER.size for (start,) in struct.iter_unpack("=H", page[HEADER.size : HEADER.size + lower])]
        if not starts or min(starts) < upper + HEADER.size or max(starts) + ENTRY_BYTES > len(page):
            raise Damage(f"page {number} has entries outside of it")
        return starts, self._size - HEADER.size - upper

    def _require_range(self, first: int, count: int) -> None:
        if not META_PAGES <= first <= self._end - count:
            raise Damage(f"page {first} is out of range")

    def _long_value(self, where: bytes, length: int) -> tuple[int, int]:
        """Where in the file a long value is, and the number of its pages."""
        first, _, count = _LONG.unpack(where)
        # A value that was made shorter in the transaction that wrote it keeps its pages.
        if count * self._size < HEADER.size + length:
            raise Damage(f"a value of {length} bytes is said to have {count} pages")
        self._require_range(first, count)
        at = first * self._size + HEADER.size
        header = self._read(HEADER.size, first * self._size)
        if len(header) < HEADER.size or not self._read(1, at + length - 1):
            raise Damage(f"the file ends within the value that begins on page {first}")
        own_number, commit, _, flags, _, _ = HEADER.unpack(header)
        own_count = _OVERFLOW_PAGES.unpack_from(header, HEADER.size - _OVERFLOW_PAGES.size)[0]
        if (own_number, flags, own_count) != (first, OVERFLOW, count) or commit > self._commit:
            raise Damage(f"page {first} does not begin the value that it should")
        self._take_long(first, count, commit)
        return at, count


def _check_order(number: int, keys: Sequence[Key], low: Key | None, high: Key | None) -> None:
    """Keys must ascend, from `low` on and below `high`."""
    if not keys:
        return
    ordered = all(map(lt, keys, keys[1:]))
    if not (ordered and (low is None or le(low, keys[0])) and (high is None or lt(keys[-1], high))):
        raise Damage(f"page {number} has keys that are out of order")
