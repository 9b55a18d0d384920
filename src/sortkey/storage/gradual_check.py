"""Checks a large file leaf by leaf: in the background, and each leaf before the first lookup that reads it.

Opening a file checks the pages above the leaves and the free pages: a hundredth of the file (`page_tree.TreeWalk`). So
each page is used once. The keys of the lowest of these pages take most time, and are checked by the first search that
meets them. A lookup of a key is safe when the leaf that has the key is sound, and so are the leaves beside it:

- A bound between two leaves may be damaged in the page above. Then one of the two has a key on the wrong side of it.
- A cursor moves to the next leaf at most, and asks again there.

A leaf is sound if its page is (`pages`) and each value was written under the key that it is found by. The rest of a
value is verified by reads. A damaged leaf is an error for each key of the three leaves, and others are served. A page
that cannot be read is treated like a damaged one.

LMDB does not use the pages of a snapshot again, so a snapshot that lasts makes the file grow by all that is written
meanwhile. Therefore the check holds none for longer than `STRETCH_SECONDS`. Each stretch looks at the newest commit,
and goes on at the key where the one before it ended. Page numbers mean nothing from one stretch to the next. What was
found to be sound is noted by keys (`SoundKeys`), and stays so in every later commit:

- A commit changes a leaf, or the bounds beside it, only by a write to this leaf or to one beside it. Whoever writes
  has checked the three leaves before, in this process or in another: a write is wrapped as a read is
  (`store.CheckedTransaction`), or its process has checked the whole file. So what it copies is sound.
- A delete may merge a leaf with one beside it, and the next delete may merge the two with a third one. So each delete
  of a transaction checks one leaf more on each side. It may also merge pages above them with any beside those, so all
  pages above the leaves are checked before the first delete.
- For the same reason, an older snapshot is safe where the newest commit is: either it has the same leaf, or a writer
  checked its leaf later.

Long values that are older than the opening must not be on pages that were free then: LMDB may use those.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar, cast

import lmdb

from sortkey.clock import monotonic
from sortkey.storage.leaf_search import (
    END,
    START,
    Bounds,
    Branches,
    DamagedRange,
    LeafSearch,
    Place,
    SoundKeys,
    checked,
)
from sortkey.storage.page_tree import PageUse, TreeWalk, check_trees, take_free_pages
from sortkey.storage.pages import Damage, Pages, meta_of, newest_meta
from sortkey.storage.sealed import SEAL_BYTES, key_sum_at, sum_of_key
from sortkey.storage.write_lock import WriteLock

STEP_SECONDS: Final = 0.001
"""How long the background checks before it pauses. Other threads wait for it, because Python runs one at a time."""
PAUSE_SECONDS: Final = 0.002
STRETCH_SECONDS: Final = 0.02
"""How long the background looks at one commit, with pauses."""
TRIES: Final = 3
"""Damage counts if it is seen this often, each time in a new snapshot: a commit may be written while it is read."""
Result = TypeVar("Result")
_logger = logging.getLogger(__name__)


class GradualCheck:
    """The check of one file. All methods but `close` may be called by several threads at once."""

    def __init__(self, environment: lmdb.Environment, file: Path, unsealed: bytes) -> None:
        """Check what is above the leaves; raises Damage. `unsealed` is the one key whose value has no seal."""
        self._path = file
        self._unsealed = unsealed
        self._environment = environment
        self._sound = SoundKeys()
        self._branches: Branches = {}
        self._branches_checked = False
        self._damage: set[str] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self.ended = False
        self._file = os.open(file, os.O_RDONLY)
        self._read = partial(os.pread, self._file)
        try:
            with environment.begin() as snapshot:
                self._opened = self._outline(snapshot.id())
        except BaseException:
            os.close(self._file)
            raise

    def _outline(self, commit: int) -> PageUse:
        """Check the pages above the leaves, and the free pages. Returns which pages are used or free."""
        meta = meta_of(self._read, commit)
        use = PageUse(meta, os.fstat(self._file).st_size)
        pages = Pages(self._read, meta, use.take_long)
        TreeWalk(pages, use, meta.main).take_pages()
        take_free_pages(pages, use, meta)
        return use

    def require(self, key: bytes, ahead: int = 1) -> Bounds:
        """Raise Damage unless it is safe to look up the key, and to move by one entry from it; END is the last key.

        Returns bounds between which that is safe for any key. They are wider if more leaves `ahead` are sound: to check
        those too takes a quarter of the time that it takes to ask for each.
        """
        with self._lock:
            return self._sound.inside(key) or self._repeated(partial(self._check_around, key, ahead))

    def require_to_delete(self, key: bytes, merged: SoundKeys) -> None:
        """Raise Damage unless it is safe to delete the key in a write transaction.

        LMDB may merge its leaf with one beside it, and that one may be merged already. `merged` has the leaves of the
        transaction's commit that it may have merged with each other so far, and gets more.
        """
        with self._lock:
            if not self.ended or self._damage:
                if not self._branches_checked:
                    self._repeated(LeafSearch.check_branches)
                    self._branches_checked = True
                self._repeated(partial(self._check_to_merge, key, merged))

    def start(self, on_sound: Callable[[], None]) -> None:
        """Check all leaves in a thread; `on_sound` is called there at the end, if no leaf is damaged."""
        self._thread = threading.Thread(target=self._run, args=(on_sound,), name="sortkey-check", daemon=True)
        self._thread.start()

    def run(self, pause: Callable[[], bool] | None = None) -> bool:
        """Check all leaves; returns whether all are sound. Ends early when `pause`, called now and then, is true."""
        position = START
        while position != END:
            try:
                behind = self._stretch(position, pause)
            except DamagedRange as damage:
                behind = self._pass(max(position, damage.place.low))
            except lmdb.ReadersFullError:
                behind = None if self._closing.wait(PAUSE_SECONDS) else position
            if behind is None:
                return False
            position = behind
        return self._end()

    def close(self) -> None:
        """Stop, and wait for the thread. No transaction may be in use any more."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        if not self.ended or self._damage:
            self._release()
        self.ended = True

    def _run(self, on_sound: Callable[[], None]) -> None:
        if self.run(partial(self._closing.wait, PAUSE_SECONDS)):
            on_sound()

    def _stretch(self, position: bytes, pause: Callable[[], bool] | None) -> bytes | None:
        """Check the leaves from a key on, in one commit; returns the key to go on at, or None to end early."""
        until = monotonic() + STEP_SECONDS
        end = monotonic() + STRETCH_SECONDS
        with self._newest_tree() as tree:
            for place in tree.leaves_from(position):
                with self._lock:
                    self._check(tree, place)
                now = monotonic()
                if pause is not None and now > until:
                    if pause():
                        return None
                    until = monotonic() + STEP_SECONDS
                if now > end:
                    return place.high
        return END

    def _pass(self, key: bytes) -> bytes:
        """Check again what seems to be damaged; returns the key behind it."""
        try:
            with self._lock:
                place = self._repeated(partial(self._check_leaf_with, key))
        except DamagedRange as damage:
            # It is noted and logged, and an error for those who need the leaf.
            place = damage.place
        return END if place is None else place.high

    def _end(self) -> bool:
        """Note the end; returns whether all leaves are sound."""
        with self._lock:
            self.ended = True
            if not self._damage:
                self._sound.add(START, END)
                self._release()
            return not self._damage

    def _release(self) -> None:
        os.close(self._file)
        self._branches.clear()
        del self._opened

    @contextmanager
    def _newest_tree(self) -> Iterator[LeafSearch]:
        # The snapshot keeps the pages of its commit and of all later ones.
        with self._environment.begin():
            try:
                meta = newest_meta(self._read)
            except (Damage, OSError) as error:
                raise DamagedRange(Place(0, START, END), f"a meta page is damaged: {error}") from error
            pages = Pages(self._read, meta, self._opened.check_old_value)
            yield LeafSearch(pages, meta.main, self._branches)

    def _repeated(self, check: Callable[[LeafSearch], Result]) -> Result:
        """What a check of the newest tree returns. Damage is noted if each of several tries finds some."""
        for _ in range(TRIES - 1):
            with suppress(DamagedRange), self._newest_tree() as tree:
                return check(tree)
        try:
            with self._newest_tree() as tree:
                return check(tree)
        except DamagedRange as damage:
            self._note(str(damage))
            raise

    def _note(self, damage: str) -> None:
        if damage not in self._damage:
            self._damage.add(damage)
            _logger.error("%s is damaged: %s; run `sortkey check` on its folder", self._path, damage)

    def _check_around(self, key: bytes, ahead: int, tree: LeafSearch) -> Bounds:
        """Check the leaf with a key, the one before it, and those behind it."""
        place = self._check_leaf_with(key, tree)
        if place is None:
            return START, END
        self._check_beside(place.low, place.high, tree)
        high = place.high
        if ahead > 1 and high != END:
            # Damage further on is an error for whoever comes there.
            with suppress(DamagedRange):
                for behind in islice(tree.leaves_from(high), ahead):
                    self._check(tree, behind)
                    high = behind.low
        return place.low, high

    def _check_to_merge(self, key: bytes, merged: SoundKeys, tree: LeafSearch) -> None:
        """Check the leaf with a key, and those beside all that it may have been merged with."""
        place = self._check_leaf_with(key, tree)
        if place is not None:
            low, high = self._check_beside(*merged.run_with(place.low, place.high), tree)
            merged.add(low, high)

    def _check_beside(self, low: bytes, high: bytes, tree: LeafSearch) -> Bounds:
        """Check the leaves before and behind these bounds; returns the bounds of all."""
        before = tree.leaf_before(low)
        if before is not None:
            self._check(tree, before)
            low = before.low
        if high != END:
            behind = self._check_leaf_with(high, tree)
            high = END if behind is None else behind.high
        return low, high

    def _check_leaf_with(self, key: bytes, tree: LeafSearch) -> Place | None:
        place = tree.leaf_with(key)
        if place is not None:
            self._check(tree, place)
        return place

    def _check(self, tree: LeafSearch, place: Place) -> None:
        if not self._sound.includes(place.low, place.high):
            checked(place, partial(self._check_page, tree.pages))
            self._sound.add(place.low, place.high)

    def _check_page(self, pages: Pages, number: int, low: bytes, high: bytes) -> None:
        leaf = pages.leaf(number, low, high)
        page, keys = leaf.page, cast(list[bytes], leaf.keys)
        for key, key_sum, (at, length, is_long) in zip(keys, map(sum_of_key, keys), leaf.values, strict=True):
            seal = at + length - SEAL_BYTES
            found = key_sum_at(page, seal) if not is_long else key_sum_at(pages.read_long(seal, SEAL_BYTES), 0)
            if (found[0] != key_sum or length < SEAL_BYTES) and key != self._unsealed:
                raise Damage(f"record {key.hex()} on page {number} is damaged, or its key is")


