"""Filling in after the fact: a new index, or a new TTL, on a table that has items already.

A table is walked in chunks, one transaction each, and how far the walk has come is stored in the same transaction, so
it goes on where it was after a crash or in another process. Until it is through, the index holds exactly the rows of
table rows *at or before* that position: writes to those keep it up (`index.apply`, `expiry.follow`), writes to later
rows leave it alone, because the walk will see them as they are when it comes. So nothing is missed and nothing is
counted twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from sortkey.engine.core import Core
from sortkey.engine.rows import expiry_index, stored_item
from sortkey.engine.rows.index_rows import Row, row_of
from sortkey.engine.tables.table import Index, Table, owner_of
from sortkey.engine.write_batch import WriteBatch
from sortkey.limits import MIB
from sortkey.storage import Transaction, after_prefix, ascending

CHUNK_ROWS: Final = 1000
CHUNK_BYTES: Final = 4 * MIB
"""Large items make a chunk end sooner, lest writers wait for it."""


class _Chunk:
    """The next table rows of a walk, and the position behind them: None at the table's end."""

    __slots__ = ("position", "rows")

    def __init__(self, transaction: Transaction, table: Table, position: str) -> None:
        self.rows: list[tuple[bytes, bytes]] = []
        self.position: str | None = None
        start = bytes.fromhex(position) + b"\0" if position else table.space
        size = 0
        for key, row in ascending(transaction, start, after_prefix(table.space)):
            self.rows.append((key, row))
            size += len(row)
            if len(self.rows) == CHUNK_ROWS or size >= CHUNK_BYTES:
                self.position = key.hex()
                return


def fill_indexes(core: Core) -> Iterator[None]:
    """Bring every index that is being created nearer to its end, chunk by chunk."""
    while (found := _filling(core)) is not None:
        core.store.write(_IndexChunk(core, *found))
        yield


def _filling(core: Core) -> tuple[str, str] | None:
    with core.read() as snapshot:
        for table in core.catalog.tables(snapshot).values():
            for index in table.indexes.values():
                if index.entry.backfilled_to is not None:
                    return table.name, index.name
    return None


class _IndexChunk:
    """One transaction's worth of a new index."""

    def __init__(self, core: Core, table: str, index: str) -> None:
        self._catalog = core.catalog
        self._table = table
        self._index = index

    def __call__(self, batch: WriteBatch) -> None:
        table = self._catalog.find(batch.transaction, self._table)
        index = None if table is None else table.indexes.get(self._index)
        if table is None or index is None or index.entry.backfilled_to is None:
            return  # Dropped meanwhile, or another process was faster.
        chunk = _Chunk(batch.transaction, table, index.entry.backfilled_to)
        for row in _index_rows(index, chunk):
            batch.put(row.key, row.value)
            batch.count(index.space, 1, stored_item.size(row.value))
        filled = msgspec.structs.replace(index.entry, backfilled_to=chunk.position)
        indexes = [filled if each.name == filled.name else each for each in table.entry.indexes]
        self._catalog.save(batch, msgspec.structs.replace(table.entry, indexes=indexes))


def _index_rows(index: Index, chunk: _Chunk) -> list[Row]:
    rows = (row_of(index, stored_item.decode(row), owner_of(key), row) for key, row in chunk.rows)
    return [row for row in rows if row is not None]


def fill_expiries(core: Core) -> Iterator[None]:
    """Index the expiries of items that were there before their table's TTL, chunk by chunk."""
    while (name := _indexing_expiries(core)) is not None:
        core.store.write(_ExpiryChunk(core, name))
        yield


def _indexing_expiries(core: Core) -> str | None:
    with core.read() as snapshot:
        tables = core.catalog.tables(snapshot).values()
        return next((table.name for table in tables if table.entry.ttl_indexed_to is not None), None)


class _ExpiryChunk:
    """One transaction's worth of a new TTL."""

    def __init__(self, core: Core, table: str) -> None:
        self._catalog = core.catalog
        self._table = table

    def __call__(self, batch: WriteBatch) -> None:
        table = self._catalog.find(batch.transaction, self._table)
        if table is None or table.entry.ttl_indexed_to is None:
            return  # Dropped or switched off meanwhile, or another process was faster.
        chunk = _Chunk(batch.transaction, table, table.entry.ttl_indexed_to)
        entries = [expiry_index.entry_of(table, key, stored_item.decode(row)) for key, row in chunk.rows]
        for entry in entries:
            if entry is not None:
                batch.put(entry, b"")
        self._catalog.save(batch, msgspec.structs.replace(table.entry, ttl_indexed_to=chunk.position))
