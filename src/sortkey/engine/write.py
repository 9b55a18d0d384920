"""The one path on which items change: put, update, delete, batches, transactions and expiry all end here.

Callers read the row, decide (and may reject), and then `replace` it. Item, index rows, expiry entry, stream record
and counts change together, in the transaction of the batch.
"""

from __future__ import annotations

from typing import Any, Final

from sortkey.engine.consumed_capacity import Consumed
from sortkey.engine.rows import expiry_index, index_rows, item_keys, stored_item
from sortkey.engine.streams import stream_writer
from sortkey.engine.tables.table import Table
from sortkey.engine.write_batch import WriteBatch
from sortkey.errors import ConditionalCheckFailedException, ValidationException
from sortkey.expressions import Condition, Update
from sortkey.limits import ITEM_BYTES
from sortkey.values.attribute import Item, Normalised, normalise_item, type_of
from sortkey.values.capacity_units import write_units
from sortkey.values.errors import UPDATED_TOO_DEEP
from sortkey.values.size import text_size, value_size

PLAIN: Final = frozenset({"S", "N", "BOOL", "NULL", "SS", "NS"})
"""Types without levels, which could become too many, and without binary."""
ITEM_TOO_LARGE = "Item size has exceeded the maximum allowed size"
UPDATED_ITEM_TOO_LARGE = "Item size to update has exceeded the maximum allowed size"


class Found:
    """A row as it is before the change; decoded when somebody looks."""

    __slots__ = ("_item", "key", "row", "table")

    def __init__(self, table: Table, key: bytes, row: bytes | None) -> None:
        self.table = table
        self.key = key
        self.row = row
        self._item: Item | None = None

    @property
    def item(self) -> Item:
        """The item, or {} when there is none."""
        if self._item is None:
            self._item = {} if self.row is None else stored_item.decode(self.row)
        return self._item

    @property
    def size(self) -> int:
        return 0 if self.row is None else stored_item.size(self.row)


def find(batch: WriteBatch, table: Table, key: Item) -> Found:
    """The row that a request's `Key` names."""
    place = item_keys.row_key(table, key)
    return Found(table, place, batch.get(place))


def check_condition(found: Found, condition: Condition | None, return_old: str | None) -> None:
    if condition is None or condition(found.item):
        return
    if return_old == "ALL_OLD" and found.row is not None:
        raise ConditionalCheckFailedException(Item=stored_item.Json.item(found.row))
    raise ConditionalCheckFailedException


def check_size(size: int, message: str = ITEM_TOO_LARGE) -> None:
    if size > ITEM_BYTES:
        raise ValidationException(message)


def row_key_for(table: Table, new: Normalised) -> bytes:
    """Where an item is to be put, if it fits the table's and indexes' keys, and with its rows in local indexes the
    limit of an item.
    """
    place = item_keys.row_key_in_item(table, new.item)
    if table.indexes:
        item_keys.check_index_keys(table, new.item)
        check_local_size(table, new, ITEM_TOO_LARGE)
    return place


def check_local_size(table: Table, new: Normalised, message: str) -> None:
    if table.local_indexes:
        check_size(new.size + index_rows.local_size(table, new), message)


def check_update(table: Table, change: Update | None) -> None:
    """An update leaves the key alone."""
    if change is None:
        return
    for name in table.names:
        if name in change.attributes:
            raise ValidationException(
                f"One or more parameter values were invalid: Cannot update attribute {name}. "
                "This attribute is part of the key"
            )


def updated(found: Found, key: Item, change: Update | None) -> Normalised:
    """The item after the update, beginning with its key when it was not there."""
    before = key if found.row is None else found.item
    after = before if change is None else change.apply(before)
    new = _measured(found, change, after) or normalise_item(after, UPDATED_TOO_DEEP)
    check_size(new.size, UPDATED_ITEM_TOO_LARGE)
    if change is not None and found.table.index_key_types:
        item_keys.check_index_keys(found.table, new.item, change.attributes)
    check_local_size(found.table, new, UPDATED_ITEM_TOO_LARGE)
    return new


def _measured(found: Found, change: Update | None, after: Item) -> Normalised | None:
    """The updated item, canonical since both the item and what was written were, and measured by what has changed.

    None when the change went deep, the item is new, or it held binary: then only a walk over the whole item tells.
    """
    if change is None or not change.shallow or found.row is None or stored_item.has_binary(found.row):
        return None
    size, binary = found.size, False
    before = found.item
    documents: Item = {}
    for name in change.attributes:
        old, new = before.get(name), after.get(name)
        if old is not None:
            size -= text_size(name) + value_size(old)
        if new is None:
            continue
        if type_of(new) in PLAIN:
            size += text_size(name) + value_size(new)
        else:
            documents[name] = new
    if documents:
        _, added, binary = normalise_item(documents, UPDATED_TOO_DEEP)
        size += added
    return Normalised(after, size, binary)


def replace(
    batch: WriteBatch, found: Found, new: Normalised | None, identity: dict[str, Any] | None = None
) -> Consumed:
    """Make the row hold the new item, or nothing; returns what that took. Raises nothing: all checks are before."""
    table, key, old_row = found.table, found.key, found.row
    if new is None:
        if old_row is None:
            return Consumed(table, write_units(0))
        new_row = None
        batch.delete(key)
        batch.count(table.space, -1, -found.size)
        units = write_units(found.size)
    else:
        new_row = stored_item.encode(new.item, new.size, new.binary)
        batch.put(key, new_row)
        batch.count(table.space, old_row is None, new.size - found.size)
        units = write_units(max(found.size, new.size))
    spent = _follow(batch, found, None if new is None else new.item, new_row, identity)
    return Consumed(table, units, spent)


def _follow(
    batch: WriteBatch, found: Found, new: Item | None, new_row: bytes | None, identity: dict[str, Any] | None
) -> dict[str, float] | None:
    """What changes along with the item. A plain table has none of it, and its old item is never decoded."""
    table = found.table
    spent = None
    if table.indexes:
        old = None if found.row is None else found.item
        spent = index_rows.apply(batch, table, found.key, old, found.row, new, new_row)
    if table.ttl_attribute is not None:
        old = None if found.row is None else found.item
        expiry_index.follow(batch, table, found.key, old, new)
    if table.stream is not None:
        stream_writer.write_record(batch, table, table.stream, found, new, new_row, identity)
    return spent
