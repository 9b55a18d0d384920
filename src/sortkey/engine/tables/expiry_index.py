"""The expiry index: the items of tables with TTL, in the order of their expiry.

An entry is a key without payload, `number(4) second(8) row(…)` in its space; it ends in the item's row key without the
space. Only numbers count, without their fraction; an item whose TTL attribute is missing, not a number, negative or
larger than eight bytes has no entry. The entries of a table agree with its items at every commit (`follow`). While the
janitor indexes items that are older than the TTL setting, entries exist only for rows up to `ttl_indexed_to`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from itertools import islice
from typing import Final

import msgspec

from sortkey.engine.rows import records
from sortkey.engine.rows.catalog_entries import TableEntry
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import new_space
from sortkey.engine.tables.table import Table
from sortkey.limits import TTL_OLDEST_SECONDS
from sortkey.storage import Transaction, after_prefix, ascending
from sortkey.values.attribute import Item

_SECOND: Final = struct.Struct(">Q")
_LAST_SECOND: Final = (1 << 64) - 1
_ENTRY_PREFIX_BYTES: Final = 2 * records.SPACE_BYTES + _SECOND.size


def second_of(item: Item, attribute: str) -> int | None:
    """The item's expiry, in seconds since the epoch."""
    number = item.get(attribute, {}).get("N")
    if number is None or number.startswith("-"):
        return None
    second = int(number.partition(".")[0])
    return second if second <= _LAST_SECOND else None


def prefix(entry: TableEntry) -> bytes:
    """The bytes that the table's expiry entries begin with."""
    return records.EXPIRY + records.space_bytes(entry.ttl_number)


def entry_of(table: Table, row_key: bytes, item: Item) -> bytes | None:
    """The expiry entry that an item should have."""
    if table.ttl_attribute is None:
        return None
    second = second_of(item, table.ttl_attribute)
    return None if second is None else prefix(table.entry) + _SECOND.pack(second) + row_key[records.SPACE_BYTES :]


def reaches(table: Table, row_key: bytes) -> bool:
    """False for a row that the janitor has not indexed yet: it has no entry."""
    indexed_to = table.entry.ttl_indexed_to
    return indexed_to is None or row_key <= bytes.fromhex(indexed_to)


def follow(batch: WriteBatch, table: Table, row_key: bytes, old: Item | None, new: Item | None) -> None:
    """Change the item's entry along with the item."""
    if not reaches(table, row_key):
        return
    before = None if old is None else entry_of(table, row_key, old)
    after = None if new is None else entry_of(table, row_key, new)
    if before == after:
        return
    if before is not None:
        batch.delete(before)
    if after is not None:
        batch.put_record(after, b"")


def enable(batch: WriteBatch, entry: TableEntry, attribute: str) -> TableEntry:
    """A table's catalog entry with TTL on this attribute. The janitor indexes the items that exist already."""
    return msgspec.structs.replace(entry, ttl_attribute=attribute, ttl_number=new_space(batch), ttl_indexed_to="")


def disable(entry: TableEntry) -> TableEntry:
    """A table's catalog entry without TTL. The janitor removes the expiry entries, which now have no owner."""
    return msgspec.structs.replace(entry, ttl_attribute=None, ttl_number=0, ttl_indexed_to=None)


def due(transaction: Transaction, table: Table, now: float, limit: int) -> list[tuple[bytes, bytes]]:
    """Entries whose second has passed, oldest first, each with its item's row key.

    As in AWS, an item whose expiry is more than five years past does not expire.
    """
    start = prefix(table.entry)
    low = start + _SECOND.pack(max(0, math.floor(now - TTL_OLDEST_SECONDS) + 1))
    high = start + _SECOND.pack(max(0, math.ceil(now)))
    found = []
    for key, value in islice(ascending(transaction, low, high), limit):
        records.opened(transaction, key, value)
        found.append((key, row_key_of(table, key)))
    return found


def row_key_of(table: Table, entry: bytes) -> bytes:
    """The row key of an entry's item."""
    return table.space + entry[_ENTRY_PREFIX_BYTES:]


def ownerless(transaction: Transaction, owned: set[bytes]) -> Iterator[bytes]:
    """Entries whose number belongs to no table: TTL was switched off, or the table was deleted."""
    end = after_prefix(records.EXPIRY)
    cursor = transaction.cursor()
    position = records.EXPIRY
    while cursor.set_range(position) and cursor.key() < end:
        number = cursor.key()[records.SPACE_BYTES : 2 * records.SPACE_BYTES]
        if number in owned:
            # Skips all entries of this number in one step.
            position = after_prefix(records.EXPIRY + number)
            continue
        records.opened(transaction, *cursor.item())
        yield cursor.key()
        position = cursor.key() + b"\0"
