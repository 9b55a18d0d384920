"""Checks a large file leaf by leaf: in the background, and each leaf before the first lookup that reads it.

Opening a file checks the pages above the leaves and the free pages: a hundredth of the file (`page_tree.TreeWalk`).
These divide all keys between the leaves. What is left is checked against that commit, the *opened* one, which a
snapshot keeps. A lookup of a key is safe when the leaf that had the key in the opened commit is sound, and so are the
leaves beside it:

- A bound between two leaves may be damaged in the page above. Then one of the two has a key on the wrong side of it.
- Later commits move entries only between neighbours, when a leaf is split, or is merged because entries were deleted.
  A write checks the three leaves, too, so whatever it copies is sound.
- A cursor moves to the next leaf at most, and asks again there.

A leaf is sound if its page is (`tree_pages`) and each value was written under the key that it is found by. The rest of
a value is verified by reads. A damaged leaf is an error for each key of the three leaves, and others are served. A page
that cannot be read is treated like a damaged one.
"""

from __future__ import annotations

import logging
import os
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any, Final, NamedTuple, cast

import lmdb

from sortkey.storage.meta_pages import NO_ROOT, Damage, meta_of
from sortkey.storage.page_tree import TreeWalk, take_free_pages
from sortkey.storage.sealed import SEAL_BYTES, belongs_to
from sortkey.storage.tree_pages import Branch, Key, Leaf, Pages

STEP_SECONDS: Final = 0.001
"""How long the background checks before it pauses. Other threads wait for it, because Python runs one at a time."""
PAUSE_SECONDS: Final = 0.002
REMEMBERED_BRANCHES: Final = 1024

_logger = logging.getLogger(__name__)

Bounds = tuple[bytes, bytes | None]
"""The least key, and the first one behind; None if there is no bound."""


class _Damaged(NamedTuple):
    low: bytes
    high: bytes | None
    what: str


def _unreadable(number: int, error: OSError) -> Damage:
    return Damage(f"page {number} cannot be read: {error}")


