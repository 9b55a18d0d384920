"""Trims change logs: what no moment in a table's recovery window needs any more is removed.

A log is ordered by row, so a search for old changes reads it all. It runs once an hour; what it finds late was not
reachable before either.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from sortkey.engine.operations.recovery import earliest
from sortkey.engine.rows.job_records import sources_in_use
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.change_log import MOMENT_BYTES, SECOND
from sortkey.engine.tables.core import Core
from sortkey.engine.tables.table import Table
from sortkey.storage import Transaction, after_prefix

INTERVAL_SECONDS: Final = 3600.0
READ: Final = 10_000
"""Changes looked at in a step, which reads only their keys."""
CHUNK: Final = 500
"""Deletes of a commit, as in `removal`."""


class LogTrim:
    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, core: Core) -> Iterator[None]:
        now = core.clock.now()
        # The clock may have been ahead when the time was set.
        if self._next - INTERVAL_SECONDS <= now < self._next:
            return
        self._next = now + INTERVAL_SECONDS
        with core.read() as snapshot:
            tables = [table for table in core.catalog.tables(snapshot).values() if table.log is not None]
            limits = {table.log: _limit(snapshot, table, int(now * SECOND)) for table in tables}
        for log, limit in limits.items():
            if log is not None and limit:
                yield from _trim(core, log, limit)


def _limit(snapshot: Transaction, table: Table, now: int) -> int:
    """The first moment that somebody may read; only changes after it are needed."""
    moments = [source.moment for source in sources_in_use(snapshot) if source.table.log == table.entry.log]
    if table.entry.recovery is not None:
        moments.append(earliest(table.entry.recovery, now))
    return min(moments, default=0)


def _trim(core: Core, log: bytes, limit: int) -> Iterator[None]:
    start: bytes | None = log
    while start is not None:
        with core.read() as snapshot:
            old, start = _old_changes(snapshot, start, after_prefix(log), limit)
        # A log that was released meanwhile is emptied anyway.
        for at in range(0, len(old), CHUNK):
            core.store.write(partial(_delete, old[at : at + CHUNK]))
            yield
        yield


def _old_changes(snapshot: Transaction, start: bytes, end: bytes, limit: int) -> tuple[list[bytes], bytes | None]:
    """The changes among the next ones that are not after the limit, and where to go on."""
    last = limit.to_bytes(MOMENT_BYTES, "big")
    old: list[bytes] = []
    cursor = snapshot.cursor()
    found = cursor.set_range(start)
    for _ in range(READ):
        if not found or cursor.key() >= end:
            return old, None
        if cursor.key()[-MOMENT_BYTES:] <= last:
            old.append(cursor.key())
        found = cursor.next()
    return old, cursor.key() if found else None


def _delete(keys: list[bytes], batch: WriteBatch) -> None:
    for key in keys:
        batch.delete(key)
