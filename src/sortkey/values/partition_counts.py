"""Requests and capacity units by partition, of the last minute or two: which partitions are hot now.

Two windows are kept, the current one and the one before, each with one sketch for reads and one for writes. The answer
is the sum of both, so it covers at least a whole window, once there was one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from sortkey.limits import PARTITION_READ_UNITS, PARTITION_WRITE_UNITS
from sortkey.values.heavy_hitters import Count, HeavyHitters

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

    @property
    def heat(self) -> float:
        """In seconds of all that DynamoDB allows one partition."""
        return self.read_units / PARTITION_READ_UNITS + self.write_units / PARTITION_WRITE_UNITS


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
        before = self._before
        reads = _sums(self.reads, None if before is None else before.reads)
        writes = _sums(self.writes, None if before is None else before.writes)
        loads = [_load(key, reads.get(key), writes.get(key)) for key in {**reads, **writes}]
        return sorted(loads, key=lambda load: (-load.heat, -load.requests))[:number]


_Sum = tuple[int, float, float]
"""Requests, units and the error of the units."""


def _sums(now: HeavyHitters[K], before: HeavyHitters[K] | None) -> Mapping[K, _Sum]:
    sums: dict[K, _Sum] = {}
    for sketch, other in ((now, before), (before, now)):
        if sketch is None:
            continue
        for key, count in sketch:
            if key not in sums:
                beside = None if other is None else other.get(key)
                sums[key] = _sum(count, beside, 0.0 if other is None else other.floor)
    return sums


def _sum(count: Count, beside: Count | None, floor: float) -> _Sum:
    """`beside` is the key's count in the other window; without one, it has had `floor` there at most."""
    if beside is None:
        return count.requests, count.units, count.error + floor
    return count.requests + beside.requests, count.units + beside.units, count.error + beside.error


def _load(partition: K, read: _Sum | None, written: _Sum | None) -> Load[K]:
    nothing = (0, 0.0, 0.0)
    reads, read_units, read_error = read or nothing
    writes, write_units, write_error = written or nothing
    return Load(partition, reads + writes, read_units, write_units, read_error, write_error)
