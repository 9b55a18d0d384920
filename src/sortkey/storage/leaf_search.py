"""Finds the leaves of one commit by key, checks the pages above them on the way, and notes which leaves are sound."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeVar, cast

from sortkey.storage.pages import NO_ROOT, Branch, Damage, Pages, Tree

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

    def check_branches(self) -> None:
        """Raise DamagedRange unless all pages above the leaves are sound."""
        if self._tree.root != NO_ROOT:
            self._check_below(Place(self._tree.root, START, END), 1)

    def _check_below(self, place: Place, level: int) -> None:
        if level < self._tree.depth:
            branch = self._branch(place)
            if level < self._tree.depth - 1:
                for at in range(len(branch.children)):
                    self._check_below(_child(branch, at), level + 1)

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


Bounds = tuple[bytes, bytes]
"""The least key, and the first one behind; END if there is no bound."""


class SoundKeys:
    """The keys whose leaves are known to be sound, as runs of leaves that lie side by side.

    A lookup needs the leaf of its key and those beside it (`gradual_check` says why). So the first and the last leaf of
    a run are only neighbours, unless nothing is beyond them. The keys between the two are *inside* of the run.

    Leaves change from commit to commit, and runs are unions of leaves of several commits. The edges of a run stay
    right: a sound leaf has an entry, so the bound below it is below that entry, which is below the leaf's end.
    """

    def __init__(self) -> None:
        # Of each run, in the order of keys. Runs neither overlap nor touch.
        self._lows: list[bytes] = []
        self._highs: list[bytes] = []
        self._inside: list[Bounds] = []

    def add(self, low: bytes, high: bytes) -> None:
        """Note a leaf."""
        inside_low = START if low == START else high
        inside_high = END if high == END else low
        first = bisect_left(self._highs, low)
        last = bisect_right(self._lows, high)
        if first < last:
            low, inside_low = min(low, self._lows[first]), min(inside_low, self._inside[first][0])
            high, inside_high = max(high, self._highs[last - 1]), max(inside_high, self._inside[last - 1][1])
        self._lows[first:last] = [low]
        self._highs[first:last] = [high]
        self._inside[first:last] = [(inside_low, inside_high)]

    def inside(self, key: bytes) -> Bounds | None:
        """The keys inside of the run with this key; None if it is not inside of one."""
        at = bisect_right(self._lows, key) - 1
        if at < 0:
            return None
        low, high = self._inside[at]
        return (low, high) if low <= key and (key < high or high == END) else None

    def includes(self, low: bytes, high: bytes) -> bool:
        """Whether all these keys are of sound leaves."""
        at = bisect_right(self._lows, low) - 1
        return at >= 0 and high <= self._highs[at]

    def run_with(self, low: bytes, high: bytes) -> Bounds:
        """The bounds that the run with this leaf has, or would have if it were added."""
        first, last = bisect_left(self._highs, low), bisect_right(self._lows, high)
        if first == last:
            return low, high
        return min(low, self._lows[first]), max(high, self._highs[last - 1])
