"""The store: durable ordered bytes, snapshots and ranges to read, a queue to write.

An LMDB reader first notes the number of the newest commit, then copies where that commit's tree begins. If two commits
come in between, it copies the root of a newer tree. That snapshot is sound, only newer than its number, and its pages
are protected, since LMDB keeps them for the older number. But the binding's copy of LMDB 1.0 checks that no page is
newer than the snapshot's number, takes this for damage, and raises CorruptedError at the first page: the root, which
every commit rewrites. (Seen once in 300,000 snapshots, with four processes writing on two cores.)

So `begin_snapshot` looks up one key before it returns a snapshot, and begins another if that raises. Real damage raises
every time. Callers that need a key anyway pass that one, and the check costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Generic, Protocol, Self, TypeVar, cast

import lmdb

from sortkey.storage import environment
from sortkey.storage.environment import FORMAT_KEY, Transaction
from sortkey.storage.gradual_check import GradualCheck
from sortkey.storage.leaf_search import END, START, Bounds, SoundKeys
from sortkey.storage.pages import Damage
from sortkey.storage.write_lock import WriteLock
from sortkey.storage.write_queue import BatchType, Done, Ticket, Work, WriteQueue

Result = TypeVar("Result")
SNAPSHOT_TRIES: Final = 20
MOST_AHEAD: Final = 32
"""Leaves, which are checked in a millisecond. Other threads wait for it."""


def _unchanged(damage: Damage) -> Exception:
    return damage


class Store(Generic[BatchType]):
    """One data folder, or memory only if `path` is None.

    Any number of processes may open one folder: one of them writes at a time (`write_lock`), and readers never wait.
    A process must open a folder only once (`Database` sees to that) and must not use it after a fork.
    """

    def __init__(
        self,
        path: Path | None,
        batch: Callable[[Transaction], BatchType],
        damage_error: Callable[[Damage], Exception] = _unchanged,
    ) -> None:
        """`damage_error` makes the error that is raised where a large folder turns out to be damaged."""
        self.path = path
        self._damage_error = damage_error
        self.check: GradualCheck | None = None
        """The check of a large folder, which `start_check` runs in the background."""
        self._lock: WriteLock | None = None
        if path is None:
            self._environment = environment.open_memory()
        else:
            self._environment, self._lock, self.check = environment.open_folder(path)
        self.begin = self._environment.begin if self.check is None else self._begin_checked
        """For `begin_snapshot`."""
        self._is_checked = self.check is None
        make_room = self._enlarge_memory if path is None else None
        self.queue: WriteQueue[BatchType] = WriteQueue(self._begin_write, batch, make_room, self._lock)

    def read(self) -> Transaction:
        """Begin a snapshot; use it as a context manager. Readers never wait for writers."""
        return begin_snapshot(self.begin)[0]

    def write(self, work: Callable[[BatchType], Result]) -> Result:
        """Run the work in the next write batch; return its result when it is durable."""
        return self.queue.run(work)

    def submit(self, work: Work[BatchType], done: Done, until: float | None = None) -> Ticket[BatchType]:
        """As `write`, but returns at once; `done(result, error)` is called on another thread."""
        return self.queue.submit(work, done, until)

    def intercept_commits(self, before_commit: Callable[[], None]) -> None:
        """Call a function before each commit from now on; what it raises is the commit's error."""
        begin = self._begin_write
        self.queue.begin = lambda: cast(Transaction, InterceptedTransaction(begin(), before_commit))

    def bytes_used(self) -> int:
        """The size of the environment's pages."""
        page = int(self._environment.stat()["psize"])
        return page * (int(self._environment.info()["last_pgno"]) + 1)

    def start_check(self) -> None:
        """Check a large folder in a thread, until `close`."""
        if self.check is not None:
            self.check.start(self._trust)

    def _trust(self) -> None:
        """The folder is sound: let LMDB read it by itself."""
        self.begin = self._environment.begin
        self._is_checked = True

    def _begin_checked(self, write: bool = False) -> Transaction:
        transaction = self._environment.begin(write=write)
        return cast(Transaction, CheckedTransaction(transaction, self._require, self._require_to_delete))

    def _require(self, key: bytes, ahead: int = 1) -> Bounds:
        assert self.check is not None
        try:
            return self.check.require(key, ahead)
        except Damage as damage:
            raise self._damage_error(damage) from damage

    def _require_to_delete(self, key: bytes, merged: SoundKeys) -> None:
        assert self.check is not None
        try:
            self.check.require_to_delete(key, merged)
        except Damage as damage:
            raise self._damage_error(damage) from damage

    def _begin_write(self) -> Transaction:
        return self._environment.begin(write=True) if self._is_checked else self._begin_checked(write=True)

    def _enlarge_memory(self) -> None:
        self._environment = environment.enlarge_memory(self._environment)
        self.begin = self._environment.begin

    def close(self) -> None:
        self.queue.close()
        if self.check is not None:
            self.check.close()
        self._environment.close()
        if self._lock is not None:
            self._lock.close()


