"""Answers: their two forms, and what they report on request.

An answer is JSON text for the wire, and dictionaries for callers in the process. Its `Json` leaves hold text as it is
stored. `to_json` splices that text in; `to_dict` parses it. On request an answer has `ConsumedCapacity` and, for
writes, `ItemCollectionMetrics`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import orjson

from sortkey.engine.rows import stored_item
from sortkey.engine.rows.stored_item import Json, LongJson
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Answer
from sortkey.engine.tables.table import Table
from sortkey.limits import MIB
from sortkey.storage import after_prefix, ascending
from sortkey.values.attribute import Item

Parse = Callable[[Json], Any]

GIB: Final = 1 << 30
WALKED_ROWS: Final = 256
WALKED_BYTES: Final = MIB
"""A partition with more rows or bytes is not measured."""


def to_json(answer: Answer) -> bytes:
    """The answer as DynamoDB JSON text."""
    return orjson.dumps(answer, default=_splice)


_PLACE: Final = b"\0"
"""Where a long text belongs: a byte that is in no JSON."""


def to_pieces(answer: Answer) -> list[bytes]:
    """The same text, in pieces if it is long. To join 16 MB would stop the loop for several milliseconds."""
    left_out: list[LongJson] = []

    def splice(leaf: Any) -> orjson.Fragment:
        if isinstance(leaf, LongJson):
            left_out.append(leaf)
            return orjson.Fragment(_PLACE)
        return _splice(leaf)

    first, *others = orjson.dumps(answer, default=splice).split(_PLACE)
    pieces = [first]
    for leaf, text in zip(left_out, others, strict=True):
        pieces += (*leaf.pieces, text)
    return pieces


def _splice(leaf: Any) -> orjson.Fragment:
    if isinstance(leaf, Json):
        return orjson.Fragment(leaf.text)
    raise TypeError(f"an answer cannot hold {type(leaf).__name__}")


def _parse(leaf: Json) -> Any:
    return orjson.loads(leaf.text)


def to_dict(answer: Answer, parse: Parse = _parse) -> dict[str, Any]:
    """The answer as DynamoDB JSON, with every leaf parsed. Binary stays base64 text unless `parse` decodes it."""
    return {name: _parse_leaves(value, parse) for name, value in answer.items()}


def _parse_leaves(value: Any, parse: Parse) -> Any:
    if isinstance(value, Json):
        return parse(value)
    if type(value) is dict:
        return {name: _parse_leaves(member, parse) for name, member in value.items()}
    if type(value) is list:
        return [_parse_leaves(element, parse) for element in value]
    return value


class Consumed:
    """Capacity units that one operation took from a table and its indexes."""

    __slots__ = ("indexes", "table", "units", "vectors")

    def __init__(
        self,
        table: Table,
        units: float = 0.0,
        indexes: Mapping[str, float] | None = None,
        vectors: Mapping[str, float] | None = None,
    ) -> None:
        self.table = table
        self.units = units
        self.indexes: dict[str, float] = {} if indexes is None else dict(indexes)
        self.vectors = vectors
        """The bytes written to each vector index."""

    def add(
        self, units: float, indexes: Mapping[str, float] | None = None, vectors: Mapping[str, float] | None = None
    ) -> None:
        self.units += units
        for name, more in (indexes or {}).items():
            self.indexes[name] = self.indexes.get(name, 0.0) + more
        if vectors:
            known = self.vectors or {}
            self.vectors = {**known, **{name: known.get(name, 0.0) + more for name, more in vectors.items()}}

    def total(self) -> float:
        return self.units + sum(self.indexes.values()) if self.indexes else self.units

    def shape(self, detail: str | None, access: str | None = None) -> dict[str, Any]:
        """`ConsumedCapacity`. Transactions also give the units by `access`, which is `Read` or `Write`."""
        if access is None and detail != "INDEXES":
            # The common case: the endpoint counts the units of every request.
            return {"TableName": self.table.name, "CapacityUnits": self.total()}
        shape: dict[str, Any] = {"TableName": self.table.name, **_units(self.total(), access)}
        if detail != "INDEXES":
            return shape
        shape["Table"] = _units(self.units, access)
        for member, local in (("LocalSecondaryIndexes", True), ("GlobalSecondaryIndexes", False)):
            found = {
                name: _units(units, access)
                for name, units in self.indexes.items()
                if self.table.indexes[name].entry.local is local
            }
            if found:
                shape[member] = found
        if self.vectors:
            shape["VectorIndexes"] = {name: {"VectorWriteRequestBytes": size} for name, size in self.vectors.items()}
        return shape


def total_by_table(consumed: Iterable[Consumed]) -> dict[str, Consumed]:
    totals: dict[str, Consumed] = {}
    for each in consumed:
        total = totals.get(each.table.name)
        if total is None:
            totals[each.table.name] = Consumed(each.table, each.units, each.indexes, each.vectors)
        else:
            total.add(each.units, each.indexes, each.vectors)
    return totals


def _units(units: float, access: str | None) -> dict[str, float]:
    return {"CapacityUnits": units} if access is None else {"CapacityUnits": units, f"{access}CapacityUnits": units}


def is_requested(detail: str | None) -> bool:
    """Whether a request's `ReturnConsumedCapacity` asks for any."""
    return detail is not None and detail != "NONE"


def add_write_metrics(batch: WriteBatch, answer: Answer, request: Any, consumed: Consumed, item: Item) -> Answer:
    """The answer of a single write, with what the request asked to be reported."""
    if is_requested(request.return_consumed_capacity):
        answer["ConsumedCapacity"] = consumed.shape(request.return_consumed_capacity)
    if request.return_item_collection_metrics == "SIZE" and consumed.table.local_indexes:
        answer["ItemCollectionMetrics"] = _collection_metrics(batch, consumed.table, item)
    return answer


def collection_metrics(batch: WriteBatch, table: Table, items: Iterable[Item]) -> list[dict[str, Any]]:
    """The metrics of each collection that the items belong to, in the order of their first items."""
    collections: dict[bytes, Item] = {}
    for item in items:
        collections.setdefault(table.partition_prefix(item), item)
    return [_collection_metrics(batch, table, item) for item in collections.values()]


def _collection_metrics(batch: WriteBatch, table: Table, item: Item) -> dict[str, Any]:
    """The size of the item's partition, local indexes included, as a range of gigabytes that it falls into."""
    name = table.partition.name
    return {"ItemCollectionKey": Json.of({name: item[name]}), "SizeEstimateRangeGB": _gigabytes(batch, table, item)}


def _gigabytes(batch: WriteBatch, table: Table, item: Item) -> list[float]:
    """The range is a gigabyte wide, unless both the table and the partition are large.

    Other writes wait meanwhile, so a large partition is not walked: it has no more than the whole table.
    """
    parts = [table, *(index for index in table.indexes.values() if index.entry.local)]
    most = sum(batch.size_of(part.space) for part in parts)
    if most >= GIB:
        most = min(most, sum(_walked_size(batch, part.partition_prefix(item), most) for part in parts))
    return [0.0, float(most // GIB + 1)]


def _walked_size(batch: WriteBatch, prefix: bytes, otherwise: int) -> int:
    """The size of the rows with this prefix, if there are few."""
    size = 0
    for number, (_, row) in enumerate(ascending(batch.transaction, prefix, after_prefix(prefix))):
        if number == WALKED_ROWS or size > WALKED_BYTES:
            return otherwise
        size += stored_item.size(row)
    return size
