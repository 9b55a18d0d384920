"""Requests and capacity units by partition, of the last minute or two: which partitions are hot now.

Two windows are kept, the current one and the one before, each with one sketch for reads and one for writes. The answer
is the sum of both, so it covers at least a whole window, once there was one.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nlargest
from typing import Final, Generic, TypeVar

from sortkey.limits import PARTITION_READ_UNITS, PARTITION_WRITE_UNITS
from sortkey.values.heavy_hitters import HeavyHitters

K = TypeVar("K")

WINDOW_SECONDS: Final = 60.0
CAPACITY: Final = 512
"""A window's counts are exact for up to twice as many partitions. Beyond that, what is missed of one partition is less
than this part of all units."""
SAMPLING: Final = 16


@dataclass(frozen=True, slots=True)
class Load(Generic[K]):
    """What one partition has served."""

    partition: K
    requests: int
    read_units: float
    write_units: float
    read_error: float
    """By how much `read_units` may be wrong; see `Count.error`."""
    write_error: float


class PartitionCounts(Generic[K]):
    def __init__(self, now: float) -> None:
        self.reads: HeavyHitters[K] = HeavyHitters(CAPACITY, SAMPLING)
        """Those of the current window, as `writes`."""
        self.writes: HeavyHitters[K] = HeavyHitters(CAPACITY, SAMPLING)
        self.ends = now + WINDOW_SECONDS
        """When the current window is over, and `turn` must be called."""
        self._began = now
        self._before: PartitionCounts[K] | None = None

    def turn(self, now: float) -> None:
        """Begin a new window if the current one is over."""
        if now < self.ends:
            return
        before: PartitionCounts[K] = PartitionCounts(self._began)
        before.reads, before.writes = self.reads, self.writes
        # After a pause, what was counted before it is no longer "now".
        self._before = before if now < self.ends + WINDOW_SECONDS else None
        self.reads, self.writes = HeavyHitters(CAPACITY, SAMPLING), HeavyHitters(CAPACITY, SAMPLING)
        self._began = now
        self.ends = now + WINDOW_SECONDS

    def seconds(self, now: float) -> float:
        """How long the windows have lasted."""
        return now - (self._began if self._before is None else self._before._began)

    def hottest(self, number: int) -> list[Load[K]]:
        """The partitions that served most, by their share of what DynamoDB allows one partition."""
        heats: dict[K, float] = {}
        for sketch, limit in (*_limits(self), *(() if self._before is None else _limits(self._before))):
            for key, count in sketch:
                heats[key] = heats.get(key, 0.0) + count.units / limit
        return [self._load(key) for key in nlargest(number, heats, key=heats.__getitem__)]

    def _load(self, partition: K) -> Load[K]:
        before = self._before
        reads, read_units, read_error = _sum(partition, self.reads, None if before is None else before.reads)
        writes, write_units, write_error = _sum(partition, self.writes, None if before is None else before.writes)
        return Load(partition, reads + writes, read_units, write_units, read_error, write_error)


def _limits(counts: PartitionCounts[K]) -> tuple[tuple[HeavyHitters[K], int], ...]:
    return (counts.reads, PARTITION_READ_UNITS), (counts.writes, PARTITION_WRITE_UNITS)


def _sum(partition: K, *sketches: HeavyHitters[K] | None) -> tuple[int, float, float]:
    """Requests, units and the error of the units. Where the partition has no count, it has had `floor` at most."""
    requests, units, error = 0, 0.0, 0.0
    for sketch in sketches:
        count = None if sketch is None else sketch.get(partition)
        if count is not None:
            requests += count.requests
            units += count.units
            error += count.error
        elif sketch is not None:
            error += sketch.floor
    return requests, units, error
