"""What access paths and partitions have cost so far.

The meter has calls, rows read and returned, capacity units and time of each path. Rows read per row returned is the
path's *read amplification*. A path that reads far more than it returns uses the wrong key; the meter logs one warning
for it.

Of the hottest partitions it has the requests and units lately. DynamoDB serves 3,000 read units or 1,000 write
units a second from one partition key, however large the capacity of the table is. The memory is bounded
(`values/partition_counts.py`), and so is the time: of many requests a sample counts. (With all of them, a get in the
process took a ninth longer.) An answer has the units of each table, not of each key, so those of a request with several
keys are shared out equally.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from random import randrange
from typing import Any, Final, Protocol

from sortkey.model.fields.codec import Row
from sortkey.model.keys.key_layout import partition_attributes
from sortkey.values.partition_counts import Load, PartitionCounts, Totals

Members = Mapping[str, Any]

_LEAST_WRITE: Final = 1.0
_LEAST_READ: Final = 0.5

COUNTED_REQUESTS: Final = 1024
"""Of each minute, all of which count."""
SAMPLED: Final = 16
"""Of the others, one in so many counts for all of them."""

Partition = tuple[str, str | None, str | bytes]
"""Table, index (None is the table itself) and partition key."""

AMPLIFICATION: Final = 10
"""The ratio of rows read to rows returned above which a warning is logged."""
_FEW_ROWS: Final = 10
"""Fewer rows returned count as this many, since a single empty answer means nothing."""

_logger = logging.getLogger(__name__)


class Named(Protocol):
    """A key, an index or an access path."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Reading:
    """The totals of one access path."""

    path: str
    calls: int = 0
    rows_read: int = 0
    rows_returned: int = 0
    units: float = 0.0
    seconds: float = 0.0
    rows_unrecognised: int = 0
    """Rows that no class of the table recognises by their key."""
    rows_undecodable: int = 0
    """Rows that `undecodable="skip"` left out."""
    blocks_read: float = 0.0
    """Blocks of 4 KB that the read units stand for. Each request is rounded up, so this bounds the size of the rows."""
    write_units: float = 0.0
    """Those of `units` that are write units, with those of the indexes."""
    filtered_by: frozenset[str] = frozenset()
    """The fields that filters on the path have compared."""

    @property
    def read_units(self) -> float:
        """Those of `units` that are read units."""
        return self.units - self.write_units

    @property
    def amplification(self) -> float:
        """Rows read per row returned; 0 if none were read."""
        return self.rows_read / max(self.rows_returned, 1) if self.rows_read else 0.0

    @property
    def seconds_per_call(self) -> float:
        """The mean time of a call."""
        return self.seconds / self.calls if self.calls else 0.0


class _Sums:
    """The running totals of one path: mutable, since every request adds to them."""

    __slots__ = (
        "ahead",
        "blocks",
        "calls",
        "filtered_by",
        "rows_read",
        "rows_returned",
        "seconds",
        "undecodable",
        "units",
        "unrecognised",
        "warned",
        "written",
    )

    def __init__(self) -> None:
        self.calls = self.rows_read = self.rows_returned = self.unrecognised = self.undecodable = self.ahead = 0
        self.units = self.seconds = self.blocks = self.written = 0.0
        self.warned = False
        self.filtered_by: frozenset[str] = frozenset()

    def reading(self, path: str) -> Reading:
        return Reading(
            path,
            self.calls,
            self.rows_read,
            self.rows_returned,
            self.units,
            self.seconds,
            self.unrecognised,
            self.undecodable,
            self.blocks,
            self.written,
            self.filtered_by,
        )


