"""What a write answers besides the item: consumed capacity and item collection metrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from sortkey.engine import consumed_capacity
from sortkey.engine.consumed_capacity import Consumed
from sortkey.engine.core import Answer
from sortkey.engine.rows import stored_item
from sortkey.engine.rows.stored_item import Json
from sortkey.engine.tables.table import Table
from sortkey.engine.write_batch import WriteBatch
from sortkey.errors import ValidationException
from sortkey.storage import after_prefix, ascending
from sortkey.values.attribute import Item

GIB: Final = 1 << 30


def check_return_old(return_values: str | None) -> None:
    """Put and Delete know only what was there before."""
    if return_values not in (None, "NONE", "ALL_OLD"):
        raise ValidationException("ReturnValues can only be ALL_OLD or NONE")


def written(batch: WriteBatch, answer: Answer, request: Any, consumed: Consumed, item: Item) -> Answer:
    """Add what a single write was asked to report."""
    if consumed_capacity.asked(request.return_consumed_capacity):
        answer["ConsumedCapacity"] = consumed.shape(request.return_consumed_capacity)
    if request.return_item_collection_metrics == "SIZE" and consumed.table.local_indexes:
        answer["ItemCollectionMetrics"] = collection_metrics(batch, consumed.table, item)
    return answer


def all_collection_metrics(batch: WriteBatch, table: Table, items: Iterable[Item]) -> list[dict[str, Any]]:
    """One entry for each collection that the items belong to, in the order of their first items."""
    collections: dict[bytes, Item] = {}
    for item in items:
        collections.setdefault(table.partition_prefix(item), item)
    return [collection_metrics(batch, table, item) for item in collections.values()]


def collection_metrics(batch: WriteBatch, table: Table, item: Item) -> dict[str, Any]:
    """How large the item's partition is, local indexes included, as the gigabyte that its size falls into."""
    name = table.partition.name
    prefixes = [table.partition_prefix(item)]
    prefixes += [index.partition_prefix(item) for index in table.indexes.values() if index.entry.local]
    size = sum(
        stored_item.size(row)
        for prefix in prefixes
        for _, row in ascending(batch.transaction, prefix, after_prefix(prefix))
    )
    low = float(size // GIB)
    return {"ItemCollectionKey": Json.of({name: item[name]}), "SizeEstimateRangeGB": [low, low + 1.0]}
