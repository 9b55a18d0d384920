"""Limits how many read units a scan takes per second.

A request of a scan may read 1 MB, 128 units. So a limited scan asks for as few rows as take about a second, judging by
the rows so far, and pauses for as long as the units that it took stand for.
"""

from __future__ import annotations

from collections.abc import Callable


class ReadRate:
    def __init__(self, units_per_second: float, now: Callable[[], float]) -> None:
        if not units_per_second > 0:
            raise ValueError(f"rate must be more than 0 read units per second, not {units_per_second}")
        self._rate = units_per_second
        self._now = now
        self._free_at = now()
        self._rows = 0
        self._units = 0.0

    def pause(self) -> float:
        """The seconds until the next request."""
        return max(0.0, self._free_at - self._now())

    def limit(self, requests: int) -> int:
        """How many rows each of several requests may read."""
        # Before anything is known, a row is assumed to have 4 KB and to be read consistently.
        rows_per_unit = self._rows / self._units if self._units else 1.0
        return max(1, int(self._rate * rows_per_unit / requests))

    def took(self, rows: int, units: float) -> None:
        self._rows += rows
        self._units += units
        self._free_at = max(self._free_at, self._now()) + units / self._rate