class GradualCheck:
    """The check of one file. All methods but `close` may be called by several threads at once."""

    def __init__(self, environment: lmdb.Environment, file: Path, unsealed: bytes) -> None:
        """Check what is above the leaves; raises Damage. `unsealed` is the one key whose value has no seal."""
        self._path = file
        self._unsealed = unsealed
        self._snapshot: lmdb.Transaction[Any] = environment.begin()
        self._file = os.open(file, os.O_RDONLY)
        try:
            self._outline(partial(os.pread, self._file))
        except BaseException:
            self._release()
            raise
        self._branch = lru_cache(REMEMBERED_BRANCHES)(self._read_branch)
        self._damaged: dict[int, _Damaged] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self.ended = False

    def _outline(self, read: Callable[[int, int], bytes]) -> None:
        meta = meta_of(read, self._snapshot.id())
        self._pages = Pages(read, meta, os.fstat(self._file).st_size)
        self._walk = TreeWalk(self._pages, meta.main)
        self._root = meta.main.root
        self._numbers: list[int] = []
        self._lows: list[bytes] = []
        for number, branch in self._walk.lowest_branches():
            self._numbers.append(number)
            self._lows.append(cast(bytes, branch.low or b""))
        take_free_pages(self._pages, meta)
        self._checked = bytearray(meta.last_page + 1)

    def require(self, key: bytes | None) -> Bounds:
        """Raise Damage unless it is safe to look up the key, and to move by one entry from it; None is the last key.

        Returns bounds between which that is safe for any key.
        """
        with self._lock:
            if self.ended:
                return self._outside_damage(key)
            if not self._lows:
                return b"", None
            group = len(self._lows) - 1 if key is None else bisect_right(self._lows, key) - 1
            bounds = cast(list[bytes], self._branch(group).keys)
            leaf = len(bounds) if key is None else bisect_right(bounds, key)
            for place in self._neighbours(group, leaf):
                self._check(*place)
            return self._bounds(group, leaf)

    def start(self, on_sound: Callable[[], None]) -> None:
        """Check all leaves in a thread; `on_sound` is called there at the end, if no leaf is damaged."""
        self._thread = threading.Thread(target=self._run, args=(on_sound,), name="sortkey-check", daemon=True)
        self._thread.start()

    def run(self, pause: Callable[[], bool] | None = None) -> bool:
        """Check all leaves; returns whether all are sound. Ends early when `pause`, called now and then, is true."""
        until = perf_counter() + STEP_SECONDS
        for group in range(len(self._lows)):
            for leaf in range(self._leaves(group)):
                with self._lock:
                    try:
                        self._check(group, leaf)
                    except Damage:
                        # It is noted and logged, and an error for those who need the leaf.
                        continue
                if pause is not None and perf_counter() > until:
                    if pause():
                        return False
                    until = perf_counter() + STEP_SECONDS
        return self._end()

    def _leaves(self, group: int) -> int:
        """The number of leaves below a page. None if it cannot be read: then its keys are damaged."""
        with self._lock:
            try:
                return len(self._branch(group).children)
            except Damage as damage:
                self._note(self._numbers[group], self._around_group(group), damage)
                return 0

    def close(self) -> None:
        """Stop, and wait for the thread. No transaction may be in use any more."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        if not self.ended:
            self.ended = True
            self._release()

    def _run(self, on_sound: Callable[[], None]) -> None:
        if self.run(partial(self._closing.wait, PAUSE_SECONDS)):
            on_sound()

    def _end(self) -> bool:
        """Note the end; returns whether all leaves are sound."""
        with self._lock:
            if not self._damaged:
                try:
                    self._walk.check_counts()
                    self._pages.check_all_known()
                except Damage as damage:
                    # No answer depends on these numbers.
                    _logger.error("%s is damaged: %s; run `sortkey check` on its folder", self._path, damage)
            self.ended = True
            self._release()
            return not self._damaged

    def _release(self) -> None:
        """Let LMDB use the pages of the opened commit again."""
        self._snapshot.abort()
        os.close(self._file)

    def _read_branch(self, group: int) -> Branch:
        low = self._lows[group] or None
        high = self._lows[group + 1] if group + 1 < len(self._lows) else None
        if self._numbers[group] == NO_ROOT:
            return Branch(low, [], high, [self._root])
        try:
            return self._pages.branch(self._numbers[group], low, high)
        except OSError as error:
            raise _unreadable(self._numbers[group], error) from error

    def _neighbours(self, group: int, leaf: int) -> Iterator[tuple[int, int]]:
        """The leaf before this one, this one, and the next."""
        if leaf:
            yield group, leaf - 1
        elif group:
            yield group - 1, len(self._branch(group - 1).children) - 1
        yield group, leaf
        if leaf + 1 < len(self._branch(group).children):
            yield group, leaf + 1
        elif group + 1 < len(self._lows):
            yield group + 1, 0

    def _bounds(self, group: int, leaf: int) -> Bounds:
        low, high = self._branch(group).bounds(leaf)
        return cast(bytes, low or b""), cast(bytes | None, high)

    def _check(self, group: int, leaf: int) -> None:
        branch = self._branch(group)
        number = branch.children[leaf]
        if self._checked[number]:
            return
        known = self._damaged.get(number)
        if known is not None:
            raise Damage(known.what)
        try:
            self._check_leaf(number, *branch.bounds(leaf))
        except Damage as damage:
            self._note(number, self._around(group, leaf), damage)
            raise
        self._checked[number] = 1

    def _note(self, number: int, around: Bounds, damage: Damage) -> None:
        self._damaged[number] = _Damaged(*around, str(damage))
        _logger.error("%s is damaged: %s; run `sortkey check` on its folder", self._path, damage)

    def _around(self, group: int, leaf: int) -> Bounds:
        """The bounds of a leaf and those beside it."""
        try:
            around = [self._bounds(*place) for place in self._neighbours(group, leaf)]
        except Damage:
            return self._around_group(group)
        return around[0][0], around[-1][1]

    def _around_group(self, group: int) -> Bounds:
        """The bounds of the leaves below a page and below those beside it; reads nothing."""
        return self._lows[max(group - 1, 0)], self._lows[group + 2] if group + 2 < len(self._lows) else None

    def _check_leaf(self, number: int, low: Key | None, high: Key | None) -> None:
        try:
            self._check_seals(number, self._walk.leaf(number, low, high))
        except OSError as error:
            raise _unreadable(number, error) from error

    def _check_seals(self, number: int, leaf: Leaf) -> None:
        page = leaf.page
        for key, (at, length, is_long) in zip(cast(list[bytes], leaf.keys), leaf.values, strict=True):
            end = at + length
            tail = self._pages.read_long(end - SEAL_BYTES, SEAL_BYTES) if is_long else page[end - SEAL_BYTES : end]
            if (length < SEAL_BYTES or not belongs_to(key, tail)) and key != self._unsealed:
                raise Damage(f"record {key.hex()} on page {number} is damaged, or its key is")

    def _outside_damage(self, key: bytes | None) -> Bounds:
        begin, end = b"", None
        for low, high, what in self._damaged.values():
            if key is not None and key < low:
                end = low if end is None else min(end, low)
            elif high is not None and (key is None or high <= key):
                begin = max(begin, high)
            else:
                raise Damage(what)
        return begin, end