class Meter:
    """What each access path has cost so far; `db.meter`. Printed, it is a table."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._paths: defaultdict[str, _Sums] = defaultdict(_Sums)
        self.partitions = PartitionMeter()
        """What `hottest` shows."""

    def requested(
        self, path: str, operation: str, answer: Mapping[str, Any], seconds: float, consistent: bool = False
    ) -> float:
        """Adds an answered request and returns its units; the rows returned are added by `returned`."""
        count = _ROWS_READ.get(operation)
        read = 0 if count is None else count(answer)
        units = units_of(answer.get("ConsumedCapacity"))
        self.add(path, read, 0, units, seconds, consistent, written=operation in _WRITES)
        return units

    def add(
        self,
        path: str,
        read: int,
        returned: int,
        units: float,
        seconds: float,
        consistent: bool = False,
        *,
        written: bool = False,
    ) -> None:
        """Adds one request; `written` tells that it is a write."""
        with self._lock:
            sums = self._paths[path]
            sums.calls += 1
            sums.rows_read += read
            sums.rows_returned += returned
            sums.units += units
            if written:
                sums.written += units
            sums.blocks += units if consistent else units + units
            sums.seconds += seconds

    def scanned(self, path: str, rows: int) -> None:
        """Adds the rows that a scan returned. It reads whole tables on purpose, so there is no warning."""
        with self._lock:
            self._paths[path].rows_returned += rows

    def returned(self, path: str, rows: int, read: int = 0) -> None:
        """Adds the rows that a session call returned, and rows read if the answer did not contain their number."""
        with self._lock:
            sums = self._paths[path]
            sums.rows_read += read
            sums.rows_returned += rows
            # The common case: a path reads what it returns.
            if sums.warned or sums.rows_read <= AMPLIFICATION * sums.rows_returned:
                return
            if sums.rows_read - sums.ahead <= AMPLIFICATION * max(_FEW_ROWS, sums.rows_returned):
                return
            sums.warned = True
            reading = sums.reading(path)
        _logger.warning(
            "%s reads %.0f rows for each row it returns; an index on the filtered fields would read one",
            path,
            reading.amplification,
        )

    def filtered(self, path: str, fields: Iterable[str]) -> None:
        """Adds the fields of a filter."""
        with self._lock:
            sums = self._paths[path]
            # They are fields of the class, so there are never many.
            sums.filtered_by = sums.filtered_by.union(fields)

    def read_ahead(self, path: str, rows: int) -> None:
        """Adds rows that the merge of a sharded path read and did not need; an index would not read fewer."""
        with self._lock:
            self._paths[path].ahead += rows

    def skipped(self, path: str, *, unrecognised: int = 0, undecodable: int = 0) -> bool:
        """Adds rows that no item was made of; returns whether they are the first of their kind on the path."""
        with self._lock:
            sums = self._paths[path]
            first = not (sums.unrecognised if unrecognised else sums.undecodable)
            sums.unrecognised += unrecognised
            sums.undecodable += undecodable
            return first

    def readings(self) -> list[Reading]:
        """All paths, the most expensive first."""
        with self._lock:
            readings = [sums.reading(path) for path, sums in self._paths.items()]
        return sorted(readings, key=lambda reading: (-reading.units, -reading.rows_read, reading.path))

    def reading(self, path: str | Named) -> Reading:
        """The totals of one path: of a key or an index, `Price.by_product`, or by its name."""
        name = path if isinstance(path, str) else path.name
        with self._lock:
            return self._paths[name].reading(name) if name in self._paths else Reading(name)

    def hottest(self, n: int = 10) -> list[PartitionReading]:
        """The partitions of tables and indexes that this session has used most in the last minute or two, by their
        share of what DynamoDB allows one partition: 3,000 read units and 1,000 write units a second."""
        if type(n) is not int or n < 0:
            raise ValueError(f"hottest takes a number of partitions, an int of at least 0, not {n!r}")
        return self.partitions.hottest(n)

    def __str__(self) -> str:
        lines = [
            f"{'path':40} {'calls':>8} {'read':>10} {'returned':>10} {'skipped':>8} {'×':>6} {'units':>10} "
            f"{'ms/call':>8}"
        ]
        lines += [
            f"{each.path:40} {each.calls:8,} {each.rows_read:10,} {each.rows_returned:10,} "
            f"{each.rows_unrecognised + each.rows_undecodable:8,} {each.amplification:6.1f} {each.units:10,.1f} "
            f"{each.seconds_per_call * 1000:8.2f}"
            for each in self.readings()
        ]
        return "\n".join(lines)


def _got(answer: Mapping[str, Any]) -> int:
    return 1 if "Item" in answer else 0


def _scanned(answer: Mapping[str, Any]) -> int:
    read: int = answer["ScannedCount"]
    return read


_ROWS_READ: Final[Mapping[str, Callable[[Mapping[str, Any]], int]]] = {
    "GetItem": _got,
    "Query": _scanned,
    "Scan": _scanned,
}


def units_of(consumed: Any) -> float:
    """The capacity units in an answer's ConsumedCapacity; 0 without it."""
    if not consumed:
        return 0.0
    if type(consumed) is list:
        return sum(map(units_of, consumed))
    units: float = consumed.get("CapacityUnits", 0.0)
    return units


