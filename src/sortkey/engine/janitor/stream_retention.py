"""Stream retention: removes records after a day, then closed shards without records, then disabled streams.

Readers do not depend on it: a record is invisible as soon as it is a day old. `trim_streams` only frees the space.
Records are removed from a shard's oldest end. The shard keeps a *mark*, the last sequence number removed, so that a
late reader gets an error instead of silently missing records.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, takewhile
from typing import Final

import msgspec

from sortkey.engine.core import Core
from sortkey.engine.janitor.table_chunks import has_work, write_chunk
from sortkey.engine.streams.stream_reader import TRIM_MARK, Shard, is_expired
from sortkey.engine.tables.catalog import release_space
from sortkey.engine.tables.catalog_entries import StreamEntry, TableEntry
from sortkey.engine.tables.table import Table
from sortkey.engine.write_batch import WriteBatch
from sortkey.storage import Transaction

CHUNK: Final = 500


def trim_streams(core: Core) -> Iterator[None]:
    """Remove expired records, shards and streams of every table, chunk by chunk."""
    with core.read() as snapshot:
        names = [table.name for table in core.catalog.tables(snapshot).values() if table.entry.streams]
    for name in names:
        while has_work(core, name, _has_old_records):
            write_chunk(core, name, _trim_records)
            yield
        if has_work(core, name, _has_expired_shards):
            write_chunk(core, name, _forget_shards)
            yield


def _shards(table: Table, transaction: Transaction, now: float) -> list[Shard]:
    return [Shard(transaction, stream, shard, now) for stream in table.entry.streams for shard in stream.shards]


def _old_records(shard: Shard, limit: int) -> list[int]:
    old = takewhile(lambda stored: shard.is_old(stored[1]), shard.all_records_from(0))
    return [sequence for sequence, _ in islice(old, limit)]


def _has_old_records(snapshot: Transaction, table: Table, now: float) -> bool:
    return any(_old_records(shard, limit=1) for shard in _shards(table, snapshot, now))


def _trim_records(_core: Core, batch: WriteBatch, table: Table) -> None:
    left = CHUNK
    for shard in _shards(table, batch.transaction, batch.now):
        old = _old_records(shard, left)
        if old:
            for sequence in old:
                batch.delete(shard.key(sequence))
            batch.put_record(shard.key(TRIM_MARK), old[-1].to_bytes(8, "big"))
        left -= len(old)


def _has_expired_shards(_snapshot: Transaction, table: Table, now: float) -> bool:
    return _remaining(table.entry, now) != table.entry.streams


def _forget_shards(core: Core, batch: WriteBatch, table: Table) -> None:
    """Remove streams and shards that ended more than a day ago from a table's catalog entry."""
    streams = _remaining(table.entry, batch.now)
    if streams == table.entry.streams:
        return
    kept = {stream.space for stream in streams}
    for stream in table.entry.streams:
        if stream.space not in kept:
            release_space(batch, stream.space)
    for shard in _shards(table, batch.transaction, batch.now):
        if is_expired(shard.entry.closed, batch.now):
            batch.delete(shard.key(TRIM_MARK))
    core.catalog.save(batch, msgspec.structs.replace(table.entry, streams=streams))


def _remaining(entry: TableEntry, now: float) -> list[StreamEntry]:
    return [_with_kept_shards(stream, now) for stream in entry.streams if not is_expired(stream.disabled, now)]


def _with_kept_shards(stream: StreamEntry, now: float) -> StreamEntry:
    shards = [shard for shard in stream.shards if not is_expired(shard.closed, now)]
    return stream if len(shards) == len(stream.shards) else msgspec.structs.replace(stream, shards=shards)
