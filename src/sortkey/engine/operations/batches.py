"""BatchGetItem: up to a hundred items of any tables, each read by itself. BatchWriteItem: up to 25 puts and deletes.

A hundred items can have 16 MB of text, and a projection has to decode them all. So the items are read in chunks of a
few keys, each from a snapshot of its own, and in slices (see `slices`).

AWS may leave some writes unprocessed. Here all go into one transaction: either the whole request is rejected, or all of
it is processed. Large items for a table that is not followed become text before the writer's turn. A batch of many
small attributes takes the writer a fraction of the time then, and as text its items take a tenth of the memory while
they wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

import orjson

from sortkey.engine.operations import slices, write
from sortkey.engine.operations.answers import Consumed, collection_metrics, is_requested
from sortkey.engine.operations.slices import SLICE_UNITS, Slices
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.constraints import check_names
from sortkey.engine.requests.expression_parameters import only_projection
from sortkey.engine.requests.items import BatchGetItem, BatchWriteItem, KeysAndAttributes, WriteRequest
from sortkey.engine.rows import stored_item
from sortkey.engine.rows.records import first_damaged
from sortkey.engine.rows.stored_item import STEP_BYTES, Json
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Answer, Catalog, Core, Work, not_found
from sortkey.engine.tables.table import (
    KEY_MISMATCH,
    Table,
    WrongKey,
    check_scalar_keys,
    checked_row_key,
    normalise_key,
    row_key_in_item,
    row_key_of,
)
from sortkey.errors import ValidationException
from sortkey.limits import BATCH_GET_BYTES, BATCH_GET_KEYS, BATCH_WRITE_REQUESTS, KIB
from sortkey.storage import Transaction, are_sound, seal
from sortkey.values.attribute import Item, Normalised, normalise_item
from sortkey.values.size import read_units

DUPLICATES = "Provided list of item keys contains duplicates"
FIRST_KEYS: Final = 4
"""Read at once at first, and as long as the items are large: copying the largest takes a millisecond."""
CHUNK_KEYS: Final = 50
"""Read at once, if the items before were small."""
SMALL_BYTES: Final = 16 * KIB
"""Of the row of a small item, on average."""

NOT_ONE_REQUEST = (
    "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
)

LARGE_BYTES: Final = 4 * KIB
"""The size from which an item becomes text before the writer's turn."""


def batch_get_item(core: Core, request: BatchGetItem) -> Slices[Answer]:
    if sum(len(part.keys) for part in request.request_items.values()) > BATCH_GET_KEYS:
        raise ValidationException("Too many items requested for the BatchGetItem call")
    check_names(request, request.request_items)
    _check_one_generation(request)
    parts = [_TablePart(given, part) for given, part in request.request_items.items()]
    snapshot, known = core.read_tables()
    try:
        tables = [_table_of(known, part) for part in parts]
        row_keys = [part.row_keys(table) for part, table in zip(parts, tables, strict=True)]
    finally:
        snapshot.abort()
    return (yield from _read_parts(core, request, parts, tables, row_keys))


def _check_one_generation(request: BatchGetItem) -> None:
    """Not even of two tables may one be read with an expression and the other with the older parameter."""
    parts = request.request_items.values()
    if any(part.projection_expression is not None for part in parts) and any(
        part.attributes_to_get is not None for part in parts
    ):
        raise ValidationException(
            "Can not use both expression and non-expression parameters in the same request: "
            "Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}"
        )


class _TablePart:
    """The part of the request that reads from one table."""

    def __init__(self, given: str, request: KeysAndAttributes) -> None:
        self.given = given
        self.name = table_name_of(given)
        self.request = request
        self.projection = only_projection(request)

    def check_keys(self) -> None:
        """Raise the errors of keys that do not depend on the table."""
        keys = [orjson.dumps(normalise_key(key), option=orjson.OPT_SORT_KEYS) for key in self.request.keys]
        if len(set(keys)) != len(keys):
            raise ValidationException(DUPLICATES)

    def row_keys(self, table: Table) -> list[bytes]:
        fast_row_key = table.fast_row_key
        row_keys = [fast_row_key(key) or row_key_of(table, key) for key in self.request.keys]
        if len(set(row_keys)) != len(row_keys):
            raise ValidationException(DUPLICATES)
        check_scalar_keys(table, self.projection)
        return row_keys


def _table_of(known: Mapping[str, Table], part: _TablePart) -> Table:
    table = known.get(part.name)
    if table is None:
        part.check_keys()
        raise not_found()
    return table


