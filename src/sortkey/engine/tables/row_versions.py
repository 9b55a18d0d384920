"""When each row of a table with replicas was last written, and where: by that, every region keeps the same write.

    versions   partition(16) sort(…)                    → microsecond(8) deleted(1) region
    deleted    microsecond(8) partition(16) sort(…)     → nothing
    queue      number(8)                                → microsecond(8) now(8) partition(16) sort(…)

Each is a space of the table, and a replica in another region has a queue. A write notes its version and puts the row's
key into every queue, in its own transaction; the replicator (`regions/`) later sends what the row *is* by then. So many
writes of a row may arrive as one.

Of two writes the later one wins, in every region, whether it puts or deletes; of two at the same microsecond, that of
the region whose name is greater. A store's time is after every write that it has made or received, also if its clock
is behind: who has seen a write, overwrites it.

A deleted row keeps its version, as long as an older write of it may still arrive. The list of deleted rows has them in
the order of time, so that they are found when that is over. A row that is older than its table's replicas has no
version, and loses against any write.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import islice, takewhile
from typing import Final, NamedTuple

from sortkey.engine.rows import records
from sortkey.engine.rows.records import SPACE_BYTES
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.table import Replication
from sortkey.storage import Transaction, after_prefix, ascending

_VERSION: Final = struct.Struct(">QB")
_TIME: Final = struct.Struct(">Q")
_NUMBER: Final = struct.Struct(">Q")
_TIMES: Final = struct.Struct(">QQ")
FROM_BEFORE: Final = 0
"""In a queue, in the place of a time: the row was there before the replica."""


class Version(NamedTuple):
    """Versions compare as the writes do."""

    time: int
    """In microseconds since the epoch."""
    region: bytes
    deleted: bool = False


UNKNOWN: Final = Version(0, b"")
"""Of a row that is older than its table's replicas."""


class Queued(NamedTuple):
    """A row that another region has to get."""

    number: int
    time: int
    """Of the write; FROM_BEFORE if there was none since the replica was added."""
    since: int
    """When it was put into the queue by the store's clock, in microseconds."""
    row: bytes
    """The row key without its space."""


def follow(batch: WriteBatch, replication: Replication, row_key: bytes, deleted: bool) -> None:
    """Note the write of a row; one of this region is put into the queues."""
    arriving = batch.arriving
    if arriving is not None:
        note(batch, replication, row_key, Version(*arriving, deleted))
        return
    row = row_key[SPACE_BYTES:]
    version = Version(batch.next_write_time(), replication.region, deleted)
    note(batch, replication, row_key, version)
    _enqueue(batch, replication.queues, version.time, row)


def note(batch: WriteBatch, replication: Replication, row_key: bytes, version: Version) -> None:
    row = row_key[SPACE_BYTES:]
    key = replication.versions + row
    batch.put_record(key, _VERSION.pack(version.time, version.deleted) + version.region)
    if version.deleted:
        batch.put_record(replication.deleted + _TIME.pack(version.time) + row, b"")


def _enqueue(batch: WriteBatch, queues: tuple[bytes, ...], time: int, row: bytes) -> None:
    value = _TIMES.pack(time, int(batch.now * 1_000_000)) + row
    for queue in queues:
        batch.put_record(queue + _NUMBER.pack(batch.next_sequence()), value)
        batch.streams_written.add(queue)


def enqueue_older(batch: WriteBatch, queue: bytes, row: bytes) -> None:
    """Send a row to a new replica."""
    _enqueue(batch, (queue,), FROM_BEFORE, row)


def version_of(transaction: Transaction, replication: Replication, row: bytes) -> Version | None:
    """The version of a row, given its key without the space; None if it has none."""
    found = records.read(transaction, replication.versions + row)
    return None if found is None else _version(found)


def versions(transaction: Transaction, replication: Replication) -> Iterator[tuple[bytes, Version]]:
    """The row keys without their space, in order, and their versions."""
    for key, value in ascending(transaction, replication.versions, after_prefix(replication.versions)):
        yield key[SPACE_BYTES:], _version(records.opened(transaction, key, value))


def _version(value: bytes) -> Version:
    time, deleted = _VERSION.unpack_from(value)
    return Version(time, value[_VERSION.size :], bool(deleted))


def queued(transaction: Transaction, queue: bytes, limit: int) -> list[Queued]:
    """The oldest entries of a queue."""
    found = islice(ascending(transaction, queue, after_prefix(queue)), limit)
    return [_queued(key, records.opened(transaction, key, value)) for key, value in found]


def _queued(key: bytes, value: bytes) -> Queued:
    (number,) = _NUMBER.unpack_from(key, SPACE_BYTES)
    time, since = _TIMES.unpack_from(value)
    return Queued(number, time, since, value[_TIMES.size :])


def remove_queued(batch: WriteBatch, queue: bytes, sent: list[Queued]) -> None:
    for each in sent:
        batch.delete(queue + _NUMBER.pack(each.number))


def deleted_rows(transaction: Transaction, replication: Replication) -> Iterator[tuple[int, bytes]]:
    """The time and the row key without its space of what was deleted, the oldest first. Rows that were written again
    later are among them."""
    start = len(replication.deleted)
    for key, _ in ascending(transaction, replication.deleted, after_prefix(replication.deleted)):
        (time,) = _TIME.unpack_from(key, start)
        yield time, key[start + _TIME.size :]


def forget_deleted(batch: WriteBatch, replication: Replication, until: int, limit: int) -> int:
    """Forget rows that were deleted up to this time; returns how many entries of the list are gone."""
    old = takewhile(lambda each: each[0] <= until, deleted_rows(batch.transaction, replication))
    found = list(islice(old, limit))
    for time, row in found:
        version = version_of(batch.transaction, replication, row)
        if version is not None and version.deleted and version.time == time:
            batch.delete(replication.versions + row)
        batch.delete(replication.deleted + _TIME.pack(time) + row)
    return len(found)