DATA_FILE: Final = "data.mdb"
READ_ONLY_TRIES: Final = 5


def check_writable(
    environment: lmdb.Environment, lock: WriteLock, path: Path, most_bytes: int, unsealed: bytes
) -> GradualCheck | None:
    """Check the pages of a folder's `data.mdb`, while other processes may write to it. Raises Damage if it is damaged.

    The check follows a snapshot, whose pages LMDB does not use again. Only the meta pages can change meanwhile, so
    damage counts when it is seen again while no process can commit.

    The leaves of a file larger than `most_bytes` are left to the check that is returned.
    """
    try:
        return _begin_check(environment, path, most_bytes, unsealed)
    except Damage:
        with lock:
            transaction = environment.begin(write=True)
            try:
                return _begin_check(environment, path, most_bytes, unsealed)
            finally:
                transaction.abort()


def _begin_check(environment: lmdb.Environment, path: Path, most_bytes: int, unsealed: bytes) -> GradualCheck | None:
    if (path / DATA_FILE).stat().st_size > most_bytes:
        return GradualCheck(environment, path / DATA_FILE, unsealed)
    _check_snapshot(environment, path)
    return None


def check_read_only(environment: lmdb.Environment, path: Path) -> None:
    """The same with all leaves, for an environment that cannot stop other processes: tries again instead."""
    for left in reversed(range(READ_ONLY_TRIES)):
        try:
            _check_snapshot(environment, path)
        except Damage:
            if not left:
                raise
        else:
            return


def _check_snapshot(environment: lmdb.Environment, path: Path) -> None:
    # Beginning a snapshot reads no page of a tree.
    with environment.begin() as snapshot:
        file = os.open(path / DATA_FILE, os.O_RDONLY)
        try:
            read = partial(os.pread, file)
            check_trees(read, meta_of(read, snapshot.id()), os.fstat(file).st_size)
        finally:
            os.close(file)