def begin_snapshot(begin: Callable[[], Transaction], key: bytes = FORMAT_KEY) -> tuple[Transaction, bytes | None]:
    """A snapshot that can be read, and its value for a key, in one step; the caller ends the snapshot."""
    snapshot = begin()
    try:
        return snapshot, snapshot.get(key)
    except lmdb.CorruptedError:
        snapshot.abort()
    except Exception:
        snapshot.abort()
        raise
    return _begin_again(begin, key)


def _begin_again(begin: Callable[[], Transaction], key: bytes) -> tuple[Transaction, bytes | None]:
    for _ in range(SNAPSHOT_TRIES - 1):
        snapshot = begin()
        try:
            return snapshot, snapshot.get(key)
        except lmdb.CorruptedError:
            snapshot.abort()
    # Not a coincidence any more: let the reader see the error.
    snapshot = begin()
    return snapshot, snapshot.get(key)


def ascending(transaction: Transaction, low: bytes, high: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Rows with low <= key < high, smallest key first."""
    cursor = transaction.cursor()
    if not cursor.set_range(low):
        return
    for key, value in cursor.iternext():
        if key >= high:
            return
        yield key, value


def descending(transaction: Transaction, low: bytes, high: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Rows with low <= key < high, greatest key first."""
    cursor = transaction.cursor()
    found = cursor.prev() if cursor.set_range(high) else cursor.last()
    if not found:
        return
    for key, value in cursor.iterprev():
        if key < low:
            return
        yield key, value


def after_prefix(prefix: bytes) -> bytes:
    """The smallest key greater than every key that begins with `prefix`."""
    kept = prefix.rstrip(b"\xff")
    if not kept:
        raise ValueError("no key is greater than every key that begins with only 0xff bytes")
    return kept[:-1] + bytes([kept[-1] + 1])


class InterceptedTransaction:
    """A write transaction that calls a function before it commits, for stores whose disk shall be slow or fail.

    What the function raises is the error of the commit. It is not called if nothing was written: LMDB does not sync
    then either.
    """

    def __init__(self, transaction: Transaction, before_commit: Callable[[], None]) -> None:
        self._transaction = transaction
        self._before_commit = before_commit
        self._has_written = False

    def __enter__(self) -> Self:
        self._transaction.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._transaction.__exit__(kind, error, traceback)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transaction, name)

    def put(self, key: bytes, value: bytes) -> bool:
        self._has_written = True
        return self._transaction.put(key, value)

    def delete(self, key: bytes) -> bool:
        self._has_written = True
        return self._transaction.delete(key)

    def commit(self) -> None:
        if self._has_written:
            self._before_commit()
        self._transaction.commit()


class Require(Protocol):
    """`GradualCheck.require`, with errors of the store's user."""

    def __call__(self, key: bytes, ahead: int = 1) -> Bounds: ...


RequireToDelete = Callable[[bytes, SoundKeys], None]
"""`GradualCheck.require_to_delete`, likewise."""


