"""The expiry index: which items of a table with TTL end when, in the order of time.

An entry is a key without a value, `number(4) second(8) row(…)` in its space; the item's row key, without its space,
comes last. Only numbers count, their fraction cut off; an item without one, or with one below zero or beyond eight
bytes, has no entry. The entries of a table agree with its items at every commit (`follow`), except while items that
were there before TTL are still being indexed: then there are entries for the rows up to `ttl_indexed_to` only.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from itertools import islice
from typing import Final

import msgspec

from sortkey.engine.rows import spaces
from sortkey.engine.tables.catalog import new_space
from sortkey.engine.tables.catalog_entries import TableEntry
from sortkey.engine.tables.table import Table
from sortkey.engine.write_batch import WriteBatch
from sortkey.limits import TTL_OLDEST_SECONDS
from sortkey.storage import Transaction, after_prefix, ascending
from sortkey.values.attribute import Item

_SECOND: Final = struct.Struct(">Q")
_LAST_SECOND: Final = (1 << 64) - 1
_ENTRY_PREFIX_BYTES: Final = 2 * spaces.SPACE_BYTES + _SECOND.size


def second_of(item: Item, attribute: str) -> int | None:
    """When the item expires, in seconds since the epoch."""
    number = item.get(attribute, {}).get("N")
    if number is None or number.startswith("-"):
        return None
    second = int(number.partition(".")[0])
    return second if second <= _LAST_SECOND else None


def prefix(entry: TableEntry) -> bytes:
    """What the table's entries begin with."""
    return spaces.EXPIRY + spaces.space_bytes(entry.ttl_number)


def entry_of(table: Table, row_key: bytes, item: Item) -> bytes | None:
    """The entry that an item should have, computed afresh."""
    if table.ttl_attribute is None:
        return None
    second = second_of(item, table.ttl_attribute)
    return None if second is None else prefix(table.entry) + _SECOND.pack(second) + row_key[spaces.SPACE_BYTES :]


def reaches(table: Table, row_key: bytes) -> bool:
    """While a new TTL is being indexed, there is nothing for table rows that the janitor has not come to."""
    indexed_to = table.entry.ttl_indexed_to
    return indexed_to is None or row_key <= bytes.fromhex(indexed_to)


def follow(batch: WriteBatch, table: Table, row_key: bytes, old: Item | None, new: Item | None) -> None:
    """Bring the index in line with an item's change."""
    if not reaches(table, row_key):
        return
    before = None if old is None else entry_of(table, row_key, old)
    after = None if new is None else entry_of(table, row_key, new)
    if before == after:
        return
    if before is not None:
        batch.delete(before)
    if after is not None:
        batch.put(after, b"")


def enable(batch: WriteBatch, entry: TableEntry, attribute: str) -> TableEntry:
    """A table's catalog entry with TTL on this attribute. The janitor indexes the items that exist already."""
    return msgspec.structs.replace(entry, ttl_attribute=attribute, ttl_number=new_space(batch), ttl_indexed_to="")


def disable(entry: TableEntry) -> TableEntry:
    """A table's catalog entry without TTL. The janitor removes the expiry entries, which now have no owner."""
    return msgspec.structs.replace(entry, ttl_attribute=None, ttl_number=0, ttl_indexed_to=None)


def due(transaction: Transaction, table: Table, now: float, limit: int) -> list[tuple[bytes, bytes]]:
    """Entries whose second has passed, oldest first, each with its item's row key.

    What is more than five years past is taken for a mistake, as AWS takes it, and stays.
    """
    start = prefix(table.entry)
    low = start + _SECOND.pack(max(0, math.floor(now - TTL_OLDEST_SECONDS) + 1))
    high = start + _SECOND.pack(max(0, math.ceil(now)))
    return [
        (key, table.space + key[_ENTRY_PREFIX_BYTES:]) for key, _ in islice(ascending(transaction, low, high), limit)
    ]


def ownerless(transaction: Transaction, owned: set[bytes]) -> Iterator[bytes]:
    """Entries whose number is no table's: TTL was switched off, or the table dropped."""
    end = after_prefix(spaces.EXPIRY)
    cursor = transaction.cursor()
    position = spaces.EXPIRY
    while cursor.set_range(position) and cursor.key() < end:
        number = cursor.key()[spaces.SPACE_BYTES : 2 * spaces.SPACE_BYTES]
        if number in owned:
            # Over all entries of this number in one step, however many there are.
            position = after_prefix(spaces.EXPIRY + number)
            continue
        yield cursor.key()
        position = cursor.key() + b"\0"
