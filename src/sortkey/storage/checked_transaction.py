"""Transactions of a file that is still being checked (`gradual_check`): they check what they are about to read.

They have the methods of LMDB's transactions and cursors that Sortkey uses, so the code above sees no difference but
the time. Once the whole file is known to be sound, the store gives out LMDB's own ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sortkey.storage.leaf_search import END, START
from sortkey.storage.sound_keys import Bounds, SoundKeys

Require = Callable[[bytes], Bounds]
"""`GradualCheck.require`, with errors of the store's user."""
RequireToDelete = Callable[[bytes, SoundKeys], None]
"""`GradualCheck.require_to_delete`, likewise."""


class CheckedTransaction:
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
    """A cursor that requires where it is before it moves, and where it looks before it jumps."""

    __slots__ = ("_cursor", "_high", "_low", "_require", "item", "key", "value")

    def __init__(self, cursor: Any, require: Require) -> None:
        self._cursor = cursor
        self._require = require
        self._low = self._high = START
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
        self._allow(at)
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