class CheckedTransaction:
    """Transactions of a file that is still being checked (`gradual_check`): they check what they are about to read.

    They have the methods of LMDB's transactions and cursors that Sortkey uses, so the code above sees no difference but
    the time. Once the whole file is known to be sound, the store gives out LMDB's own ones.
    """

    __slots__ = ("_merged", "_require", "_require_to_delete", "_transaction", "abort", "commit", "id")

    def __init__(self, transaction: Any, require: Require, require_to_delete: RequireToDelete) -> None:
        self._transaction = transaction
        self._require = require
        self._require_to_delete = require_to_delete
        self._merged = SoundKeys()
        # LMDB's own methods: an interrupt must not come between a commit and its return.
        self.abort: Callable[[], None] = transaction.abort
        self.commit: Callable[[], None] = transaction.commit
        self.id: Callable[[], int] = transaction.id

    def __enter__(self) -> CheckedTransaction:
        self._transaction.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._transaction.__exit__(*error)

    def get(self, key: bytes, default: Any = None) -> Any:
        self._require(key)
        return self._transaction.get(key, default)

    def put(self, key: bytes, value: bytes) -> bool:
        self._require(key)
        done: bool = self._transaction.put(key, value)
        return done

    def delete(self, key: bytes) -> bool:
        self._require_to_delete(key, self._merged)
        done: bool = self._transaction.delete(key)
        return done

    def cursor(self) -> CheckedCursor:
        return CheckedCursor(self._transaction.cursor(), self._require)


class CheckedCursor:
    """A cursor that requires where it is before it moves, and where it looks before it jumps. Each time that it comes
    to a leaf that was not checked, it requires twice as many leaves ahead, so a long range is checked in few pieces."""

    __slots__ = ("_ahead", "_cursor", "_high", "_low", "_require", "item", "key", "value")

    def __init__(self, cursor: Any, require: Require) -> None:
        self._cursor = cursor
        self._require = require
        self._low = self._high = START
        self._ahead = 1
        self.key: Callable[[], bytes] = cursor.key
        self.value: Callable[[], bytes] = cursor.value
        self.item: Callable[[], tuple[bytes, bytes]] = cursor.item

    def set_range(self, key: bytes) -> bool:
        self._allow(key)
        found: bool = self._cursor.set_range(key)
        return found

    def set_key(self, key: bytes) -> bool:
        self._allow(key)
        found: bool = self._cursor.set_key(key)
        return found

    def first(self) -> bool:
        self._allow(START)
        found: bool = self._cursor.first()
        return found

    def last(self) -> bool:
        self._low, self._high = self._require(END)
        found: bool = self._cursor.last()
        return found

    def next(self) -> bool:
        at = self._cursor.key()
        if not at:
            return self.first()
        if not self._low <= at < self._high:
            self._low, self._high = self._require(at, self._ahead)
            self._ahead = min(2 * self._ahead, MOST_AHEAD)
        found: bool = self._cursor.next()
        return found

    def prev(self) -> bool:
        at = self._cursor.key()
        if not at:
            return self.last()
        self._allow(at)
        found: bool = self._cursor.prev()
        return found

    def iternext(self, keys: bool = True, values: bool = True) -> Iterator[Any]:
        """From where the cursor is, or from the first entry."""
        found = bool(self._cursor.key()) or self.first()
        while found:
            yield self._current(keys, values)
            found = self.next()

    def iterprev(self, keys: bool = True, values: bool = True) -> Iterator[Any]:
        """From where the cursor is, or from the last entry."""
        found = bool(self._cursor.key()) or self.last()
        while found:
            yield self._current(keys, values)
            found = self.prev()

    def __iter__(self) -> Iterator[Any]:
        return self.iternext()

    def _current(self, keys: bool, values: bool) -> Any:
        if not values:
            return self._cursor.key()
        return self._cursor.item() if keys else self._cursor.value()

    def _allow(self, key: bytes) -> None:
        if not self._low <= key < self._high:
            self._low, self._high = self._require(key)
