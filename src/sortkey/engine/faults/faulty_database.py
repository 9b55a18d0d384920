"""A database with faults.

It differs from others by its class, chosen when it is opened, so the others look for no faults. All requests have to
come through `execute` and `plan` here, so callers take no short cuts around them if a database has `faults`.
"""

from __future__ import annotations

from pathlib import Path

from sortkey.clock import Clock
from sortkey.engine.core import Answer, Settings, Work
from sortkey.engine.database import Database
from sortkey.engine.faults.disk_faults import DiskFaults
from sortkey.engine.faults.faults import Faults
from sortkey.engine.faults.index_lag import ITEM_WRITES, IndexLag
from sortkey.engine.faults.record_faults import RecordFaults
from sortkey.engine.faults.rejections import rejections
from sortkey.engine.faults.shard_splits import ShardSplits
from sortkey.engine.faults.skewed_clock import store_clock
from sortkey.engine.faults.unprocessed import Amend, Unprocessed
from sortkey.engine.requests.shapes import Shape
from sortkey.engine.write_batch import WriteBatch


class FaultyDatabase(Database):
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


def open_database(path: Path | None, faults: Faults | None) -> Database:
    """Open a folder (created if missing), or memory if `path` is None, with these faults or without any."""
    if not isinstance(faults, Faults | None):
        raise TypeError(f"faults must be sk.testing.Faults, not {faults!r}")
    return (Database(path) if faults is None else FaultyDatabase(faults, path)).start()
