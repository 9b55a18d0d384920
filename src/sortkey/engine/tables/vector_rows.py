"""Vector rows: what a change of an item does to each of the table's vector indexes.

A vector row has the vector as 32-bit floating point numbers, then the other projected attributes as DynamoDB JSON. It
commits with the item itself. Its size counts four bytes a dimension, which is also what AWS charges for.

A search does not read all rows: it keeps the vectors in memory. So every change is also appended to the index's *change
log*, by which the memory of each process catches up. The log's last number says how current a snapshot is. The log is
short: whoever is further behind reads the rows again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import orjson

from sortkey.engine.rows import records, stored_item
from sortkey.engine.rows.stored_item import BINARY, HEADER, HEADER_BYTES
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.table import Table, owner_of
from sortkey.engine.tables.vector_index import VectorIndex
from sortkey.limits import KIB
from sortkey.storage import SEAL_BYTES, Transaction, after_prefix, ascending, descending, seal
from sortkey.values.attribute import Item, holds_binary
from sortkey.values.size import item_size, text_size

KEPT_CHANGES: Final = 65_536
"""Of each index. To catch up by more takes longer than to read the rows again."""
NUMBER_BYTES: Final = 8
FEWEST_BYTES: Final = KIB
"""What the smallest change, and the smallest search, is charged."""


class VectorRow(NamedTuple):
    key: bytes
    value: bytes


def row_of(index: VectorIndex, item: Item, row_key: bytes) -> VectorRow | None:
    """The row that the index should hold for the item under this key; None if the item is not in the index."""
    vector = index.vector_of(item)
    if vector is None:
        return None
    kept = index.kept
    projected = {
        name: value for name, value in item.items() if name != index.attribute and (kept is None or name in kept)
    }
    key = index.space + index.partition_of(item) + owner_of(row_key)
    size = text_size(index.attribute) + len(vector) + item_size(projected)
    header = HEADER.pack(size | BINARY if holds_binary(projected) else size)
    return VectorRow(key, seal(key, header + vector + orjson.dumps(projected)))


def vector_in(index: VectorIndex, row: bytes) -> bytes:
    return row[HEADER_BYTES : HEADER_BYTES + index.vector_bytes]


def text_in(index: VectorIndex, row: bytes) -> bytes:
    """The projected attributes but the vector, as DynamoDB JSON."""
    return row[HEADER_BYTES + index.vector_bytes : -SEAL_BYTES]


VectorRows = Sequence[tuple[VectorIndex, VectorRow | None]]
"""Of one item."""


def rows_of(table: Table, row_key: bytes, item: Item | None) -> VectorRows:
    """What each vector index that covers the item should hold for it."""
    indexes = [index for index in table.vector_indexes.values() if index.reaches(row_key)]
    return [(index, None if item is None else row_of(index, item, row_key)) for index in indexes]


def apply(batch: WriteBatch, table: Table, row_key: bytes, old: Item | None, new: Item | None) -> dict[str, float]:
    """Change the item's rows in every vector index; returns the bytes written to each."""
    return replace_all(batch, row_key, old, rows_of(table, row_key, new))


def replace_all(batch: WriteBatch, row_key: bytes, old: Item | None, rows: VectorRows) -> dict[str, float]:
    """The same, with the new item's rows."""
    written: dict[str, float] = {}
    for index, after in rows:
        before = None if old is None else row_of(index, old, row_key)
        size = _replace(batch, index, before, after)
        if size:
            written[index.name] = float(max(size, FEWEST_BYTES))
    return written


def _replace(batch: WriteBatch, index: VectorIndex, before: VectorRow | None, after: VectorRow | None) -> int:
    """Returns the larger size of both; 0 if nothing changes."""
    if before == after:
        return 0
    moved = before is not None and (after is None or before.key != after.key)
    size = 0
    if before is not None:
        size = stored_item.size(before.value)
        batch.count(index.space, -1, -size)
        if moved:
            batch.delete(before.key)
            append(batch, index, before.key)
    if after is not None:
        insert(batch, index, after)
        size = max(size, stored_item.size(after.value))
    return size


def insert(batch: WriteBatch, index: VectorIndex, row: VectorRow) -> None:
    """Put a row that is not counted."""
    batch.put(row.key, row.value)
    batch.count(index.space, 1, stored_item.size(row.value))
    append(batch, index, row.key)


def append(batch: WriteBatch, index: VectorIndex, row_key: bytes) -> None:
    """Note that the row under this key has changed."""
    number = batch.last_numbers.get(index.log)
    number = (last_change(batch.transaction, index.log) if number is None else number) + 1
    batch.last_numbers[index.log] = number
    batch.put_record(index.log + number.to_bytes(NUMBER_BYTES, "big"), row_key[records.SPACE_BYTES :])
    if number > KEPT_CHANGES:
        batch.delete(index.log + (number - KEPT_CHANGES).to_bytes(NUMBER_BYTES, "big"))


def last_change(transaction: Transaction, log: bytes) -> int:
    """The number of the last change; 0 if there was none."""
    for key, _ in descending(transaction, log, after_prefix(log)):
        return int.from_bytes(key[records.SPACE_BYTES :], "big")
    return 0


def changes_after(transaction: Transaction, log: bytes, number: int) -> Iterator[tuple[int, bytes]]:
    """The numbers of later changes, and what follows the space in the keys of the changed rows."""
    start = log + (number + 1).to_bytes(NUMBER_BYTES, "big")
    for key, value in ascending(transaction, start, after_prefix(log)):
        yield int.from_bytes(key[records.SPACE_BYTES :], "big"), records.opened(transaction, key, value)
