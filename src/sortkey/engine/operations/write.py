"""The one path on which items change: put, update, delete, batches, transactions, expiry and the fast path end here.

Callers find the row, check the request against it (and may reject it), and then `replace` it. Item, index rows, vector
rows, expiry entry, stream record, change log and counts change together, in the write batch's transaction. `put_row` is
the only place that puts an item's row; the fast path calls it directly, for tables where nothing else changes with an
item. Puts of many items are prepared before the writer's turn (`BulkPut`), so that others wait for `put_prepared` only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from sortkey.engine.operations.answers import Consumed
from sortkey.engine.operations.rehearsal import recall
from sortkey.engine.rows import stored_item
from sortkey.engine.rows.key_runs import at_the_end_of_a_page, long_runs
from sortkey.engine.rows.partition_loads import SMALL_UNITS
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.streams import stream_writer
from sortkey.engine.tables import change_log, expiry_index, index_rows, row_versions, vector_rows
from sortkey.engine.tables.core import Answer, Core
from sortkey.engine.tables.table import (
    Table,
    check_index_keys,
    check_scalar_keys,
    checked_row_key,
    row_key_in_item,
)
from sortkey.errors import ConditionalCheckFailedException, ValidationException
from sortkey.expressions import Condition, Update
from sortkey.limits import ITEM_BYTES
from sortkey.storage import payload_of
from sortkey.values import number
from sortkey.values.attribute import Item, Normalised, normalise_item, type_of
from sortkey.values.errors import ITEM_TOO_LARGE, UPDATED_ITEM_TOO_LARGE, UPDATED_TOO_DEEP, InvalidRequest
from sortkey.values.size import text_size, value_size, write_units

FLAT_TYPES: Final = frozenset({"S", "N", "BOOL", "NULL", "SS", "NS"})
"""Types that neither nest, so that an update cannot exceed the depth limit with them, nor hold binary."""


class Found:
    """A row as it is before the change. Its item is decoded on first use."""

    __slots__ = ("_item", "key", "row", "size", "table")

    def __init__(self, table: Table, key: bytes, row: bytes | None) -> None:
        self.table = table
        self.key = key
        self.row = row
        self.size = 0 if row is None else stored_item.size(row)
        self._item: Item | None = None

    @property
    def item(self) -> Item:
        """The item, or {} if there is none."""
        if self._item is None:
            self._item = {} if self.row is None else stored_item.decode(self.row)
        return self._item


def find(batch: WriteBatch, table: Table, key: Item) -> Found:
    """The row of a request's canonical `Key`."""
    row_key = checked_row_key(table, key)
    return Found(table, row_key, batch.get(row_key))


def check_condition(found: Found, condition: Condition | None, return_old: str | None) -> None:
    if condition is None:
        return
    known = None if condition.remembered is None else recall(condition, found.row)
    if condition(found.item) if known is None else known:
        return
    if return_old == "ALL_OLD" and found.row is not None:
        raise ConditionalCheckFailedException(Item=stored_item.Json.item(found.row))
    raise ConditionalCheckFailedException


def check_size(size: int, message: str = ITEM_TOO_LARGE) -> None:
    if size > ITEM_BYTES:
        raise ValidationException(message)


def check_return_old(return_values: str | None) -> None:
    """Put and Delete can return only the old item."""
    if return_values not in (None, "NONE", "ALL_OLD"):
        raise InvalidRequest("ReturnValues can only be ALL_OLD or NONE")


def row_key_to_put(table: Table, new: Normalised) -> bytes:
    """The row key of a new item. Checks the keys of the table and its indexes, and the size with local index rows."""
    row_key = row_key_in_item(table, new.item)
    if table.indexes or table.vector_indexes:
        check_index_keys(table, new.item)
        check_local_size(table, new, ITEM_TOO_LARGE)
    return row_key


class PreparedPut(msgspec.Struct, gc=False):
    """A new item as its row, its index rows and its vector rows: what follows from the item alone.

    Many are made at once, so the garbage collector does not look at them. The item itself is kept only on request: it
    takes ten times as much memory, and few puts need it again.
    """

    table: Table
    key: bytes
    row: bytes
    size: int
    index_rows: index_rows.FlatRows
    vector_rows: vector_rows.VectorRows
    item: Item | None

    def for_table(self, table: Table) -> PreparedPut:
        """The same item, for the table as it is now."""
        return prepare_put(table, stored_item.normalised(payload_of(self.row)))


def prepare_put(table: Table, new: Normalised, keeps_item: bool = False) -> PreparedPut:
    """Raises what a put of the item raises."""
    item = new.item if keeps_item else None
    special = not table.indexes or table.local_indexes or table.vector_indexes
    prefixes = None if special else index_rows.fast_prefixes(table, new.item)
    key = row_key_to_put(table, new) if prefixes is None else row_key_in_item(table, new.item)
    row = stored_item.encode(key, *new)
    indexed = index_rows.rows_of(table, key, new.item, row, prefixes) if table.indexes else ()
    vectors = vector_rows.rows_of(table, key, new.item) if table.vector_indexes else ()
    return PreparedPut(table, key, row, new.size, indexed, vectors, item)