@dataclass(frozen=True, slots=True)
class PartitionReading:
    """The totals of one partition of a table or an index, in the last `seconds`."""

    table: str
    index: str | None
    """None for a partition of the table itself."""
    key: str
    """The partition key: a number as text, binary as hexadecimal digits, several attributes with commas."""
    requests: int
    """Each key of a batch or a transaction is one."""
    read_units: float
    write_units: float
    """With those of the indexes that the writes changed."""
    seconds: float
    """What the totals cover: one to two minutes, or less after the start."""
    read_error: float = 0.0
    """By how much `read_units` may be wrong; 0 for up to 1,024 partitions a minute (docs/guides/hot-partitions.md)."""
    write_error: float = 0.0
    """By how much `write_units` may be wrong."""

    def __str__(self) -> str:
        place = self.table if self.index is None else f"{self.table}/{self.index}"
        return (
            f"{place} {self.key}: {self.requests:,} requests, {self.read_units:,.1f} read units, "
            f"{self.write_units:,.1f} write units in {self.seconds:,.0f} s"
        )


class PartitionMeter:
    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._counts: PartitionCounts[Partition] = PartitionCounts(monotonic())
        self._requests = 0
        """Counted in the current window."""
        self._left_out = 0
        """How many more requests are left out of the sample."""
        self._weight = 1

    def samples(self) -> bool:
        """Whether the next request counts. Call it once for each request, before `read` or `written`."""
        if self._left_out:
            self._left_out -= 1
            return False
        self._requests += 1
        if self._requests > COUNTED_REQUESTS:
            self._weight = SAMPLED
            # At random: programs repeat the same few requests.
            self._left_out = randrange(2 * SAMPLED - 1)
        return True

    def read(self, partition: Partition, units: float, requests: int = 1) -> None:
        """Adds requests to one partition that took so many read units together."""
        now = self._monotonic()
        with self._lock:
            self._turn(now)
            self._counts.reads.add(partition, units * self._weight, requests * self._weight)

    def written(self, partition: Partition, units: float, requests: int = 1) -> None:
        """The same of writes."""
        now = self._monotonic()
        with self._lock:
            self._turn(now)
            self._counts.writes.add(partition, units * self._weight, requests * self._weight)

    def hottest(self, number: int) -> list[PartitionReading]:
        now = self._monotonic()
        with self._lock:
            self._turn(now)
            seconds, loads = self._counts.seconds(now), self._counts.hottest(number)
        return [_reading(load, seconds) for load in loads]

    def window(self) -> tuple[float, dict[Partition, Totals]]:
        """When the current window is over, and what each partition has served in it until now."""
        with self._lock:
            self._turn(self._monotonic())
            return self._counts.ends, self._counts.window()

    def _turn(self, now: float) -> None:
        """Begin a new window if the current one is over."""
        if now >= self._counts.ends:
            self._counts.turn(now)
            self._requests = self._left_out = 0
            self._weight = 1


def _reading(load: Load[Partition], seconds: float) -> PartitionReading:
    table, index, key = load.partition
    return PartitionReading(
        table,
        index,
        key if isinstance(key, str) else key.hex(),
        load.requests,
        load.read_units,
        load.write_units,
        seconds,
        load.read_error,
        load.write_error,
    )


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
_WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
