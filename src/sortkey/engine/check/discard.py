"""Discards damaged records, so that a folder without a backup can be used again.

A damaged row cannot be replaced by a request, because its index rows, expiry entry and stream record follow from the
item that it held. Here they are found from the other side: an index row ends in the owner that follows from the row key
of its item, an expiry entry in the row key itself. All is done in one transaction, for which other writers wait:

    damaged                     what is done
    table row                   it is removed, with its index rows and its expiry entry; no stream has a record of that
    index row, expiry entry     it is made again from its item
    count                       it is counted again
    vector row                  it is made again from its item
    change of a vector index    it is removed: it was for searches that were under way
    stream record, trim mark    it is removed
    token of a transaction      it is removed: the transaction would be executed again
    released space              it is released again

A damaged catalog or page cannot be discarded. Then only a backup helps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec

from sortkey.engine.rows import records, stored_item
from sortkey.engine.rows.records import damaged_records
from sortkey.engine.rows.records import owner_of as owner_of_record
from sortkey.engine.rows.write_batch import COUNT, WriteBatch
from sortkey.engine.streams.stream_writer import HEADER
from sortkey.engine.tables import expiry_index, index_rows, vector_rows
from sortkey.engine.tables.core import Catalog, Core
from sortkey.engine.tables.table import Table, ends_of, owner_of
from sortkey.storage import after_prefix, ascending, damaged_folder, open_existing, payload_of, seal


class Discarded(msgspec.Struct, frozen=True):
    """A damaged record, as it was found."""

    owner: str
    """What it belonged to, such as `table orders`."""
    record: str
    """Its key in the store, as hexadecimal digits."""
    lost: bool
    """Whether it is gone: an item, a change in a stream, a token. False if it was made again, or was not needed."""
    found: str
    """Its text. Some of it is wrong."""


Report = Callable[[Discarded], None]


def discard_damaged(path: Path, report: Report) -> None:
    """Discard the damaged records of a folder; each is reported before it is gone.

    Raises StorageError if the folder is damaged in a way that cannot be mended.
    """
    # Opening it to write would create it.
    open_existing(path).close()
    core = Core(path)
    try:
        if core.store.check is not None and not core.store.check.run():
            raise damaged_folder(path, "its pages are, so no record can be discarded")
        core.store.write(partial(_discard, path, report))
    finally:
        core.store.close()


def _discard(path: Path, report: Report, batch: WriteBatch) -> None:
    damaged = [key for key, _ in damaged_records(batch.transaction)]
    for key in damaged:
        if key.startswith(records.CATALOG):
            raise damaged_folder(path, f"record {key.hex()} of the catalog is, and cannot be discarded")
    tables = list(Catalog().tables(batch.transaction).values())
    for key in damaged:
        report(_described(batch, key, tables))
    for key in damaged:
        if key.startswith(records.GARBAGE):
            batch.put_record(key, b"")
        else:
            batch.delete(key)
    for table in tables if damaged else ():
        _remove_derived(batch, table, {key for key in damaged if key.startswith(table.space)})
        _derive(batch, table)


def _described(batch: WriteBatch, key: bytes, tables: list[Table]) -> Discarded:
    space = key[: records.SPACE_BYTES]
    rows = {table.space for table in tables}
    indexes = {index.space for table in tables for index in table.all_indexes}
    streams = {records.space_bytes(stream.space) for table in tables for stream in table.entry.all_streams}
    # Not `stored_item.text`: a damaged value may be too short for a row.
    header = stored_item.HEADER_BYTES if space in rows | indexes else HEADER.size if space in streams else 0
    payload = payload_of(batch.transaction.get(key, b""))[header:]
    return Discarded(
        owner=owner_of_record(batch.transaction, key),
        record=key.hex(),
        lost=space in rows | streams | {records.TOKENS},
        found=payload.decode("utf-8", "backslashreplace"),
    )


def _remove_derived(batch: WriteBatch, table: Table, gone: set[bytes]) -> None:
    """Remove the index rows and expiry entries of rows that are gone."""
    if not gone:
        return
    owners = {owner_of(key) for key in gone}
    derived = [
        key for index in table.all_indexes for key in _keys(batch, index.space) if key[-records.OWNER_BYTES :] in owners
    ]
    if table.ttl_attribute is not None:
        entries = _keys(batch, expiry_index.prefix(table.entry))
        derived += [key for key in entries if expiry_index.row_key_of(table, key) in gone]
    for key in derived:
        batch.delete(key)


def _keys(batch: WriteBatch, prefix: bytes) -> Iterator[bytes]:
    return (key for key, _ in ascending(batch.transaction, prefix, after_prefix(prefix)))


def _derive(batch: WriteBatch, table: Table) -> None:
    """Make the index rows and expiry entries that are missing, and count again."""
    items, size = 0, 0
    missing: list[tuple[bytes, bytes]] = []
    for key, row in ascending(batch.transaction, table.space, after_prefix(table.space)):
        items += 1
        size += stored_item.size(row)
        missing += [(each, value) for each, value in _derived(table, key, row) if batch.transaction.get(each) != value]
    for key, value in missing:
        batch.put(key, value)
    _put_count(batch, table.space, items, size)
    for index in table.all_indexes:
        rows = ascending(batch.transaction, index.space, after_prefix(index.space))
        sizes = [stored_item.size(row) for _, row in rows]
        _put_count(batch, index.space, len(sizes), sum(sizes))


def _derived(table: Table, key: bytes, row: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The index rows and the expiry entry of an item."""
    if not table.all_indexes and table.ttl_attribute is None:
        return
    item = stored_item.decode(row)
    for vector_index in table.vector_indexes.values():
        made = vector_rows.row_of(vector_index, item, key) if vector_index.reaches(key) else None
        if made is not None:
            yield made
    for index in table.indexes.values():
        expected = index_rows.row_of(index, item, ends_of(key), row) if index.reaches(key) else None
        if expected is not None:
            yield expected.key, expected.value
    entry = expiry_index.entry_of(table, key, item) if expiry_index.reaches(table, key) else None
    if entry is not None:
        yield entry, seal(entry, b"")


def _put_count(batch: WriteBatch, space: bytes, items: int, size: int) -> None:
    if items or batch.transaction.get(records.COUNTS + space) is not None:
        batch.put_record(records.COUNTS + space, COUNT.pack(items, size))
