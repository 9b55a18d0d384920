"""What each partition has been asked for lately: requests and capacity units, of the hottest partitions.

DynamoDB serves 3,000 read units or 1,000 write units a second from one partition key, however large the capacity of the
table is. The memory is bounded (`values/heavy_hitters.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from sortkey.values.partition_counts import Load, PartitionCounts

Partition = tuple[str, str | None, str | bytes]
"""Table, index (None is the table itself) and partition key."""


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
    """By how much `read_units` may be wrong; 0 for up to 1,024 partitions a minute. See docs/patterns.md."""
    write_error: float = 0.0
    """By how much `write_units` may be wrong."""

    def __str__(self) -> str:
        place = self.table if self.index is None else f"{self.table}/{self.index}"
        return (
            f"{place} {self.key}: {self.requests:,} requests, {self.read_units:,.1f} read units, "
            f"{self.write_units:,.1f} write units in {self.seconds:,.0f} s"
        )


class PartitionMeter:
    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._counts: PartitionCounts[Partition] = PartitionCounts(now())

    def read(self, partition: Partition, units: float, requests: int = 1) -> None:
        """Adds requests to one partition that took so many read units together."""
        now = self._now()
        with self._lock:
            if now >= self._counts.ends:
                self._counts.turn(now)
            self._counts.reads.add(partition, units, requests)

    def written(self, partition: Partition, units: float, requests: int = 1) -> None:
        """The same of writes."""
        now = self._now()
        with self._lock:
            if now >= self._counts.ends:
                self._counts.turn(now)
            self._counts.writes.add(partition, units, requests)

    def hottest(self, number: int) -> list[PartitionReading]:
        now = self._now()
        with self._lock:
            self._counts.turn(now)
            seconds, loads = self._counts.seconds(now), self._counts.hottest(number)
        return [_reading(load, seconds) for load in loads]


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