def _read_parts(
    core: Core,
    request: BatchGetItem,
    parts: list[_TablePart],
    tables: list[Table],
    row_keys: list[list[bytes]],
) -> Slices[Answer]:
    responses: dict[str, Json] = {}
    unprocessed: dict[str, Any] = {}
    consumed: list[dict[str, Any]] = []
    left = BATCH_GET_BYTES
    for part, table, wanted in zip(parts, tables, row_keys, strict=True):
        found = _FoundItems(part)
        yield from found.read(core, wanted, left)
        left -= found.length
        responses[part.given] = found.items.json()
        if found.keys < len(wanted):
            unprocessed[part.given] = unprocessed_keys(part.request, found.keys)
        if is_requested(request.return_consumed_capacity):
            consumed.append(Consumed(table, found.units).shape(request.return_consumed_capacity))
    answer: Answer = {"Responses": responses, "UnprocessedKeys": unprocessed}
    if consumed:
        answer["ConsumedCapacity"] = consumed
    return answer


class _FoundItems:
    """The items of one table."""

    def __init__(self, part: _TablePart) -> None:
        self._projects = part.projection is not None
        self._consistent = bool(part.request.consistent_read)
        self.items = stored_item.ItemTexts(part.projection)
        self.keys = 0
        """Looked up and answered, with an item or without."""
        self.length = 0
        self.units = 0.0

    def read(self, core: Core, wanted: list[bytes], room: int) -> Slices[None]:
        """Read the rows until one does not fit into the room."""
        work = start = 0
        number = FIRST_KEYS
        while keys := wanted[start : start + number]:
            start += number
            snapshot = core.read()
            try:
                looked_up = list(map(snapshot.get, keys))
                fitting = _count_fitting(looked_up, room - self.length)
                rows = [row for row in looked_up[:fitting] if row is not None]
                self.units += charge_batch(core, snapshot, keys[:fitting], rows, self._consistent)
            finally:
                snapshot.abort()
            self.keys += fitting
            length = sum(map(len, rows))
            self.length += length
            number = CHUNK_KEYS if length <= len(keys) * SMALL_BYTES else FIRST_KEYS
            for taken in ([row] for row in rows) if self._projects else (rows,):
                self.items.add(taken)
                work += slices.units_of_rows(taken, 0) if self._projects else slices.units_of_text(taken)
                if work >= SLICE_UNITS:
                    work = 0
                    yield
            if fitting < len(keys):
                return


def _count_fitting(rows: list[bytes | None], room: int) -> int:
    """How many of the rows fit into the rest of the 16 MB, measured as the text of the answer."""
    if sum([len(row) for row in rows if row is not None]) <= room:
        return len(rows)
    lengths = accumulate(0 if row is None else len(row) for row in rows)
    return next(count for count, length in enumerate(lengths) if length > room)


def charge_batch(
    core: Core, snapshot: Transaction, row_keys: list[bytes], rows: list[bytes], consistent: bool
) -> float:
    """Verify the rows found by these keys, and count them for their partitions; returns their read units."""
    if core.verifies_many and not are_sound(rows):
        raise first_damaged(snapshot, row_keys)
    units = _units_of_rows(rows, len(row_keys), consistent)
    core.partitions.count_batch(row_keys, units)
    return units


def _units_of_rows(rows: list[bytes], keys: int, consistent: bool) -> float:
    """Read units of a batch, in which every key costs by itself, also one without an item.

    Most rows cost the minimum. If the longest one does, all do.
    """
    minimum = read_units(0, consistent)
    if not rows or max(map(len, rows)) <= STEP_BYTES:
        return keys * minimum
    return (keys - len(rows)) * minimum + sum(read_units(stored_item.size(row), consistent) for row in rows)


def unprocessed_keys(part: KeysAndAttributes, done: int = 0) -> dict[str, Any]:
    """A table's part of the request, without the keys that were answered."""
    members = {
        "Keys": [Json.of(key) for key in part.keys[done:]],
        "AttributesToGet": part.attributes_to_get,
        "ConsistentRead": part.consistent_read,
        "ProjectionExpression": part.projection_expression,
        "ExpressionAttributeNames": part.expression_attribute_names,
    }
    return {name: value for name, value in members.items() if value is not None}


