"""A write transaction that calls a function before it commits, for stores whose disk shall be slow or fail."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from sortkey.storage.environment import Transaction


class InterceptedTransaction:
    """What the function raises is the error of the commit. It is not called if nothing was written: LMDB does not sync
    then either."""

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
