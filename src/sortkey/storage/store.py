"""The store: durable ordered bytes, snapshots to read, a queue to write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from sortkey.storage import environment
from sortkey.storage.environment import Transaction
from sortkey.storage.snapshot import begin_snapshot, begin_with
from sortkey.storage.write_queue import BatchType, Done, Work, WriteQueue

Result = TypeVar("Result")


class Store(Generic[BatchType]):
    """One data folder, or nothing but memory when `path` is None.

    Any number of processes may open one folder: LMDB lets one of them write at a time and none wait to read.
    A process must open it once (`Database` sees to that) and not carry it over a fork.
    """

    def __init__(self, path: Path | None, batch: Callable[[Transaction], BatchType]) -> None:
        self.path = path
        self._environment = environment.open_memory() if path is None else environment.open_folder(path)
        self.queue: WriteQueue[BatchType] = WriteQueue(self._environment, batch)

    def read(self) -> Transaction:
        """Begin a snapshot; use it as a context manager. Readers never wait for writers."""
        return begin_snapshot(self._environment.begin)

    def read_with(self, key: bytes) -> tuple[Transaction, bytes | None]:
        """Begin a snapshot and read one key of it, in one step; the caller ends it."""
        return begin_with(self._environment.begin, key)

    def write(self, work: Callable[[BatchType], Result]) -> Result:
        """Run the work in the next transaction and return when it is durable."""
        return self.queue.run(work)

    def submit(self, work: Work[BatchType], done: Done) -> None:
        """As `write`, but `done(result, error)` is called on another thread instead of waiting here."""
        self.queue.submit(work, done)

    def bytes_used(self) -> int:
        """What the environment's pages occupy."""
        page = int(self._environment.stat()["psize"])
        return page * (int(self._environment.info()["last_pgno"]) + 1)

    def close(self) -> None:
        self.queue.close()
        self._environment.close()
