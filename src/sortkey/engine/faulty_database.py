"""A database with faults: its requests, its streams, its indexes, its disk and its clock.

It differs from others by its class, chosen when it is opened, so the others look for no faults. All requests have to
come through `execute` and `plan` here, so callers take no short cuts around them.
"""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Final

import lmdb

from sortkey.clock import Clock, SystemClock
from sortkey.engine.database import Database
from sortkey.engine.faults.faults import Faults
from sortkey.engine.faults.index_lag import ITEM_WRITES, IndexLag
from sortkey.engine.faults.request_faults import Amend, Unprocessed, rejections
from sortkey.engine.faults.stream_faults import RecordFaults, ShardSplits
from sortkey.engine.requests.shapes import Shape
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Answer, Settings, Work

FAILURE: Final = f"mdb_txn_commit: {os.strerror(errno.EIO)}"


class FaultyDatabase(Database):
    sees_every_request = True

    def __init__(
        self, faults: Faults, path: Path | None, clock: Clock | None = None, settings: Settings | None = None
    ) -> None:
        super().__init__(path, store_clock(faults, clock), settings)
        self.faults = faults
        self._rejections = rejections(faults)
        self._unprocessed = Unprocessed(faults) if faults.unprocessed else None
        if faults.slow_sync or faults.failing_sync:
            self.store.intercept_commits(DiskFaults(faults).before_commit)
        self._lag = IndexLag(faults) if faults.index_lag else None
        self._splits = ShardSplits(faults) if faults.split_shards_every else None
        self._records = RecordFaults(faults) if faults.duplicate_records or faults.late_records else None

    def execute(self, operation: str, request: Shape) -> Answer:
        amend = self._begin(operation, request)
        past = None if self._lag is None else self._lag.read(self, operation, request)
        answer = super().execute(operation, request) if past is None else past
        return answer if amend is None else amend(answer)

    def plan(self, operation: str, request: Shape) -> Work:
        amend = self._begin(operation, request)
        work = super().plan(operation, request)
        if amend is None:
            return work

        def amended(batch: WriteBatch) -> Answer:
            return amend(work(batch))

        return amended

    def close(self) -> None:
        if self._lag is not None:
            self._lag.close()
        super().close()

    def _begin(self, operation: str, request: Shape) -> Amend | None:
        """Reject the request, or change it; returns how to complete the answer then."""
        for reject in self._rejections:
            reject(self, operation, request)
        if operation == "GetRecords":
            return None if self._records is None else self._records.change(self, request)
        amend = None if self._unprocessed is None else self._unprocessed.take_from(request)
        if self._lag is not None and operation in ITEM_WRITES:
            self._lag.before_write(self)
        if self._splits is not None:
            self._splits.count(self, request)
        return amend


def open_database(path: Path | None, faults: Faults | None, settings: Settings | None = None) -> Database:
    """Open a folder (created if missing), or memory if `path` is None, with these faults or without any."""
    if not isinstance(faults, Faults | None):
        raise TypeError(f"faults must be sk.testing.Faults, not {faults!r}")
    if faults is None:
        return Database(path, settings=settings).start()
    return FaultyDatabase(faults, path, settings=settings).start()


class DiskFaults:
    """A disk that is slow to sync, or fails."""

    def __init__(self, faults: Faults) -> None:
        self._slow = faults.slow_sync
        self._failing = faults.failing_sync
        self._random = faults.random("failing_sync")

    def before_commit(self) -> None:
        """Raises what LMDB raises if pages cannot be synced. Nothing of the commit is kept then."""
        if self._slow:
            time.sleep(self._slow)
        if self._failing and self._random.random() < self._failing:
            error = lmdb.Error(FAILURE)
            # LMDB's binding sets it, except in errors that are made by hand.
            vars(error)["code"] = errno.EIO
            raise error


class SkewedClock:
    """A clock that is ahead of its clients, or behind them."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds

    def now(self) -> float:
        return self._clock.now() + self._seconds


def store_clock(faults: Faults | None, clock: Clock | None = None) -> Clock:
    """The clock of a store with these faults; the system's, unless one is given."""
    true = clock or SystemClock()
    return true if faults is None or not faults.clock_skew else SkewedClock(true, faults.clock_skew)
