"""Backfill: a new index, or a new TTL setting, on a table that has items already.

A table is walked in chunks, one transaction each. The position of the walk is stored in the same transaction, so it
continues there after a crash or in another process. Until it ends, the index has exactly the rows for table rows *at or
before* that position: writes to those maintain it (`index_rows.apply`, `vector_rows.apply`, `expiry_index.follow`), and
writes to later rows do not touch it, because the walk will read them. So no row is missed and none is counted twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

import msgspec

from sortkey.engine.janitor.table_chunks import write_chunk
from sortkey.engine.rows import records, stored_item
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables import expiry_index, vector_rows
from sortkey.engine.tables.core import Core
from sortkey.engine.tables.index_rows import Row, row_of
from sortkey.engine.tables.table import Index, Table, ends_of
from sortkey.engine.tables.vector_index import VectorIndex
from sortkey.limits import MIB
from sortkey.storage import Transaction, after_prefix, ascending, is_sound

CHUNK_ROWS: Final = 1000
CHUNK_BYTES: Final = 4 * MIB
"""A chunk of large items ends sooner, so that writers do not wait for it."""


class _Chunk:
    """The next table rows of a walk, and the position after them: None at the table's end."""

    __slots__ = ("position", "rows")

    def __init__(self, transaction: Transaction, table: Table, position: str) -> None:
        self.rows: list[tuple[bytes, bytes]] = []
        self.position: str | None = None
        start = bytes.fromhex(position) + b"\0" if position else table.space
        size = 0
        for key, row in ascending(transaction, start, after_prefix(table.space)):
            if not is_sound(row):
                raise records.damaged(transaction, key)
            self.rows.append((key, row))
            size += len(row)
            if len(self.rows) == CHUNK_ROWS or size >= CHUNK_BYTES:
                self.position = key.hex()
                return


def fill_indexes(core: Core) -> Iterator[None]:
    """Fill every index that is being created, chunk by chunk."""
    while (found := _unfilled_index(core)) is not None:
        table_name, index = found
        fill = _fill_vector_index if isinstance(index, VectorIndex) else _fill_index
        write_chunk(core, table_name, partial(fill, index.name))
        yield


def _unfilled_index(core: Core) -> tuple[str, Index | VectorIndex] | None:
    with core.read() as snapshot:
        for table in core.catalog.tables(snapshot).values():
            for index in table.all_indexes:
                if index.entry.backfilled_to is not None:
                    return table.name, index
    return None


def _fill_index(index_name: str, core: Core, batch: WriteBatch, table: Table) -> None:
    index = table.indexes.get(index_name)
    if index is None or index.entry.backfilled_to is None:
        return  # The index was dropped, or another process has filled it.
    chunk = _Chunk(batch.transaction, table, index.entry.backfilled_to)
    for row in _index_rows(index, chunk):
        batch.put(row.key, row.value)
        batch.count(index.space, 1, stored_item.size(row.value))
    filled = msgspec.structs.replace(index.entry, backfilled_to=chunk.position)
    indexes = [filled if each.name == filled.name else each for each in table.entry.indexes]
    core.catalog.save(batch, msgspec.structs.replace(table.entry, indexes=indexes))


def _fill_vector_index(index_name: str, core: Core, batch: WriteBatch, table: Table) -> None:
    index = table.vector_indexes.get(index_name)
    if index is None or index.entry.backfilled_to is None:
        return
    chunk = _Chunk(batch.transaction, table, index.entry.backfilled_to)
    for key, row in chunk.rows:
        made = vector_rows.row_of(index, stored_item.decode(row), key)
        if made is not None:
            vector_rows.insert(batch, index, made)
    filled = msgspec.structs.replace(index.entry, backfilled_to=chunk.position)
    indexes = [filled if each.name == filled.name else each for each in table.entry.vector_indexes]
    core.catalog.save(batch, msgspec.structs.replace(table.entry, vector_indexes=indexes))


def _index_rows(index: Index, chunk: _Chunk) -> list[Row]:
    rows = (row_of(index, stored_item.decode(row), ends_of(key), row) for key, row in chunk.rows)
    return [row for row in rows if row is not None]


def fill_expiries(core: Core) -> Iterator[None]:
    """Index the expiries of items that are older than their table's TTL setting, chunk by chunk."""
    while (table_name := _unindexed_table(core)) is not None:
        write_chunk(core, table_name, _index_expiries)
        yield


def _unindexed_table(core: Core) -> str | None:
    with core.read() as snapshot:
        tables = core.catalog.tables(snapshot).values()
        return next((table.name for table in tables if table.entry.ttl_indexed_to is not None), None)


def _index_expiries(core: Core, batch: WriteBatch, table: Table) -> None:
    if table.entry.ttl_indexed_to is None:
        return  # TTL was switched off, or another process has indexed the rest.
    chunk = _Chunk(batch.transaction, table, table.entry.ttl_indexed_to)
    entries = [expiry_index.entry_of(table, key, stored_item.decode(row)) for key, row in chunk.rows]
    for entry in entries:
        if entry is not None:
            batch.put_record(entry, b"")
    core.catalog.save(batch, msgspec.structs.replace(table.entry, ttl_indexed_to=chunk.position))
