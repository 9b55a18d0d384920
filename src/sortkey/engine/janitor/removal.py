"""Removes what nobody needs any more, in transactions that are too short to delay writers.

Expired items are found by the expiry index. A removal takes the same path as every write, so indexes, counts and
streams follow. Its stream record has the service's identity, by which a consumer distinguishes it from a user's write.
Each item is checked again inside the transaction, so an item that was prolonged meanwhile stays, and two processes that
sweep at once remove an item once.

Stream records are removed after a day, then closed shards without records, then disabled streams. Readers do not depend
on it: a record is invisible as soon as it is a day old. Records are removed from a shard's oldest end. The shard keeps
a *mark*, the last sequence number removed, so that a late reader gets an error instead of silently missing records.

Released spaces, ownerless expiry entries and old idempotency tokens are invisible already.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice, takewhile
from typing import Any, Final

import msgspec

from sortkey.engine.janitor.table_chunks import has_work, write_chunk
from sortkey.engine.operations import write
from sortkey.engine.rows import records
from sortkey.engine.rows.catalog_entries import StreamEntry, TableEntry
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.streams.stream_reader import TRIM_MARK, Shard, is_expired
from sortkey.engine.tables import expiry_index
from sortkey.engine.tables.core import Core, release_space
from sortkey.engine.tables.fence import is_fenced
from sortkey.engine.tables.table import Table
from sortkey.limits import TRANSACTION_TOKEN_SECONDS
from sortkey.storage import Transaction, after_prefix, ascending

CHUNK_ITEMS: Final = 250
SERVICE: Final[dict[str, Any]] = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}

CHUNK: Final = 500
"""Deletes of a commit. They take half a millisecond, and fifty while a large file is still being checked."""
TOKEN_INTERVAL_SECONDS: Final = 60.0
"""Tokens are not ordered by time, so a search for old ones reads them all. It does not run on every sweep."""


def expire_items(core: Core) -> Iterator[None]:
    """Remove all items that have expired by now, chunk by chunk."""
    with core.read() as snapshot:
        names = [table.name for table in core.catalog.tables(snapshot).values() if table.ttl_attribute is not None]
    for name in names:
        while has_work(core, name, _has_expired_items):
            write_chunk(core, name, _remove_items)
            yield


def _has_expired_items(snapshot: Transaction, table: Table, now: float) -> bool:
    if table.ttl_attribute is None or is_fenced(table, now):
        return False
    return bool(expiry_index.due(snapshot, table, now, limit=1))


def _remove_items(_core: Core, batch: WriteBatch, table: Table) -> None:
    if table.ttl_attribute is None or is_fenced(table, batch.now):
        return
    for entry, row_key in expiry_index.due(batch.transaction, table, batch.now, CHUNK_ITEMS):
        found = write.Found(table, row_key, batch.get(row_key))
        if expiry_index.entry_of(table, row_key, found.item) == entry:
            write.replace(batch, found, None, SERVICE)
        else:
            # No write leaves such an entry. If there is one, delete it, or the sweep would find it for ever.
            batch.delete(entry)


def trim_streams(core: Core) -> Iterator[None]:
    """Remove expired records, shards and streams of every table, chunk by chunk."""
    with core.read() as snapshot:
        names = [table.name for table in core.catalog.tables(snapshot).values() if table.entry.all_streams]
    for name in names:
        while has_work(core, name, _has_old_records):
            write_chunk(core, name, _trim_records)
            yield
        if has_work(core, name, _has_expired_shards):
            write_chunk(core, name, _forget_shards)
            yield


def _shards(table: Table, transaction: Transaction, now: float) -> list[Shard]:
    return [Shard(transaction, stream, shard, now) for stream in table.entry.all_streams for shard in stream.shards]


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


def empty_spaces(core: Core) -> Iterator[None]:
    """Delete the rows of dropped tables, indexes and streams, chunk by chunk."""
    while _has_garbage(core):
        core.store.write(_empty_chunk)
        yield


def _has_garbage(core: Core) -> bool:
    with core.read() as snapshot:
        return _first_garbage(snapshot) is not None


def _first_garbage(transaction: Transaction) -> bytes | None:
    for key, value in ascending(transaction, records.GARBAGE, after_prefix(records.GARBAGE)):
        # A damaged key could name a space that is in use.
        records.opened(transaction, key, value)
        return key[records.SPACE_BYTES :]
    return None


def _empty_chunk(batch: WriteBatch) -> None:
    space = _first_garbage(batch.transaction)
    if space is None:
        return
    keys = [key for key, _ in islice(ascending(batch.transaction, space, after_prefix(space)), CHUNK)]
    for key in keys:
        batch.delete(key)
    if len(keys) < CHUNK:
        batch.delete(records.COUNTS + space)
        batch.delete(records.GARBAGE + space)


def drop_ownerless_expiries(core: Core) -> Iterator[None]:
    """Delete the expiry entries of dropped tables, and of tables without TTL, chunk by chunk."""
    while _has_ownerless(core):
        core.store.write(lambda batch: _drop_ownerless(core, batch))
        yield


def _has_ownerless(core: Core) -> bool:
    with core.read() as snapshot:
        return next(expiry_index.ownerless(snapshot, _owned(core, snapshot)), None) is not None


def _drop_ownerless(core: Core, batch: WriteBatch) -> None:
    for key in list(islice(expiry_index.ownerless(batch.transaction, _owned(core, batch.transaction)), CHUNK)):
        batch.delete(key)


def _owned(core: Core, transaction: Transaction) -> set[bytes]:
    tables = core.catalog.tables(transaction).values()
    return {records.space_bytes(table.entry.ttl_number) for table in tables if table.ttl_attribute is not None}


class TokenSweep:
    """Deletes the idempotency tokens of transactions after ten minutes; runs once a minute."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, core: Core) -> Iterator[None]:
        now = core.clock.now()
        # The clock may have been ahead when the time was set.
        if self._next - TOKEN_INTERVAL_SECONDS <= now < self._next:
            return
        self._next = now + TOKEN_INTERVAL_SECONDS
        with core.read() as snapshot:
            old = _old_tokens(snapshot, now)
        for at in range(0, len(old), CHUNK):
            core.store.write(partial(_delete_tokens, old[at : at + CHUNK]))
            yield


def _delete_tokens(keys: list[bytes], batch: WriteBatch) -> None:
    for key in keys:
        value = batch.get_record(key)
        # The token may have been used again since the snapshot.
        if value is not None and _is_old(value, batch.now):
            batch.delete(key)


def _old_tokens(transaction: Transaction, now: float) -> list[bytes]:
    tokens = ascending(transaction, records.TOKENS, after_prefix(records.TOKENS))
    return [key for key, value in tokens if _is_old(records.opened(transaction, key, value), now)]


def _is_old(value: bytes, now: float) -> bool:
    return int.from_bytes(value[:8], "big") < now - TRANSACTION_TOKEN_SECONDS
