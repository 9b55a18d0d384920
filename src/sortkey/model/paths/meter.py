"""What each access path has cost so far: calls, rows read and returned, capacity units, time.

Rows read per row returned is the path's *read amplification*. A path that reads far more than it returns is answered by
the wrong key; the meter says so once, in a warning, before the bill does.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

AMPLIFICATION: Final = 10
"""Rows read per row returned, beyond which a path is warned of."""
_FEW_ROWS: Final = 10
"""Less than this counts as so much, since one answer that happens to be empty says nothing."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reading:
    """The sums of one access path."""

    path: str
    calls: int = 0
    rows_read: int = 0
    rows_returned: int = 0
    units: float = 0.0
    seconds: float = 0.0

    @property
    def amplification(self) -> float:
        """Rows read per row returned; 0 where nothing was read."""
        return self.rows_read / max(self.rows_returned, 1) if self.rows_read else 0.0

    @property
    def seconds_per_call(self) -> float:
        return self.seconds / self.calls if self.calls else 0.0


class _Sums:
    """One path's sums while they grow: plain numbers, since every request adds to them."""

    __slots__ = ("calls", "rows_read", "rows_returned", "seconds", "units", "warned")

    def __init__(self) -> None:
        self.calls = self.rows_read = self.rows_returned = 0
        self.units = self.seconds = 0.0
        self.warned = False

    def reading(self, path: str) -> Reading:
        return Reading(path, self.calls, self.rows_read, self.rows_returned, self.units, self.seconds)


class Meter:
    """Any number of threads may add to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._paths: defaultdict[str, _Sums] = defaultdict(_Sums)

    def requested(self, path: str, operation: str, answer: Mapping[str, Any], seconds: float) -> None:
        """One request that was answered."""
        count = _ROWS_READ.get(operation)
        read = 0 if count is None else count(answer)
        units = _units(answer.get("ConsumedCapacity"))
        with self._lock:
            sums = self._paths[path]
            sums.calls += 1
            sums.rows_read += read
            sums.units += units
            sums.seconds += seconds

    def got(self, path: str, rows: int, units: float, seconds: float) -> None:
        """One request that read as many rows as its caller is given."""
        with self._lock:
            sums = self._paths[path]
            sums.calls += 1
            sums.rows_read += rows
            sums.rows_returned += rows
            sums.units += units
            sums.seconds += seconds

    def returned(self, path: str, rows: int, read: int = 0) -> None:
        """What a call of the session gave its caller; and rows read, where no answer told their number."""
        with self._lock:
            sums = self._paths[path]
            sums.rows_read += read
            sums.rows_returned += rows
            # Most paths read what they return, so this is most of what there is to do.
            if sums.warned or sums.rows_read <= AMPLIFICATION * sums.rows_returned:
                return
            if sums.rows_read <= AMPLIFICATION * _FEW_ROWS:
                return
            sums.warned = True
            reading = sums.reading(path)
        _logger.warning(
            "%s reads %.0f rows for each row it returns; a key that holds what is filtered by would read one",
            path,
            reading.amplification,
        )

    def readings(self) -> list[Reading]:
        """All paths, the costliest first."""
        with self._lock:
            readings = [sums.reading(path) for path, sums in self._paths.items()]
        return sorted(readings, key=lambda reading: (-reading.units, -reading.rows_read, reading.path))

    def reading(self, path: str) -> Reading:
        with self._lock:
            return self._paths[path].reading(path) if path in self._paths else Reading(path)

    def __str__(self) -> str:
        lines = [f"{'path':40} {'calls':>8} {'read':>10} {'returned':>10} {'×':>6} {'units':>10} {'ms/call':>8}"]
        lines += [
            f"{each.path:40} {each.calls:8,} {each.rows_read:10,} {each.rows_returned:10,} {each.amplification:6.1f} "
            f"{each.units:10,.1f} {each.seconds_per_call * 1000:8.2f}"
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
}


def _units(consumed: Any) -> float:
    if not consumed:
        return 0.0
    if type(consumed) is list:
        return sum(map(_units, consumed))
    units: float = consumed.get("CapacityUnits", 0.0)
    return units
