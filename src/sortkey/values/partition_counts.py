"""Requests and capacity units by partition, of the last minute or two: which partitions are hot now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import nlargest
from typing import Final, Generic, NamedTuple, TypeVar

from sortkey.limits import PARTITION_READ_UNITS, PARTITION_WRITE_UNITS

K = TypeVar("K")

# Numerical Recipes' generator: `values` is pure, and a fixed stride would meet a cycle of keys always at the same key.
_FACTOR: Final = 1_664_525
_INCREMENT: Final = 1_013_904_223
_MODULUS: Final = 1 << 32
UNLIKELY: Final = 3
"""In 95 of 100 cases, the wait for an event of probability p is less than this divided by p."""


class Count:
    """What one key has had."""

    __slots__ = ("assumed", "marked", "missed", "requests", "units")

    def __init__(self, missed: float) -> None:
        self.requests = 0
        self.units = 0.0
        self.missed = missed
        """The units that it may have had before it was admitted, at most."""
        self.assumed = 0.0
        """The part of `units` that stands for requests that were not counted."""
        self.marked = 0.0
        """The units at the last `since_mark`."""

    @property
    def error(self) -> float:
        """By how much `units` may be wrong; with `sampling`, with 95 % probability."""
        return self.missed + UNLIKELY * self.assumed

    def since_mark(self) -> float:
        """The units since the last call."""
        units = self.units - self.marked
        self.marked = self.units
        return units


class HeavyHitters(Generic[K]):
    """The heaviest keys of a stream of requests, in bounded memory, whatever the number of keys.

    A sketch holds at most `2 * capacity` keys. When it is full, it is purged: the lighter half goes, and `floor`
    becomes the most that a key that went can have had. (This is the algorithm of Misra and Gries, purged in batches.)
    While no more keys have come than fit, every count is exact. Afterwards:

    - A key that is in the sketch has every request counted from its admission on. What it had before is at most
      `missed`.
    - `floor` is at most the sum of all units divided by `capacity`. A key with more than that is in the sketch.

    Admitting a key takes ten times as long as counting a request, and most keys of a large table are light. So a sketch
    with `sampling` admits new keys once it has been full by only some of their requests: by one of `sampling` on
    average. That request stands for those that were not counted, so `sampling` times its units are added. They are no
    bound but an expectation: with 95 % probability, a key has had less than three times that before it was admitted.
    """

    def __init__(self, capacity: int, sampling: int = 1) -> None:
        self._capacity = capacity
        self._sampling = sampling
        self._counts: dict[K, Count] = {}
        self.get = self._counts.get
        """The count of a key; None if it has none. For callers that add to it themselves, which saves a call."""
        self.floor = 0.0
        """What a key that has no count can have had, at most; with `sampling`, expected at most."""
        self._has_been_full = False
        self._wait = 0
        self._state = 0

    def __len__(self) -> int:
        return len(self._counts)

    def __iter__(self) -> Iterator[tuple[K, Count]]:
        return iter(tuple(self._counts.items()))

    def add(self, key: K, units: float, requests: int = 1) -> None:
        """Add requests of one key that took so many units together."""
        count = self.get(key)
        if count is None:
            self.admit(key, units, requests)
            return
        count.requests += requests
        count.units += units

    def admit(self, key: K, units: float, requests: int = 1) -> None:
        """Add the requests of a key that has no count."""
        times = 1
        if self._has_been_full and self._sampling > 1:
            self._wait -= 1
            if self._wait > 0:
                return
            self._wait = self._next_wait()
            times = self._sampling
        if len(self._counts) >= 2 * self._capacity:
            self._purge()
        count = self._counts[key] = Count(self.floor)
        count.requests = requests * times
        count.units = units * times
        count.assumed = count.units - units

    def _next_wait(self) -> int:
        """Less than twice `sampling`, which is its mean."""
        self._state = (self._state * _FACTOR + _INCREMENT) % _MODULUS
        return 1 + self._state * (2 * self._sampling - 1) // _MODULUS

    def _purge(self) -> None:
        self._has_been_full = True
        most = sorted((count.units + count.missed for count in self._counts.values()), reverse=True)
        self.floor = most[self._capacity]
        for key, count in [*self._counts.items()]:
            if count.units + count.missed <= self.floor:
                del self._counts[key]


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


class Totals(NamedTuple):
    """What one partition has served in a window."""

    requests: float
    read_units: float
    write_units: float


NOTHING: Final = Totals(0.0, 0.0, 0.0)


class PartitionCounts(Generic[K]):
    """Two windows are kept, the current one and the one before, each with one sketch for reads and one for writes. The
    answer is the sum of both, so it covers at least a whole window, once there was one."""

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

    def window(self) -> dict[K, Totals]:
        """What each partition has served in the current window."""
        found = {key: Totals(count.requests, count.units, 0.0) for key, count in self.reads}
        for key, count in self.writes:
            requests, read_units, _ = found.get(key, NOTHING)
            found[key] = Totals(requests + count.requests, read_units, count.units)
        return found

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
