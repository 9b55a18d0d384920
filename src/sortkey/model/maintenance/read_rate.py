"""Limits how many read units a scan takes per second.

A request of a scan may read 1 MB, 128 units. So a limited scan asks for as few rows as take about a second, judging by
the rows so far, and pauses for as long as the units that it took stand for.
"""

from __future__ import annotations

from collections.abc import Callable

from sortkey.model.maintenance.unit_rate import UnitRate


class ReadRate(UnitRate):
    def __init__(self, units_per_second: float, now: Callable[[], float]) -> None:
        super().__init__(units_per_second, now)
        self._rows = 0
        self._units = 0.0

    def limit(self, requests: int) -> int:
        """How many rows each of several requests may read."""
        # Before anything is known, a row is assumed to have 4 KB and to be read consistently.
        rows_per_unit = self._rows / self._units if self._units else 1.0
        return max(1, int(self.units_per_second * rows_per_unit / requests))

    def read(self, rows: int, units: float) -> None:
        self._rows += rows
        self._units += units
        self.took(units)
