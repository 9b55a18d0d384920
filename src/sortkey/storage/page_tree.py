"""Checks LMDB's trees: the one with all records, and the one that lists the free pages.

A damaged page can hide rows: a pointer to another page, a wrong number of entries, a key that sends searches astray.
The values' own checksums do not show that, because a row that is not found is not verified. So every page must be
reached once, from one parent, with its keys inside the bounds that the parent gives; what is counted must be what the
meta page says; and the pages that are free must be exactly the others.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Final

from sortkey.storage.pages import (
    META_PAGES,
    NO_ROOT,
    Branch,
    Damage,
    Key,
    KeyOf,
    Leaf,
    Meta,
    Pages,
    ReadAt,
    Tree,
    number_of,
)

MOST_UNWRITTEN_PAGES: Final = 1 << 20

_NUMBER: Final = struct.Struct("=Q")


class PageUse:
    """The pages of a commit that are known to be used or free. Each must be one of the two, once."""

    def __init__(self, meta: Meta, file_bytes: int) -> None:
        # Free pages at the end may never have been written. The bound is on this check's own memory.
        if meta.last_page > 2 * file_bytes // meta.page_size + MOST_UNWRITTEN_PAGES:
            raise Damage("the file is much shorter than its meta page says")
        self._commit = meta.commit
        self._taken = bytearray(meta.last_page + 1)
        self._taken[:META_PAGES] = b"\1" * META_PAGES
        self._count = META_PAGES

    def take(self, first: int, count: int = 1) -> None:
        """Note that pages are used. Each may be used once."""
        end = first + count
        if not META_PAGES <= first < end <= len(self._taken) or any(self._taken[first:end]):
            raise Damage(f"page {first} is out of range, or is used twice")
        self._taken[first:end] = b"\1" * count
        self._count += count

    def take_each(self, numbers: Sequence[int]) -> None:
        """Note that single pages are used, or free. `check_once` tells whether one of them is both, or used twice."""
        taken = self._taken
        if min(numbers) < META_PAGES or max(numbers) >= len(taken):
            raise Damage(f"a page below {META_PAGES} or above {len(taken) - 1} is used")
        for number in numbers:
            taken[number] = 1
        self._count += len(numbers)

    def check_once(self) -> None:
        if self._taken.count(1) != self._count:
            raise Damage("a page is used twice, or is listed as free")

    def take_long(self, first: int, count: int, _: int) -> None:
        """Note the pages of a long value."""
        self.take(first, count)

    def take_free(self, listed: bytes) -> None:
        """Note the free pages of one entry: their count, then their numbers."""
        if len(listed) % _NUMBER.size or not listed or len(listed) // _NUMBER.size - 1 != number_of(listed[:8]):
            raise Damage("the list of free pages has an entry of a wrong length")
        if len(listed) > _NUMBER.size:
            self.take_each(memoryview(listed)[_NUMBER.size :].cast("Q"))

    def check_all_known(self) -> None:
        unknown = self._taken.find(0)
        if unknown >= 0:
            raise Damage(f"page {unknown} is neither used nor free")

    def check_old_value(self, first: int, count: int, commit: int) -> None:
        """A value that this commit had already must not be on pages that it uses otherwise, or lists as free."""
        if commit <= self._commit and any(self._taken[first : first + count]):
            raise Damage(f"page {first} is used twice, or is listed as free")


DEEPEST: Final = 32


def check_trees(read: ReadAt, meta: Meta, file_bytes: int) -> None:
    """Raise Damage unless the trees of this commit are sound. Reads every page but those of long values."""
    use = PageUse(meta, file_bytes)
    pages = Pages(read, meta, use.take_long)
    main = TreeWalk(pages, use, meta.main)
    for _ in main.leaves():
        pass
    main.check_counts()
    take_free_pages(pages, use, meta)
    use.check_all_known()


def take_free_pages(pages: Pages, use: PageUse, meta: Meta) -> None:
    """Check the tree of the free pages. None of them may be used."""
    free = TreeWalk(pages, use, meta.free, number_of)
    for leaf in free.leaves():
        for place in leaf.values:
            use.take_free(pages.value(leaf, place))
    free.check_counts()
    use.check_once()


class TreeWalk:
    """One walk over a tree, from its least key to its greatest, which counts."""

    def __init__(self, pages: Pages, use: PageUse, tree: Tree, key_of: KeyOf | None = None) -> None:
        self._pages = pages
        self._use = use
        self._tree = tree
        self._key_of = key_of
        self._branches = 0
        self._leaves = 0
        self.overflow_pages = 0
        self.entries = 0

    def lowest_branches(self) -> Iterator[tuple[int, Branch]]:
        """The numbers and contents of the pages above the leaves. Of the leaves themselves, only the numbers are seen.

        A tree that is one leaf has a branch with this leaf, as page NO_ROOT. Raises Damage at the end if the tree has
        other numbers of pages than its meta page says.
        """
        for number, low, high in self._lowest():
            branch = self._pages.branch(number, low, high, self._key_of)
            self._take_leaves(branch.children)
            yield number, branch
        if self._tree.depth == 1:
            yield NO_ROOT, Branch(None, [], None, [self._tree.root])
        self._check_pages()

    def take_pages(self) -> None:
        """Check the pages above the leaves, except for the keys of the lowest ones, and count all pages."""
        for number, _, _ in self._lowest():
            self._take_leaves(self._pages.children(number))
        self._check_pages()

    def _lowest(self) -> Iterator[tuple[int, Key | None, Key | None]]:
        """The numbers and bounds of the branches above the leaves. A tree that is one leaf has none, and is counted."""
        tree = self._tree
        if tree.depth > DEEPEST:
            raise Damage(f"a tree is said to have {tree.depth} levels")
        if (tree.root == NO_ROOT) != (tree.depth == 0):
            raise Damage(f"a tree without pages has levels, or one of {tree.depth} levels has no pages")
        if tree.depth == 1:
            self._take_leaves([tree.root])
        elif tree.depth:
            yield from self._below(tree.root, 1, None, None)

    def _below(
        self, number: int, level: int, low: Key | None, high: Key | None
    ) -> Iterator[tuple[int, Key | None, Key | None]]:
        self._use.take(number)
        self._branches += 1
        if level == self._tree.depth - 1:
            yield number, low, high
        else:
            branch = self._pages.branch(number, low, high, self._key_of)
            for at, child in enumerate(branch.children):
                yield from self._below(child, level + 1, *branch.bounds(at))

    def _take_leaves(self, numbers: Sequence[int]) -> None:
        self._use.take_each(numbers)
        self._leaves += len(numbers)

    def _check_pages(self) -> None:
        tree = self._tree
        if (self._branches, self._leaves) != (tree.branch_pages, tree.leaf_pages):
            raise Damage(f"a tree of {tree.leaf_pages} leaves has {self._leaves}, or another number of branch pages")

    def leaves(self) -> Iterator[Leaf]:
        for _, branch in self.lowest_branches():
            for at, number in enumerate(branch.children):
                yield self.leaf(number, *branch.bounds(at))

    def leaf(self, number: int, low: Key | None, high: Key | None) -> Leaf:
        """Check and count a leaf; once for each."""
        leaf = self._pages.leaf(number, low, high, self._key_of)
        self.entries += len(leaf.keys)
        self.overflow_pages += leaf.overflow_pages
        return leaf

    def check_counts(self) -> None:
        """To be called when all leaves were counted."""
        if (self.overflow_pages, self.entries) != (self._tree.overflow_pages, self._tree.entries):
            raise Damage(f"a tree of {self._tree.entries} entries has {self.entries}, or another number of pages")
