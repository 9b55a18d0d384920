"""What each access path has cost so far: calls, rows read and returned, capacity units, time.

Rows read per row returned is the path's *read amplification*. A path that reads far more than it returns uses the wrong
key; the meter logs one warning for it.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from sortkey.model.costs.partition_meter import PartitionMeter, PartitionReading

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
        "rows_read",
        "rows_returned",
        "seconds",
        "undecodable",
        "units",
        "unrecognised",
        "warned",
    )

    def __init__(self) -> None:
        self.calls = self.rows_read = self.rows_returned = self.unrecognised = self.undecodable = self.ahead = 0
        self.units = self.seconds = self.blocks = 0.0
        self.warned = False

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
        )


class Meter:
    """What each access path has cost so far; `db.meter`. Printed, it is a table."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._paths: defaultdict[str, _Sums] = defaultdict(_Sums)
        self._misplaced: set[str] = set()
        self.partitions = PartitionMeter()
        """What `hottest` shows."""

    def requested(
        self, path: str, operation: str, answer: Mapping[str, Any], seconds: float, consistent: bool = False
    ) -> float:
        """Adds an answered request and returns its units; the rows returned are added by `returned`."""
        count = _ROWS_READ.get(operation)
        read = 0 if count is None else count(answer)
        units = units_of(answer.get("ConsumedCapacity"))
        self.add(path, read, 0, units, seconds, consistent)
        return units

    def add(self, path: str, read: int, returned: int, units: float, seconds: float, consistent: bool = False) -> None:
        """Adds one request."""
        with self._lock:
            sums = self._paths[path]
            sums.calls += 1
            sums.rows_read += read
            sums.rows_returned += returned
            sums.units += units
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

    def misplaced(self, path: str) -> bool:
        """Whether a row that the store sorts to a wrong place is the first one on the path."""
        with self._lock:
            first = path not in self._misplaced
            self._misplaced.add(path)
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
