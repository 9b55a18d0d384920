"""BatchWriteItem: up to twenty-five puts and deletes.

AWS may leave some unprocessed. Here all go into one transaction: either the whole request is rejected, or all of it is
processed.

Large items for a table that is not followed become text before the writer's turn. A batch of many small attributes
takes the writer a fraction of the time then, and as text its items take a tenth of the memory while they wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sortkey.engine import write
from sortkey.engine.answer_metrics import Consumed, collection_metrics, is_requested
from sortkey.engine.core import Answer, Core, Work
from sortkey.engine.operations.batch_get_item import DUPLICATES
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.batches import BatchWriteItem, WriteRequest
from sortkey.engine.rows import stored_item
from sortkey.engine.rows.item_keys import normalise_key, row_key, row_key_in_item
from sortkey.engine.tables.catalog import Catalog
from sortkey.engine.tables.table import Table
from sortkey.engine.write_batch import WriteBatch
from sortkey.errors import ValidationException
from sortkey.limits import BATCH_WRITE_REQUESTS, KIB
from sortkey.storage import seal
from sortkey.values.attribute import Item, Normalised, normalise_item

NOT_ONE_REQUEST = (
    "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
)


LARGE_BYTES: Final = 4 * KIB
"""The size from which an item becomes text before the writer's turn."""


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
        if self._payload is not None:
            if table is self._known:
                return row_key_in_item(table, self.keyed)
            # The table has changed since, and may be followed.
            self._new = stored_item.normalised(self._payload)
            self._payload = None
            self.keyed = self._new.item
        return row_key(table, self.keyed) if self._new is None else write.row_key_to_put(table, self._new)

    def apply(self, batch: WriteBatch, found: write.Found) -> Consumed:
        if self._payload is None:
            return write.replace(batch, found, self._new)
        row, size = seal(found.key, self._payload), stored_item.size(self._payload)
        return Consumed(found.table, write.put_row(batch, found, row, size))


def batch_write_item(core: Core, request: BatchWriteItem) -> Work:
    if sum(map(len, request.request_items.values())) > BATCH_WRITE_REQUESTS:
        raise ValidationException("Too many items requested for the BatchWriteItem call")
    parts = [_part(core.catalog, table_name_of(given), requests) for given, requests in request.request_items.items()]
    # The requests go now: a large batch would keep its body while it waits.
    request.request_items = {}

    def work(batch: WriteBatch) -> Answer:
        tables = [core.catalog.require_in(batch, name) for name, _ in parts]
        found = [_find(batch, table, writes) for table, (_, writes) in zip(tables, parts, strict=True)]
        _check_distinct(found)
        consumed = [Consumed(table) for table in tables]
        for total, (_, writes), rows in zip(consumed, parts, found, strict=True):
            for each, row in zip(writes, rows, strict=True):
                written = each.apply(batch, row)
                total.add(written.units, written.indexes)
        return _answer(batch, request, consumed, parts)

    return work


def _part(catalog: Catalog, name: str, requests: Sequence[WriteRequest]) -> tuple[str, list[_Write]]:
    known = catalog.last_seen(name)
    return name, [_Write(each, known) for each in requests]


def _find(batch: WriteBatch, table: Table, writes: list[_Write]) -> list[write.Found]:
    row_keys = [each.row_key(table) for each in writes]
    return [write.Found(table, row_key, batch.get(row_key)) for row_key in row_keys]


def _check_distinct(found: list[list[write.Found]]) -> None:
    """No item may occur twice. A table may occur by name and by ARN, so the rows of all parts are compared."""
    row_keys = [row.key for rows in found for row in rows]
    if len(set(row_keys)) != len(row_keys):
        raise ValidationException(DUPLICATES)


def _answer(
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
