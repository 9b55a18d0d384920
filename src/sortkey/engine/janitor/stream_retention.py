"""What a stream forgets: records after a day, then shards that are closed and empty, then streams that are disabled.

Readers do not wait for this: by the clock, what is past its day is invisible at once. `trim_streams` only gives the
room back. Records go from a shard's oldest end, and the shard keeps a *mark*, the last sequence number removed, so
that a reader who comes too late is told so instead of silently missing what was there.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, takewhile
from typing import Final

import msgspec

from sortkey.engine.core import Core
from sortkey.engine.streams.stream_reader import TRIM_MARK, Shard, is_past
from sortkey.engine.tables.catalog import release_space
from sortkey.engine.tables.catalog_entries import StreamEntry, TableEntry
from sortkey.engine.write_batch import WriteBatch
from sortkey.storage import Transaction

CHUNK: Final = 1000


def trim_streams(core: Core) -> Iterator[None]:
    """Remove what is past its day from every stream, chunk by chunk."""
    with core.read() as snapshot:
        names = [table.name for table in core.catalog.tables(snapshot).values() if table.entry.streams]
    for name in names:
        while _any_old_records(core, name):
            core.store.write(_Trim(core, name))
            yield
        if _any_outdated(core, name):
            core.store.write(_Forget(core, name))
            yield


def _shards(entry: TableEntry, transaction: Transaction, now: float) -> list[Shard]:
    return [Shard(transaction, stream, shard, now) for stream in entry.streams for shard in stream.shards]


def _old_records(shard: Shard, limit: int) -> list[int]:
    old = takewhile(lambda entry: shard.is_old(entry[1]), shard.stored_from(0))
    return [sequence for sequence, _ in islice(old, limit)]


def _any_old_records(core: Core, name: str) -> bool:
    with core.read() as snapshot:
        table = core.catalog.find(snapshot, name)
        if table is None:
            return False
        return any(_old_records(shard, limit=1) for shard in _shards(table.entry, snapshot, core.clock.now()))


class _Trim:
    """One transaction's worth of old records of a table's streams."""

    def __init__(self, core: Core, table: str) -> None:
        self._catalog = core.catalog
        self._table = table

    def __call__(self, batch: WriteBatch) -> None:
        table = self._catalog.find(batch.transaction, self._table)
        if table is None:
            return
        left = CHUNK
        for shard in _shards(table.entry, batch.transaction, batch.now):
            old = _old_records(shard, left)
            if old:
                for sequence in old:
                    batch.delete(shard.key(sequence))
                batch.put(shard.key(TRIM_MARK), old[-1].to_bytes(8, "big"))
            left -= len(old)


def _any_outdated(core: Core, name: str) -> bool:
    now = core.clock.now()
    with core.read() as snapshot:
        table = core.catalog.find(snapshot, name)
        return table is not None and _remaining(table.entry, now) != table.entry.streams


class _Forget:
    """Takes streams and shards that have ended more than a day ago out of a table's catalog entry."""

    def __init__(self, core: Core, table: str) -> None:
        self._catalog = core.catalog
        self._table = table

    def __call__(self, batch: WriteBatch) -> None:
        table = self._catalog.find(batch.transaction, self._table)
        if table is None:
            return
        streams = _remaining(table.entry, batch.now)
        if streams == table.entry.streams:
            return
        kept = {stream.space for stream in streams}
        for stream in table.entry.streams:
            if stream.space not in kept:
                release_space(batch, stream.space)
        for shard in _shards(table.entry, batch.transaction, batch.now):
            if is_past(shard.entry.closed, batch.now):
                batch.delete(shard.key(TRIM_MARK))
        self._catalog.save(batch, msgspec.structs.replace(table.entry, streams=streams))


def _remaining(entry: TableEntry, now: float) -> list[StreamEntry]:
    return [_with_kept_shards(stream, now) for stream in entry.streams if not is_past(stream.disabled, now)]


def _with_kept_shards(stream: StreamEntry, now: float) -> StreamEntry:
    shards = [shard for shard in stream.shards if not is_past(shard.closed, now)]
    return stream if len(shards) == len(stream.shards) else msgspec.structs.replace(stream, shards=shards)
