"""Which partitions a request reads or writes, and their shares of its capacity units.

An answer has the units of each table, not of each key. A request with several keys is shared out equally.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from sortkey.model.items.codec import Row
from sortkey.model.keys.partition_attributes import partition_attributes
from sortkey.model.paths.partition_meter import Partition, PartitionMeter

Members = Mapping[str, Any]

_LEAST_WRITE: Final = 1.0
_LEAST_READ: Final = 0.5


def count_partitions(
    meter: PartitionMeter, operation: str, members: Members, answer: Members, units: float, consistent: bool
) -> None:
    """Adds an answered request, which took so many units. One that names no partition, such as a Scan, adds nothing."""
    if not meter.samples():
        return
    if operation in _ONE:
        partition = _ONE[operation](members)
        if partition is None:
            return
        if operation in _READS:
            # A store that does not report units: each request counts as the smallest.
            meter.read(partition, units or _least_read(consistent))
        else:
            meter.written(partition, units or _LEAST_WRITE)
    elif operation in _SEVERAL:
        consumed = answer.get("ConsumedCapacity", ())
        _count_several(meter, operation, [*_SEVERAL[operation](members)], consumed, consistent)


def _count_several(
    meter: PartitionMeter, operation: str, partitions: list[Partition], consumed: Iterable[Members], consistent: bool
) -> None:
    units = {part["TableName"]: part.get("CapacityUnits", 0.0) for part in consumed}
    keys: dict[str, int] = {}
    for table, _, _ in partitions:
        keys[table] = keys.get(table, 0) + 1
    for partition in partitions:
        share = units.get(partition[0], 0.0) / keys[partition[0]]
        if operation in _READS:
            meter.read(partition, share or _least_read(consistent))
        else:
            meter.written(partition, share or _LEAST_WRITE)


def _least_read(consistent: bool) -> float:
    return _LEAST_READ + _LEAST_READ if consistent else _LEAST_READ


def partition_of_key(table: str, key: Row) -> Partition:
    """Of a primary key. The model builds keys with the partition's attribute first."""
    for value in key.values():
        return table, None, _text(value)
    raise ValueError(f"a key of {table} without attributes")


def _of_key(members: Members) -> Partition:
    return partition_of_key(members["TableName"], members["Key"])


def _of_item(members: Members) -> Partition | None:
    return _of_row(members["TableName"], members["Item"])


def _of_row(table: str, row: Row) -> Partition | None:
    for name in partition_attributes(table, None):
        return (table, None, _text(row[name])) if name in row else None
    return None


def _of_query(members: Members) -> Partition | None:
    """Of a Query as `Path.request` makes it."""
    table, index, values = members["TableName"], members.get("IndexName"), members["ExpressionAttributeValues"]
    value = values.get(":pk")
    if value is not None:
        return table, index, _text(value)
    parts = range(1, len(partition_attributes(table, index)) + 1)
    texts = [_text(values[f":key{number}"]) for number in parts]
    return (table, index, ",".join(text if isinstance(text, str) else text.hex() for text in texts)) if texts else None


def _text(value: Mapping[str, Any]) -> str | bytes:
    """Of a key attribute, which is text, a number or binary."""
    for content in value.values():
        return content if isinstance(content, str) else bytes(content)
    raise ValueError("a key attribute without a value")


def _of_batch_get(members: Members) -> Iterable[Partition]:
    for table, part in members["RequestItems"].items():
        for key in part["Keys"]:
            yield partition_of_key(table, key)


def _of_batch_write(members: Members) -> Iterable[Partition]:
    for table, writes in members["RequestItems"].items():
        for write in writes:
            yield from _of_action(table, write.get("PutRequest") or write["DeleteRequest"])


def _of_transaction(members: Members) -> Iterable[Partition]:
    for action in members["TransactItems"]:
        for part in action.values():
            yield from _of_action(part["TableName"], part)


def _of_action(table: str, part: Members) -> Iterable[Partition]:
    partition = partition_of_key(table, part["Key"]) if "Key" in part else _of_row(table, part["Item"])
    if partition is not None:
        yield partition


_ONE: Final[Mapping[str, Callable[[Members], Partition | None]]] = {
    "GetItem": _of_key,
    "Query": _of_query,
    "PutItem": _of_item,
    "UpdateItem": _of_key,
    "DeleteItem": _of_key,
}
_SEVERAL: Final[Mapping[str, Callable[[Members], Iterable[Partition]]]] = {
    "BatchGetItem": _of_batch_get,
    "TransactGetItems": _of_transaction,
    "BatchWriteItem": _of_batch_write,
    "TransactWriteItems": _of_transaction,
}
_READS: Final = frozenset({"GetItem", "Query", "BatchGetItem", "TransactGetItems"})