def check_local_size(table: Table, new: Normalised, message: str) -> None:
    if table.local_indexes:
        check_size(new.size + index_rows.local_size(table, new), message)


def check_update(table: Table, change: Update | None) -> None:
    """An update must not change the key."""
    if change is None or change.attributes.isdisjoint(table.names):
        return
    name = next(name for name in table.names if name in change.attributes)
    raise ValidationException(
        f"One or more parameter values were invalid: Cannot update attribute {name}. This attribute is part of the key"
    )


def apply_update(found: Found, key: Item, change: Update | None) -> Normalised:
    """The item after the update. An item that did not exist starts as its key."""
    before = key if found.row is None else found.item
    after = before if change is None else change.apply(before, found.size)
    new = _measure_update(found, change, after) or normalise_item(after, UPDATED_TOO_DEEP, UPDATED_ITEM_TOO_LARGE)
    check_size(new.size, UPDATED_ITEM_TOO_LARGE)
    if change is not None and (found.table.index_key_types or found.table.vector_indexes):
        check_index_keys(found.table, new.item, change.attributes)
    check_local_size(found.table, new, UPDATED_ITEM_TOO_LARGE)
    return new


def _measure_update(found: Found, change: Update | None, after: Item) -> Normalised | None:
    """The updated item with its new size, computed from the changed attributes only.

    It is canonical, because both the old item and the values written are. Returns None if the update changed a nested
    value, the item is new, or it held binary: then the caller walks the whole item.
    """
    if change is None or not change.shallow or found.row is None or stored_item.has_binary(found.row):
        return None
    size, binary = found.size, False
    before = found.item
    documents: Item = {}
    for name in change.attributes:
        old, new = before.get(name), after.get(name)
        if old is not None and new is not None and "N" in old and "N" in new:
            # A counter: most updates write one. This takes half of the time.
            size += number.size(new["N"]) - number.size(old["N"])
            continue
        name_size = text_size(name)
        if old is not None:
            size -= name_size + value_size(old)
        if new is None:
            continue
        if type_of(new) in FLAT_TYPES:
            size += name_size + value_size(new)
        else:
            documents[name] = new
    if documents:
        _, added, binary = normalise_item(documents, UPDATED_TOO_DEEP, UPDATED_ITEM_TOO_LARGE)
        size += added
    return Normalised(after, size, binary)


def replace(
    batch: WriteBatch, found: Found, new: Normalised | None, identity: dict[str, Any] | None = None
) -> Consumed:
    """Make the row hold the new item, or delete it. Raises nothing: callers have made all checks."""
    if new is None:
        if found.row is None:
            units = write_units(0)
            batch.charge(found.key, units)
            return Consumed(found.table, units)
        new_row = item = None
        units = _delete_row(batch, found)
        if identity is None:
            # Not the deletion of an expired item, which AWS does not charge for.
            batch.charge(found.key, units)
    else:
        item = new.item
        new_row = stored_item.encode(found.key, *new)
        units = put_row(batch, found, new_row, new.size)
    if not found.table.followed:
        return Consumed(found.table, units)
    index_units, vector_bytes = _follow(batch, found, item, new_row, identity)
    return Consumed(found.table, units, index_units, vector_bytes)


def put_prepared(batch: WriteBatch, put: PreparedPut, found: Found | None = None) -> float:
    """Put an item that was prepared for the table as it is; returns the write units, indexes included. `found` is the
    row as it is, if the caller has read it."""
    table = put.table
    if found is None:
        found = Found(table, put.key, batch.get(put.key))
    units = put_row(batch, found, put.row, put.size)
    if found.row is not None and table.indexes:
        units += index_rows.replace_all(batch, table, found.key, found.item, found.row, put.index_rows)
    elif put.index_rows:
        units += index_rows.insert_all(batch, table, put.index_rows)
    if table.log is not None and found.row != put.row:
        change_log.follow(batch, table.log, found.key, found.row)
    if table.vector_indexes:
        old = None if found.row is None else found.item
        vector_rows.replace_all(batch, found.key, old, put.vector_rows)
    if table.recorded or table.ttl_attribute is not None:
        new = stored_item.decode(put.row) if put.item is None else put.item
        _follow_besides_indexes(batch, found, new, put.row, None)
    return units


def put_row(batch: WriteBatch, found: Found, row: bytes, size: int) -> float:
    """Put an item's row and count it; returns the write units. Alone it suffices only if the table is not followed."""
    before = found.size
    batch.put(found.key, row)
    batch.count(found.table.space, found.row is None, size - before)
    units = write_units(before if before > size else size)
    # As `charge` does, whose call would show in the time of a PutItem.
    partitions = batch.partitions
    if partitions.writes_left_out and units <= SMALL_UNITS:
        partitions.writes_left_out -= 1
    else:
        partitions.count_write(found.key, units)
    return units