def batch_write_item(core: Core, request: BatchWriteItem) -> Work:
    if sum(map(len, request.request_items.values())) > BATCH_WRITE_REQUESTS:
        raise ValidationException("Too many items requested for the BatchWriteItem call")
    check_names(request, request.request_items)
    parts = [
        _writes_of(core.catalog, table_name_of(given), requests) for given, requests in request.request_items.items()
    ]
    # The requests go now: a large batch would keep its body while it waits.
    request.request_items = {}

    def work(batch: WriteBatch) -> Answer:
        tables = [core.catalog.require_in(batch, name) for name, _ in parts]
        found = [_find_rows(batch, table, writes) for table, (_, writes) in zip(tables, parts, strict=True)]
        _check_distinct(found)
        consumed = [Consumed(table) for table in tables]
        for total, (_, writes), rows in zip(consumed, parts, found, strict=True):
            for each, row in zip(writes, rows, strict=True):
                written = each.apply(batch, row)
                total.add(written.units, written.indexes, written.vectors)
        return _write_answer(batch, request, consumed, parts)

    return work


class _Write:
    """One put or delete: the new item or None, and attributes that include the key."""

    __slots__ = ("_known", "_new", "_payload", "keyed")

    def __init__(self, request: WriteRequest, known: Table | None) -> None:
        """`known` is the table as it was last seen."""
        self._known = known
        self._new: Normalised | None = None
        self._payload: bytes | None = None
        if request.put_request is not None and request.delete_request is None:
            new = normalise_item(request.put_request.item)
            write.check_size(new.size)
            self.keyed: Item = new.item
            if known is None or known.followed or new.size < LARGE_BYTES:
                self._new = new
            else:
                self._payload = stored_item.payload(*new)
                self.keyed = {name: value for name in known.names if (value := new.item.get(name)) is not None}
                # Frees the item now. To free the values of all items at once would stop all threads for too long.
                request.put_request = None
        elif request.delete_request is not None and request.put_request is None:
            self.keyed = normalise_key(request.delete_request.key)
        else:
            raise ValidationException(NOT_ONE_REQUEST)

    def row_key(self, table: Table) -> bytes:
        """The row key that it writes to. Raises ValidationException if the key or item does not fit the table."""
        try:
            return self._row_key(table)
        except WrongKey:
            # Of an item in a batch, AWS says no more than of a wrong `Key`.
            raise ValidationException(KEY_MISMATCH) from None

    def _row_key(self, table: Table) -> bytes:
        if self._payload is not None:
            if table is self._known:
                return row_key_in_item(table, self.keyed)
            # The table has changed since, and may be followed.
            self._new = stored_item.normalised(self._payload)
            self._payload = None
            self.keyed = self._new.item
        return checked_row_key(table, self.keyed) if self._new is None else write.row_key_to_put(table, self._new)

    def apply(self, batch: WriteBatch, found: write.Found) -> Consumed:
        if self._payload is None:
            return write.replace(batch, found, self._new)
        row, size = seal(found.key, self._payload), stored_item.size(self._payload)
        return Consumed(found.table, write.put_row(batch, found, row, size))


def _writes_of(catalog: Catalog, name: str, requests: Sequence[WriteRequest]) -> tuple[str, list[_Write]]:
    known = catalog.last_seen(name)
    return name, [_Write(each, known) for each in requests]


def _find_rows(batch: WriteBatch, table: Table, writes: list[_Write]) -> list[write.Found]:
    row_keys = [each.row_key(table) for each in writes]
    return [write.Found(table, row_key, batch.get(row_key)) for row_key in row_keys]


def _check_distinct(found: list[list[write.Found]]) -> None:
    """No item may occur twice. A table may occur by name and by ARN, so the rows of all parts are compared."""
    row_keys = [row.key for rows in found for row in rows]
    if len(set(row_keys)) != len(row_keys):
        raise ValidationException(DUPLICATES)


def _write_answer(
    batch: WriteBatch, request: BatchWriteItem, consumed: list[Consumed], parts: list[tuple[str, list[_Write]]]
) -> Answer:
    answer: Answer = {"UnprocessedItems": {}}
    if is_requested(request.return_consumed_capacity):
        answer["ConsumedCapacity"] = [total.shape(request.return_consumed_capacity) for total in consumed]
    if request.return_item_collection_metrics == "SIZE":
        metrics: dict[str, Any] = {}
        for total, (name, writes) in zip(consumed, parts, strict=True):
            if total.table.local_indexes:
                metrics[name] = collection_metrics(batch, total.table, (each.keyed for each in writes))
        if metrics:
            answer["ItemCollectionMetrics"] = metrics
    return answer
