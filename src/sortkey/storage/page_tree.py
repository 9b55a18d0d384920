"""Checks the pages of LMDB's trees without LMDB, which believes what it reads.

A damaged page can hide rows: a pointer to another page, a wrong number of entries, a key that sends searches astray.
The values' own checksums do not show that, because a row that is not found is not verified. So every page must be
reached once, from one parent, with its keys inside the bounds that the parent gives; what is counted must be what the
meta page says; and the pages that are free must be exactly the others.

    branch entry   page number(6) key length(2) key; the first key of a page is left out
    leaf entry     length(4) flags(2) key length(2) key, to an even length, then the value, or where it is
    long value     first page(8) commit(8) pages(8); the first page has a header
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Final

from sortkey.storage.meta_pages import HEADER, NO_ROOT, Damage, Meta, ReadAt, Tree

BRANCH: Final = 0x01
LEAF: Final = 0x02
OVERFLOW: Final = 0x04
LONG_VALUE: Final = 0x01
META_PAGES: Final = 2
DEEPEST: Final = 32
MOST_UNWRITTEN_PAGES: Final = 1 << 20

_ENTRY: Final = struct.Struct("=HHHH")
_LONG: Final = struct.Struct("=QQQ")
_NUMBER: Final = struct.Struct("=Q")
_OVERFLOW_PAGES: Final = struct.Struct("=I")

Key = bytes | int
KeyOf = Callable[[bytes], Key]


def check_trees(read: ReadAt, meta: Meta, file_bytes: int) -> None:
    """Raise Damage unless the trees of this commit are sound. Reads every page but those of long values."""
    pages = _Pages(read, meta, file_bytes)
    main = _Walk(pages, meta.main, bytes)
    for _ in main.entries():
        pass
    free = _Walk(pages, meta.free, _number)
    for value in free.entries():
        pages.release(value())
    pages.check_all_known()


def _number(key: bytes) -> int:
    if len(key) != _NUMBER.size:
        raise Damage("the list of free pages has a key that is not a number")
    number: int = _NUMBER.unpack(key)[0]
    return number


class _Pages:
    """The pages of the file, and which of them were seen."""

    def __init__(self, read: ReadAt, meta: Meta, file_bytes: int) -> None:
        self.size = meta.page_size
        self._read = read
        self._commit = meta.commit
        # Free pages at the end may never have been written. The bound is on this check's own memory.
        if meta.last_page > 2 * file_bytes // meta.page_size + MOST_UNWRITTEN_PAGES:
            raise Damage("the file is much shorter than its meta page says")
        self._seen = bytearray(meta.last_page + 1)
        self._seen[:META_PAGES] = b"\1" * META_PAGES

    def take(self, first: int, count: int = 1) -> None:
        end = first + count
        if not META_PAGES <= first < end <= len(self._seen) or any(self._seen[first:end]):
            raise Damage(f"page {first} is out of range, or is used twice")
        self._seen[first:end] = b"\1" * count

    def read(self, number: int) -> tuple[bytes, int, int, int]:
        """A page of a tree, and its flags, lower and upper bound."""
        self.take(number)
        page = self._read(self.size, number * self.size)
        if len(page) < self.size:
            raise Damage(f"the file ends before page {number}")
        own_number, commit, _, flags, lower, upper = HEADER.unpack_from(page)
        if own_number != number or commit > self._commit:
            raise Damage(f"page {number} is of another place or time")
        if flags not in (BRANCH, LEAF) or lower & 1 or not lower <= upper <= self.size - HEADER.size:
            raise Damage(f"page {number} has a wrong header")
        return page, flags, lower, upper

    def long_value(self, where: bytes, length: int) -> tuple[Callable[[], bytes], int]:
        """How to read a long value, and the number of its pages."""
        first, _, count = _LONG.unpack(where)
        # A value that was made shorter in the transaction that wrote it keeps its pages.
        if count * self.size < HEADER.size + length:
            raise Damage(f"a value of {length} bytes is said to have {count} pages")
        self.take(first, count)
        header = self._read(HEADER.size, first * self.size)
        if len(header) < HEADER.size or not self._read(1, first * self.size + HEADER.size + length - 1):
            raise Damage(f"the file ends within the value that begins on page {first}")
        own_number, commit, _, flags, _, _ = HEADER.unpack(header)
        own_count = _OVERFLOW_PAGES.unpack_from(header, HEADER.size - _OVERFLOW_PAGES.size)[0]
        if (own_number, flags, own_count) != (first, OVERFLOW, count) or commit > self._commit:
            raise Damage(f"page {first} does not begin the value that it should")
        return lambda: self._read(length, first * self.size + HEADER.size), count

    def release(self, listed: bytes) -> None:
        """Note the free pages of one entry: their count, then their numbers."""
        if len(listed) % _NUMBER.size or not listed or len(listed) // _NUMBER.size - 1 != _number(listed[:8]):
            raise Damage("the list of free pages has an entry of a wrong length")
        for (number,) in _NUMBER.iter_unpack(listed[_NUMBER.size :]):
            self.take(number)

    def check_all_known(self) -> None:
        unknown = self._seen.find(0)
        if unknown >= 0:
            raise Damage(f"page {unknown} is neither used nor free")


class _Walk:
    """One walk over a tree, from its least key to its greatest."""

    def __init__(self, pages: _Pages, tree: Tree, key_of: KeyOf) -> None:
        self._pages = pages
        self._tree = tree
        self._key_of = key_of
        self._branches = self._leaves = self._overflow = self._entries = 0

    def entries(self) -> Iterator[Callable[[], bytes]]:
        """How to read each value. Raises Damage at the end if the tree is not what its meta page says."""
        tree = self._tree
        if tree.root != NO_ROOT:
            if tree.depth > DEEPEST:
                raise Damage(f"a tree is said to have {tree.depth} levels")
            yield from self._page(tree.root, 1, None, None)
        found = (self._branches, self._leaves, self._overflow, self._entries)
        if found != (tree.branch_pages, tree.leaf_pages, tree.overflow_pages, tree.entries):
            raise Damage(f"a tree of {tree.entries} entries has {self._entries}, or other numbers of pages")
        if tree.root == NO_ROOT and tree.depth:
            raise Damage("a tree without pages has levels")

    def _page(self, number: int, level: int, low: Key | None, high: Key | None) -> Iterator[Callable[[], bytes]]:
        page, flags, lower, upper = self._pages.read(number)
        if (flags == LEAF) != (level == self._tree.depth):
            raise Damage(f"page {number} is on the wrong level")
        starts = [start + HEADER.size for (start,) in struct.iter_unpack("=H", page[HEADER.size : HEADER.size + lower])]
        if not starts or min(starts) < upper + HEADER.size or max(starts) + _ENTRY.size > len(page):
            raise Damage(f"page {number} has entries outside of it")
        if flags == LEAF:
            yield from self._leaf(number, page, starts, low, high)
        else:
            yield from self._branch(number, page, starts, level, low, high)

    def _branch(
        self, number: int, page: bytes, starts: list[int], level: int, low: Key | None, high: Key | None
    ) -> Iterator[Callable[[], bytes]]:
        self._branches += 1
        entries = [_ENTRY.unpack_from(page, start) for start in starts]
        lengths = [length for _, _, _, length in entries]
        keys = [
            self._key_of(page[start + _ENTRY.size : start + _ENTRY.size + length])
            for start, length in zip(starts[1:], lengths[1:], strict=True)
        ]
        _check_order(number, keys, low, high)
        for (least, middle, most, _), begin, end in zip(entries, [low, *keys], [*keys, high], strict=True):
            yield from self._page(least | middle << 16 | most << 32, level + 1, begin, end)

    def _leaf(
        self, number: int, page: bytes, starts: list[int], low: Key | None, high: Key | None
    ) -> Iterator[Callable[[], bytes]]:
        self._leaves += 1
        self._entries += len(starts)
        keys = []
        for start in starts:
            least, most, flags, key_length = _ENTRY.unpack_from(page, start)
            key_at = start + _ENTRY.size
            at = key_at + key_length + (key_length & 1)
            length = least | most << 16
            end = at + (_LONG.size if flags else length)
            if end > len(page) or flags not in (0, LONG_VALUE):
                raise Damage(f"page {number} has an entry that does not end in it")
            keys.append(self._key_of(page[key_at : key_at + key_length]))
            if flags:
                value, count = self._pages.long_value(page[at:end], length)
                self._overflow += count
                yield value
            else:
                yield lambda at=at, end=end: page[at:end]  # type: ignore[misc]
        _check_order(number, keys, low, high)


def _check_order(number: int, keys: list[Key], low: Key | None, high: Key | None) -> None:
    """Keys must ascend, from `low` on and below `high`."""
    ordered = all(map(_less, keys, keys[1:]))
    if keys and not (ordered and (low is None or not _less(keys[0], low)) and (high is None or _less(keys[-1], high))):
        raise Damage(f"page {number} has keys that are out of order")


def _less(one: Key, other: Key) -> bool:
    return one < other  # type: ignore[operator]
