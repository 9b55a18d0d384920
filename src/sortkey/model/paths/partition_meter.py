"""What each partition has been asked for lately: requests and capacity units, of the hottest partitions.

DynamoDB serves 3,000 read units or 1,000 write units a second from one partition key, however large the capacity of the
table is. The memory is bounded (`values/heavy_hitters.py`), and so is the time: of many requests a sample counts. (With
all of them, a get in the process took a ninth longer.)
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from random import randrange
from time import monotonic
from typing import Final

from sortkey.values.partition_counts import Load, PartitionCounts

COUNTED_REQUESTS: Final = 1024
"""Of each minute, all of which count."""
SAMPLED: Final = 16
"""Of the others, one in so many counts for all of them."""

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
    """By how much `read_units` may be wrong; 0 for up to 1,024 partitions a minute. See docs/guides/patterns.md."""
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
        now = self._now()
        with self._lock:
            self._turn(now)
            self._counts.reads.add(partition, units * self._weight, requests * self._weight)

    def written(self, partition: Partition, units: float, requests: int = 1) -> None:
        """The same of writes."""
        now = self._now()
        with self._lock:
            self._turn(now)
            self._counts.writes.add(partition, units * self._weight, requests * self._weight)

    def hottest(self, number: int) -> list[PartitionReading]:
        now = self._now()
        with self._lock:
            self._turn(now)
            seconds, loads = self._counts.seconds(now), self._counts.hottest(number)
        return [_reading(load, seconds) for load in loads]

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
