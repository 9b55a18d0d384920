"""The pages of an LMDB file, read from the file itself and checked one at a time, without LMDB, which believes what it
reads.

There are two meta pages. Each commit writes one of the two, the even numbers the first and the odd ones the second, and
LMDB opens the one with the greater number. A damaged number could therefore bring back the commit before, in which
everything else is sound. So the numbers must follow one another, and no tree may have a page that is newer than its
meta page.

    page header    page number(8) commit(8) unused(2) flags(2) lower(2) upper(2)
    meta page      header(24) magic(4) version(4) address(8) map size(8) free tree(48) main tree(48)
                   last page(8) commit(8)
    tree           page size, in the first(4) flags(2) depth(2) branch pages(8) leaf pages(8) overflow pages(8)
                   entries(8) root(8)
    branch entry   page number(6) key length(2) key; the first key of a page is left out
    leaf entry     length(4) flags(2) key length(2) key, to an even length, then the value, or where it is
    long value     first page(8) commit(8) pages(8); the first page has a header

A page begins with its header and the offsets of its entries, in the order of their keys. The entries themselves fill
the end of the page without a gap, so an entry that is missing from the offsets leaves a trace.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from itertools import repeat
from operator import attrgetter, le, lt
from typing import Any, Final, NamedTuple

HEADER: Final = struct.Struct("=QQHHHH")
META_FLAG: Final = 0x08
FREE_TREE_FLAGS: Final = 0x08
"""Keys are numbers."""
NO_ROOT: Final = (1 << 64) - 1
MAGIC: Final = 0xBEEFC0DE
VERSION: Final = 3
PAGE_SIZES: Final = frozenset(1 << bits for bits in range(9, 17))

_META: Final = struct.Struct("=IIQQ")
_TREE: Final = struct.Struct("=IHHQQQQQ")
_END: Final = struct.Struct("=QQ")
META_BYTES: Final = HEADER.size + _META.size + 2 * _TREE.size + _END.size

ReadAt = Callable[[int, int], bytes]
"""Length and offset to bytes; fewer at the end of the file."""


class Damage(Exception):
    """The file is not what LMDB wrote."""


class Tree(NamedTuple):
    page_size: int
    flags: int
    depth: int
    branch_pages: int
    leaf_pages: int
    overflow_pages: int
    entries: int
    root: int


class Meta(NamedTuple):
    free: Tree
    main: Tree
    last_page: int
    commit: int

    @property
    def page_size(self) -> int:
        return self.free.page_size


def read_metas(read: ReadAt) -> tuple[Meta, Meta]:
    first = _meta(read(META_BYTES, 0), 0)
    if first.page_size not in PAGE_SIZES:
        raise Damage(f"meta page 0 has the page size {first.page_size}")
    second = _meta(read(META_BYTES, first.page_size), 1)
    if second.page_size != first.page_size:
        raise Damage("the meta pages have different page sizes")
    return first, second


def _meta(page: bytes, number: int) -> Meta:
    if len(page) < META_BYTES:
        raise Damage("the file is shorter than its meta pages")
    own_number, _, _, flags, _, _ = HEADER.unpack_from(page)
    magic, version, _, _ = _META.unpack_from(page, HEADER.size)
    if (own_number, flags, magic, version) != (number, META_FLAG, MAGIC, VERSION):
        raise Damage(f"page {number} is not a meta page")
    at = HEADER.size + _META.size
    free, main = Tree(*_TREE.unpack_from(page, at)), Tree(*_TREE.unpack_from(page, at + _TREE.size))
    meta = Meta(free, main, *_END.unpack_from(page, at + 2 * _TREE.size))
    if free.flags != FREE_TREE_FLAGS or main.flags or main.page_size:
        raise Damage(f"meta page {number} has flags that Sortkey never sets")
    return meta


def newest_meta(read: ReadAt) -> Meta:
    """The meta page of the newest commit, while other processes may commit."""
    metas = read_metas(read)
    while metas != (again := read_metas(read)):
        metas = again
    return max(metas, key=attrgetter("commit"))


def meta_of(read: ReadAt, commit: int) -> Meta:
    """The meta page of a commit, which must be one of the two newest."""
    metas = read_metas(read)
    meta, other = metas[commit & 1], metas[~commit & 1]
    if meta.commit != commit or abs(meta.commit - other.commit) != (commit > 0):
        raise Damage(f"the meta pages are of commits {metas[0].commit} and {metas[1].commit}, not of {commit}")
    for each in metas:
        for root in (each.free.root, each.main.root):
            if root != NO_ROOT and _commit_of_page(read, root, each.page_size) > each.commit:
                raise Damage(f"the meta page of commit {each.commit} has a tree of a later one")
    return meta


def _commit_of_page(read: ReadAt, number: int, page_size: int) -> int:
    header = read(HEADER.size, number * page_size)
    if len(header) < HEADER.size:
        raise Damage(f"page {number} is missing")
    commit: int = HEADER.unpack(header)[1]
    return commit


BRANCH: Final = 0x01
LEAF: Final = 0x02
OVERFLOW: Final = 0x04
LONG_VALUE: Final = 0x01
META_PAGES: Final = 2

_ENTRY: Final = struct.Struct("=HHHH")
ENTRY_BYTES: Final = _ENTRY.size
_CHILD: Final = struct.Struct("=IH")
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

    def children(self, number: int) -> Sequence[int]:
        """The children of a branch, whose keys are not looked at."""
        page = self.page(number)
        starts, _ = self._entries(page, number, BRANCH)
        leasts, mosts = zip(*map(_CHILD.unpack_from, repeat(page), starts), strict=True)
        return leasts if not any(mosts) else [least | most << 32 for least, most in zip(leasts, mosts, strict=True)]

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
        starts = [start + HEADER.size for start in memoryview(page)[HEADER.size : HEADER.size + lower].cast("H")]
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
