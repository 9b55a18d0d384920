"""Index rows: what a change of an item does to each of the table's indexes.

An index is sparse: it holds an item only if the item has the index's key attributes in their declared types. An index
row is the projected item, and commits with the item itself. A row is written only if the projection has changed, which
is also what AWS charges for: a changed key costs the removal of the old row and the writing of the new one.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from sortkey.engine.rows import stored_item
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.table import Index, Table, ends_of
from sortkey.values.attribute import Item, Normalised, holds_binary
from sortkey.values.size import item_size, write_units


class Row:
    """One index row: its row key, what it holds, and the size of that."""

    __slots__ = ("key", "size", "value")

    def __init__(self, key: bytes, value: bytes, size: int) -> None:
        self.key = key
        self.value = value
        self.size = size


FlatRows = tuple[bytes, ...]
"""An item's index rows: a row key and a value for each index of the table, in order; both empty for one without a row.

Many items are prepared at once. The garbage collector does not look into such a tuple, as it does into objects."""
NO_ROW: Final = (b"", b"")


def row_of(index: Index, item: Item, ends: tuple[bytes, bytes], table_row: bytes) -> Row | None:
    """The row that the index should hold for this item, whose table row has these `ends_of`; None if the item is not in
    the index."""
    key = _key_of(index, item, ends)
    return None if key is None else _row(index, key, item, table_row)


def _key_of(index: Index, item: Item, ends: tuple[bytes, bytes]) -> bytes | None:
    prefix = index.fast_row_prefix(item)
    if prefix is None:
        if not index.holds(item):
            return None
        prefix = index.row_prefix(item)
    return prefix + ends[index.end]


def _row(index: Index, key: bytes, item: Item, table_row: bytes) -> Row:
    if index.kept is None:
        return Row(key, stored_item.under(key, table_row), stored_item.size(table_row))
    projected = _project(index.kept, item)
    size = item_size(projected)
    binary = stored_item.has_binary(table_row) and holds_binary(projected)
    return Row(key, stored_item.encode(key, projected, size, binary), size)


def fast_prefixes(table: Table, item: Item) -> list[bytes] | None:
    """What the row keys of the item's index rows begin with, if the item is in all indexes by keys that need no other
    check."""
    prefixes = []
    for index in table.indexes.values():
        prefix = index.fast_row_prefix(item)
        if prefix is None:
            return None
        prefixes.append(prefix)
    return prefixes


def rows_of(table: Table, key: bytes, item: Item, table_row: bytes, prefixes: list[bytes] | None) -> FlatRows:
    """The rows that the table's indexes should hold for this item, whose `fast_prefixes` are given."""
    ends = ends_of(key)
    flat: list[bytes] = []
    for place, index in enumerate(table.indexes.values()):
        if not index.reaches(key):
            flat += NO_ROW
        elif prefixes is not None and index.kept is None:
            row_key = prefixes[place] + ends[index.end]
            flat += row_key, stored_item.under(row_key, table_row)
        else:
            row = row_of(index, item, ends, table_row)
            flat += NO_ROW if row is None else (row.key, row.value)
    return tuple(flat)


def insert_all(batch: WriteBatch, table: Table, rows: FlatRows) -> float:
    """Put the rows of an item that the table does not have; returns their write units."""
    units = 0.0
    for place, index in enumerate(table.indexes.values()):
        key = rows[place + place]
        if key:
            value = rows[place + place + 1]
            units += _insert(batch, index, key, value, stored_item.size(value))
    return units


def local_size(table: Table, new: Normalised) -> int:
    """The size of the item's rows in local indexes, which counts towards the item size limit."""
    size = 0
    for index in table.indexes.values():
        if index.entry.local and index.holds(new.item):
            size += new.size if index.kept is None else item_size(_project(index.kept, new.item))
    return size


def _project(kept: Container[str], item: Item) -> Item:
    return {name: value for name, value in item.items() if name in kept}


def apply(
    batch: WriteBatch,
    table: Table,
    key: bytes,
    old: Item | None,
    old_row: bytes | None,
    new: Item | None,
    new_row: bytes | None,
) -> dict[str, float]:
    """Change the item's rows in every index; returns the write units of each index."""
    ends = ends_of(key)
    units: dict[str, float] = {}
    for index in table.indexes.values():
        if not index.reaches(key):
            continue
        after = None if new is None or new_row is None else row_of(index, new, ends, new_row)
        if old is not None and old_row is not None:
            index_units = _replace(batch, index, ends, old, old_row, after)
        else:
            index_units = 0.0 if after is None else _insert(batch, index, after.key, after.value, after.size)
        if index_units:
            units[index.name] = index_units
    return units


def replace_all(batch: WriteBatch, table: Table, key: bytes, old: Item, old_row: bytes, rows: FlatRows) -> float:
    """Change an item's rows to these, which are known already; returns their write units."""
    ends = ends_of(key)
    units = 0.0
    for place, index in enumerate(table.indexes.values()):
        if index.reaches(key):
            row_key, value = rows[place + place : place + place + 2]
            after = Row(row_key, value, stored_item.size(value)) if row_key else None
            units += _replace(batch, index, ends, old, old_row, after)
    return units


def _replace(
    batch: WriteBatch, index: Index, ends: tuple[bytes, bytes], old: Item, old_row: bytes, after: Row | None
) -> float:
    before = _key_of(index, old, ends)
    if before is None:
        return 0.0 if after is None else _insert(batch, index, after.key, after.value, after.size)
    if after is not None and after.key == before:
        return _rewrite(batch, index, _row(index, before, old, old_row), after)
    size = stored_item.size(old_row) if index.kept is None else item_size(_project(index.kept, old))
    units = _remove(batch, index, before, size)
    return units if after is None else units + _insert(batch, index, after.key, after.value, after.size)


def _rewrite(batch: WriteBatch, index: Index, before: Row, after: Row) -> float:
    if before.value == after.value:
        return 0.0
    batch.put(after.key, after.value)
    batch.count(index.space, 0, after.size - before.size)
    if before.size == after.size and stored_item.decode(before.value) == stored_item.decode(after.value):
        # Only the order of the attributes has changed: the row is rewritten, and costs nothing.
        return 0.0
    return _charge(batch, after.key, max(before.size, after.size))


def _insert(batch: WriteBatch, index: Index, key: bytes, value: bytes, size: int) -> float:
    """Put a row that the index does not have; returns its write units."""
    batch.put(key, value)
    batch.count(index.space, 1, size)
    return _charge(batch, key, size)


def _remove(batch: WriteBatch, index: Index, key: bytes, size: int) -> float:
    batch.delete(key)
    batch.count(index.space, -1, -size)
    return _charge(batch, key, size)


def _charge(batch: WriteBatch, key: bytes, size: int) -> float:
    units = write_units(size)
    batch.charge(key, units)
    return units