def _delete_row(batch: WriteBatch, found: Found) -> float:
    size = found.size
    batch.delete(found.key)
    batch.count(found.table.space, -1, -size)
    return write_units(size)


def _follow(
    batch: WriteBatch, found: Found, new: Item | None, new_row: bytes | None, identity: dict[str, Any] | None
) -> tuple[dict[str, float] | None, dict[str, float] | None]:
    """Write what changes along with the item; returns the write units of each index, and the bytes of each vector
    index.

    The old item is decoded only if the table has indexes, TTL or a stream. The change log takes the row as it is.
    """
    table = found.table
    index_units = None
    if table.indexes:
        old = None if found.row is None else found.item
        index_units = index_rows.apply(batch, table, found.key, old, found.row, new, new_row)
    if table.log is not None and found.row != new_row:
        change_log.follow(batch, table.log, found.key, found.row)
    vector_bytes = None
    if table.vector_indexes:
        old = None if found.row is None else found.item
        vector_bytes = vector_rows.apply(batch, table, found.key, old, new)
    _follow_besides_indexes(batch, found, new, new_row, identity)
    return index_units, vector_bytes


def _follow_besides_indexes(
    batch: WriteBatch, found: Found, new: Item | None, new_row: bytes | None, identity: dict[str, Any] | None
) -> None:
    table = found.table
    if table.ttl_attribute is not None:
        old = None if found.row is None else found.item
        expiry_index.follow(batch, table, found.key, old, new)
    if table.replication is not None:
        row_versions.follow(batch, table.replication, found.key, new_row is None)
    for stream in table.recorded:
        stream_writer.write_record(batch, table, stream, found, new, new_row, identity)


def _put_all(batch: WriteBatch, puts: Sequence[PreparedPut]) -> float:
    return sum(put_prepared(batch, put) for put in puts)


class BulkPut:
    """Puts of many items in one piece of work for the write queue, which has one request for them all.

    An item is checked and encoded when it is added, on the caller's thread: its row, its row key, its index rows and
    its vector rows. The writer's turn then only looks for the old row and puts what is ready, which takes a quarter of
    the time. If a table has changed since the items were added, they are prepared again in the writer's turn, before
    the first one is written.

    Items are put in the order in which they were added. The same key may occur twice; the last item remains. All are
    put or none: a damaged old row is found only in between, and then the queue aborts the transaction and fails this
    work alone. An item with a condition that its old row does not meet is left out; the answer says which ones are.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._tables: dict[str, Table] = {}
        self._puts: list[PreparedPut] = []
        self._conditions: dict[int, Condition] = {}
        """By the place of the put."""
        self.bytes = 0
        """The size of the items."""

    def __len__(self) -> int:
        return len(self._puts)

    def add(self, table_name: str, item: Item, condition: Condition | None = None, size: int | None = None) -> None:
        """Add a put. Raises the error of a PutItem of this item; the items that were added before are kept. `size` is
        that of the item, if it is known; then the item is canonical, and has no binary."""
        table = self._tables.get(table_name)
        if table is None:
            with self._core.read() as snapshot:
                table = self._tables[table_name] = self._core.catalog.require_named(snapshot, table_name)
        new = normalise_item(item) if size is None else Normalised(item, size, binary=False)
        check_size(new.size)
        # Most items under a condition replace one, and are needed again for what follows.
        prepared = prepare_put(table, new, keeps_item=condition is not None)
        if condition is not None:
            check_scalar_keys(table, condition)
            self._conditions[len(self._puts)] = condition
        self._puts.append(prepared)
        self.bytes += new.size

    def work(self, batch: WriteBatch) -> Answer:
        """Put all items, for the write queue."""
        current = {name: self._core.catalog.require_in(batch, name) for name in self._tables}
        puts = self._puts
        if current != self._tables:
            puts = [put.for_table(current[put.table.name]) for put in puts]
        if self._conditions:
            return self._work_under_conditions(batch, puts)
        units, done = 0.0, 0
        for run in long_runs([put.key for put in puts]):
            units += _put_all(batch, puts[done : run.start])
            with at_the_end_of_a_page(batch, puts[run.start].key, puts[run.stop - 1].key):
                units += _put_all(batch, puts[run.start : run.stop])
            done = run.stop
        units += _put_all(batch, puts[done:])
        return {"ConsumedCapacity": {"CapacityUnits": units}, "Unwritten": []}

    def _work_under_conditions(self, batch: WriteBatch, puts: Sequence[PreparedPut]) -> Answer:
        units = 0.0
        unwritten: list[int] = []
        for place, put in enumerate(puts):
            condition = self._conditions.get(place)
            found = Found(put.table, put.key, batch.get(put.key))
            if condition is None or condition(found.item):
                units += put_prepared(batch, put, found)
            else:
                unwritten.append(place)
                units += write_units(found.size)
        return {"ConsumedCapacity": {"CapacityUnits": units}, "Unwritten": unwritten}
