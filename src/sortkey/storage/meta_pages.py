"""LMDB's two meta pages, read from the file itself.

Each commit writes one of the two, the even numbers the first and the odd ones the second, and LMDB opens the one with
the greater number. A damaged number could therefore bring back the commit before, in which everything else is sound.
So the numbers must follow one another, and no tree may have a page that is newer than its meta page.

    page header    page number(8) commit(8) unused(2) flags(2) lower(2) upper(2)
    meta page      header(24) magic(4) version(4) address(8) map size(8) free tree(48) main tree(48)
                   last page(8) commit(8)
    tree           page size, in the first(4) flags(2) depth(2) branch pages(8) leaf pages(8) overflow pages(8)
                   entries(8) root(8)
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from operator import attrgetter
from typing import Final, NamedTuple

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
