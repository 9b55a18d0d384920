"""Fills tables that are being restored, from a backup's blocks or from the state of a table at a moment.

As everywhere, a chunk is prepared in a snapshot and written in a transaction that also stores the position. Nobody else
writes to the table: it is CREATING until the last chunk.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from sortkey.engine.janitor.backups import rows_of_block
from sortkey.engine.janitor.table_chunks import in_turn
from sortkey.engine.rows import stored_item
from sortkey.engine.rows.catalog_entries import RestoreEntry
from sortkey.engine.rows.job_records import BACKUPS, RESTORES
from sortkey.engine.rows.records import SPACE_BYTES
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables import change_log, index_rows, vector_rows
from sortkey.engine.tables.core import Core
from sortkey.engine.tables.table import Table, ends_of
from sortkey.errors import InternalServerError
from sortkey.limits import KIB
from sortkey.storage import Transaction, seal

CHUNK_ROWS: Final = 500
CHUNK_BYTES: Final = 256 * KIB


class _Chunk(NamedTuple):
    restore: RestoreEntry
    rows: list[tuple[bytes, bytes]]
    """Rows of the table and of its indexes, to be put as they are."""
    counts: dict[bytes, tuple[int, int]]
    position: str | None


def fill_restored_tables(core: Core) -> Iterator[None]:
    """Fill every table that is being restored, chunk by chunk."""
    while (chunk := _next_chunk(core)) is not None:
        if not core.store.write(partial(_write_chunk, core, chunk)):
            return
        yield


def _next_chunk(core: Core) -> _Chunk | None:
    with core.read() as snapshot:
        for restore in RESTORES.all(snapshot):
            table = core.catalog.find(snapshot, restore.name)
            if table is not None and table.entry.id == restore.table_id:
                found, position = _read(snapshot, restore)
                return _prepared(table, restore, found, position)
    return None


def _read(snapshot: Transaction, restore: RestoreEntry) -> tuple[list[tuple[bytes, bytes]], str | None]:
    """The next rows, and the position after them."""
    if restore.source is not None:
        return _read_table(change_log.rows_at(snapshot, restore.source, restore.position))
    backup = BACKUPS.find(snapshot, restore.backup_id or "")
    if backup is None:
        raise InternalServerError(f"The stored data is damaged: backup {restore.backup_id} is missing.")
    number = int(restore.position)
    rows = list(rows_of_block(snapshot, backup, number))
    return rows, str(number + 1) if number + 1 < backup.blocks else None


def _read_table(source: Iterator[tuple[bytes, bytes]]) -> tuple[list[tuple[bytes, bytes]], str | None]:
    rows: list[tuple[bytes, bytes]] = []
    size = 0
    for key, payload in in_turn(islice(source, CHUNK_ROWS)):
        rows.append((key, payload))
        size += len(payload)
        if size >= CHUNK_BYTES:
            break
    else:
        if len(rows) < CHUNK_ROWS:
            return rows, None
    return rows, rows[-1][0].hex()


def _prepared(table: Table, restore: RestoreEntry, found: list[tuple[bytes, bytes]], position: str | None) -> _Chunk:
    rows: list[tuple[bytes, bytes]] = []
    counts = {keyed.space: (0, 0) for keyed in (table, *table.all_indexes)}

    def add(key: bytes, row: bytes) -> None:
        rows.append((key, row))
        items, size = counts[key[:SPACE_BYTES]]
        counts[key[:SPACE_BYTES]] = (items + 1, size + stored_item.size(row))

    for end, payload in in_turn(found):
        key = table.space + end
        row = seal(key, payload)
        add(key, row)
        if table.all_indexes:
            item, ends = stored_item.decode(row), ends_of(key)
            for index in table.indexes.values():
                derived = index_rows.row_of(index, item, ends, row)
                if derived is not None:
                    add(derived.key, derived.value)
            for vector_index in table.vector_indexes.values():
                # Nobody has searched the index, so its change log is empty.
                vector = vector_rows.row_of(vector_index, item, key)
                if vector is not None:
                    add(vector.key, vector.value)
    return _Chunk(restore, rows, counts, position)


def _write_chunk(core: Core, chunk: _Chunk, batch: WriteBatch) -> bool:
    """False if the table was deleted, or another process has written the chunk."""
    restore = chunk.restore
    if RESTORES.find(batch.transaction, restore.table_id) != restore:
        return False
    for key, row in chunk.rows:
        batch.put(key, row)
    for space, (items, size) in chunk.counts.items():
        batch.count(space, items, size)
    if chunk.position is not None:
        RESTORES.save(batch, restore.table_id, msgspec.structs.replace(restore, position=chunk.position))
        return True
    RESTORES.remove(batch, restore.table_id)
    entry = core.catalog.require_named(batch.transaction, restore.name).entry
    core.catalog.save(batch, msgspec.structs.replace(entry, is_filled=True))
    if restore.source is not None:
        change_log.release(core, batch, restore.source)
    return True
