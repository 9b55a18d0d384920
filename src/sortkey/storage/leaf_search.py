"""Finds the leaves of one commit by key, and checks the pages above them on the way."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeVar, cast

from sortkey.storage.meta_pages import NO_ROOT, Damage, Tree
from sortkey.storage.tree_pages import Branch, Pages

Page = TypeVar("Page")

START: Final = b""
END: Final = b"\xff" * 2048
"""Greater than every key that LMDB takes."""


class Place(NamedTuple):
    """A leaf, the least key that may be on it, and the least one that is behind it."""

    number: int
    low: bytes
    high: bytes


class DamagedRange(Damage):
    """The page for these keys is damaged, or cannot be read."""

    def __init__(self, place: Place, what: str) -> None:
        super().__init__(what)
        self.place = place


def checked(place: Place, check: Callable[[int, bytes, bytes], Page]) -> Page:
    """The page of a place. Whatever is wrong with it is an error for the keys of the place."""
    try:
        return check(*place)
    except OSError as error:
        raise DamagedRange(place, f"page {place.number} cannot be read: {error}") from error
    except Damage as damage:
        raise DamagedRange(place, str(damage)) from damage


Branches = dict[tuple[int, bytes, bytes, bytes], Branch]
"""By the place and the bytes of their pages. From one commit to the next, most pages stay the same."""
MOST_BRANCHES: Final = 256


class LeafSearch:
    def __init__(self, pages: Pages, tree: Tree, known: Branches) -> None:
        """`known` has branches that are known to be sound, and gets more."""
        self.pages = pages
        self._tree = tree
        self._known = known

    def leaf_with(self, key: bytes) -> Place | None:
        """The leaf that has the key, or would have it. END is on the last one. None if the tree has no pages."""
        return self._find(key, bisect_right)

    def leaf_before(self, key: bytes) -> Place | None:
        """The leaf of the keys just below this one. None if there is none."""
        return self._find(key, bisect_left) if key else None

    def leaves_from(self, key: bytes) -> Iterator[Place]:
        """The leaf that has the key, and all behind it."""
        if self._tree.root != NO_ROOT:
            yield from self._leaves(Place(self._tree.root, START, END), 1, key)

    def _find(self, key: bytes, side: Callable[[Any, bytes], int]) -> Place | None:
        if self._tree.root == NO_ROOT:
            return None
        place = Place(self._tree.root, START, END)
        for _ in range(self._tree.depth - 1):
            branch = self._branch(place)
            place = _child(branch, side(branch.keys, key))
        return place

    def _leaves(self, place: Place, level: int, key: bytes) -> Iterator[Place]:
        if level == self._tree.depth:
            yield place
            return
        branch = self._branch(place)
        for at in range(bisect_right(cast(list[bytes], branch.keys), key), len(branch.children)):
            yield from self._leaves(_child(branch, at), level + 1, key)

    def _branch(self, place: Place) -> Branch:
        return checked(place, self._sound_branch)

    def _sound_branch(self, number: int, low: bytes, high: bytes) -> Branch:
        page = self.pages.page(number)
        known = self._known.get((number, low, high, page))
        if known is None:
            if len(self._known) >= MOST_BRANCHES:
                self._known.clear()
            known = self._known[number, low, high, page] = self.pages.branch_of(page, number, low, high)
        return known


def _child(branch: Branch, at: int) -> Place:
    low, high = branch.bounds(at)
    return Place(branch.children[at], cast(bytes, low), cast(bytes, high))
