"""Sends the writes of one region to another: what waits in the queue of a replica, row by row.

A row is sent as it is when it is sent, with its version (`tables/row_versions`), and removed from the queue when the
other region has it on disk. So a crash in between sends it again, and the version says that it is there already.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, takewhile
from typing import Final, NamedTuple

import msgspec

from sortkey.engine.operations import write
from sortkey.engine.rows import records, stored_item
from sortkey.engine.rows.catalog_entries import TableEntry
from sortkey.engine.rows.records import SPACE_BYTES, space_bytes
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables import row_versions
from sortkey.engine.tables.core import Core
from sortkey.engine.tables.replicas import ACTIVE, CREATING, replica_in, with_replica
from sortkey.engine.tables.row_versions import UNKNOWN, Version
from sortkey.engine.tables.table import Table
from sortkey.storage import Transaction, after_prefix, ascending, is_sound, payload_of

ROWS: Final = 250
"""Of one transaction."""
MICROSECONDS: Final = 1_000_000


class Sent(NamedTuple):
    row: bytes
    """The row key without its space."""
    version: Version
    payload: bytes | None
    """The row without its seal; None if it is deleted."""


def is_of_group(table: Table | None, entry: TableEntry) -> bool:
    """Whether a table is a replica of the same global table."""
    there = None if table is None else table.entry.replication
    return there is not None and entry.replication is not None and there.group == entry.replication.group


def queue_all_rows(source: Core, name: str, region: str) -> bool:
    """Put the next rows into the queue of a new replica; whether there were any left to put."""
    with source.read() as snapshot:
        table = source.catalog.find(snapshot, name)
        replica = None if table is None else replica_in(table.entry, region)
        if replica is None or replica.queued_to is None:
            return False

    def work(batch: WriteBatch) -> None:
        table = source.catalog.find(batch.transaction, name)
        replica = None if table is None else replica_in(table.entry, region)
        if table is None or table.replication is None or replica is None or replica.queued_to is None:
            return
        queue = space_bytes(replica.queue)
        if not replica.queued_to:
            # Another region may still send an older write of them.
            for _, row in list(row_versions.deleted_rows(batch.transaction, table.replication)):
                row_versions.enqueue_older(batch, queue, row)
        start = table.space + (bytes.fromhex(replica.queued_to) + b"\0" if replica.queued_to else b"")
        rows = [key[SPACE_BYTES:] for key, _ in _rows(batch.transaction, start, table.space)]
        for row in rows:
            row_versions.enqueue_older(batch, queue, row)
        queued_to = rows[-1].hex() if len(rows) == ROWS else None
        filled = msgspec.structs.replace(replica, queued_to=queued_to, filled_at=batch.last_sequence())
        source.catalog.save(batch, with_replica(table.entry, filled))

    source.store.write(work)
    return True


def _rows(transaction: Transaction, start: bytes, space: bytes) -> Iterator[tuple[bytes, bytes]]:
    return islice(ascending(transaction, start, after_prefix(space)), ROWS)


def send(source: Core, target: Core, name: str, lag: float) -> bool:
    """Send the oldest changes of a table that have waited for so many seconds; whether there were any."""
    region = target.settings.region
    due = int((source.clock.now() - lag) * MICROSECONDS)
    with source.read() as snapshot:
        table = source.catalog.find(snapshot, name)
        replica = None if table is None else replica_in(table.entry, region)
        if table is None or table.replication is None or replica is None:
            return False
        queue = space_bytes(replica.queue)
        waiting = row_versions.queued(snapshot, queue, ROWS)
        # A new replica gets what was there at once.
        queued = [*takewhile(lambda each: lag == 0 or each.since <= due or not each.time, waiting)]
        rows = dict.fromkeys(each.row for each in queued)
        sent = [found for row in rows if (found := _found(snapshot, table, row)) is not None]
    if not queued:
        return False
    if not target.store.write(lambda batch: _receive(target, batch, table.entry, sent)):
        return False
    source.store.write(lambda batch: row_versions.remove_queued(batch, queue, queued))
    return True


def _found(snapshot: Transaction, table: Table, row: bytes) -> Sent | None:
    """A row as it is; None if it was deleted so long ago that every region knows."""
    assert table.replication is not None
    version = row_versions.version_of(snapshot, table.replication, row)
    stored = snapshot.get(table.space + row)
    if stored is None:
        return None if version is None else Sent(row, version, None)
    if not is_sound(stored):
        raise records.damaged(snapshot, table.space + row)
    return Sent(row, version or UNKNOWN, payload_of(stored))


def _receive(target: Core, batch: WriteBatch, entry: TableEntry, sent: list[Sent]) -> bool:
    """Apply what is newer than the rows here; False if there is no replica."""
    table = target.catalog.find(batch.transaction, entry.name)
    if table is None or not is_of_group(table, entry):
        return False
    for each in sent:
        _apply(batch, table, each)
    return True


def _apply(batch: WriteBatch, table: Table, sent: Sent) -> None:
    assert table.replication is not None
    row_key = table.space + sent.row
    present = batch.get(row_key)
    mine = row_versions.version_of(batch.transaction, table.replication, sent.row)
    if mine is None and present is not None:
        mine = UNKNOWN
    if mine is not None and mine >= sent.version:
        return
    batch.saw_write_time(sent.version.time)
    if present is None and sent.payload is None:
        row_versions.note(batch, table.replication, row_key, sent.version)
        return
    new = None if sent.payload is None else stored_item.normalised(sent.payload)
    batch.arriving = sent.version.time, sent.version.region
    try:
        write.replace(batch, write.Found(table, row_key, present), new)
    finally:
        batch.arriving = None


def complete(source: Core, name: str, region: str) -> bool:
    """Call a replica active when it has all rows that were there before it; whether it has become so now."""

    def is_complete(transaction: Transaction) -> bool:
        table = source.catalog.find(transaction, name)
        replica = None if table is None else replica_in(table.entry, region)
        if replica is None or replica.status != CREATING or replica.queued_to is not None or not replica.table_id:
            return False
        first = row_versions.queued(transaction, space_bytes(replica.queue), 1)
        return not first or first[0].number > replica.filled_at

    def work(batch: WriteBatch) -> bool:
        table = source.catalog.find(batch.transaction, name)
        if table is None or not is_complete(batch.transaction):
            return False
        replica = replica_in(table.entry, region)
        assert replica is not None
        active = msgspec.structs.replace(replica, status=ACTIVE)
        source.catalog.save(batch, with_replica(table.entry, active))
        return True

    with source.read() as snapshot:
        if not is_complete(snapshot):
            return False
    return source.store.write(work)


def known_everywhere(core: Core, name: str) -> int:
    """A time up to which every write of this region is in all others, and after which all its later writes are."""
    with core.read() as snapshot:
        table = core.catalog.find(snapshot, name)
        if table is None or table.entry.replication is None:
            return 0
        known = records.read_number(snapshot, records.LAST_WRITE_TIME)
        for replica in table.entry.replication.replicas:
            # What was there before a replica may wait behind newer writes.
            if replica.status != ACTIVE:
                return 0
            first = row_versions.queued(snapshot, space_bytes(replica.queue), 1)
            known = min([known, *(each.time - 1 for each in first)])
    return known


def forget_deleted(core: Core, name: str, until: int) -> bool:
    """Forget rows that were deleted up to this time; whether there were any."""
    with core.read() as snapshot:
        table = core.catalog.find(snapshot, name)
        if table is None or table.replication is None:
            return False
        first = next(row_versions.deleted_rows(snapshot, table.replication), None)
        if first is None or first[0] > until:
            return False

    def work(batch: WriteBatch) -> bool:
        table = core.catalog.find(batch.transaction, name)
        if table is None or table.replication is None:
            return False
        return row_versions.forget_deleted(batch, table.replication, until, ROWS) > 0

    return core.store.write(work)


def waiting(core: Core, name: str, region: str) -> int:
    """How many changes of a table a replica has not got yet."""
    with core.read() as snapshot:
        table = core.catalog.find(snapshot, name)
        replica = None if table is None else replica_in(table.entry, region)
        if replica is None:
            return 0
        queue = space_bytes(replica.queue)
        return sum(1 for _ in ascending(snapshot, queue, after_prefix(queue)))
