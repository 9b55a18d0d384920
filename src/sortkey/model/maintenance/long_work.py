"""Work that may take hours: a session does it part by part, each within its timeout, and pauses between the parts.

How long it pauses depends on the rate that the caller gives, in capacity units per second.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from sortkey.model.calls.steps import Steps

R = TypeVar("R")


class LongWork(ABC, Generic[R]):
    @abstractmethod
    def part(self) -> Steps[bool]:
        """Does the next part; returns whether there are more."""

    @abstractmethod
    def pause(self) -> float:
        """The seconds to wait before the next part."""

    @property
    @abstractmethod
    def result(self) -> R:
        """What was done so far."""


class UnitRate:
    """Limits how many capacity units long work takes per second: by a pause after each part."""

    def __init__(self, units_per_second: float, monotonic: Callable[[], float]) -> None:
        if not units_per_second > 0:
            raise ValueError(f"rate must be more than 0 units per second, not {units_per_second}")
        self.units_per_second = units_per_second
        self._monotonic = monotonic
        self._free_at = monotonic()

    def pause(self) -> float:
        """The seconds until the next part."""
        return max(0.0, self._free_at - self._monotonic())

    def took(self, units: float) -> None:
        self._free_at = max(self._free_at, self._monotonic()) + units / self.units_per_second


class ReadRate(UnitRate):
    """Limits how many read units a scan takes per second.

    A request of a scan may read 1 MB, 128 units. So a limited scan asks for as few rows as take about a second, judging
    by the rows so far, and pauses for as long as the units that it took stand for.
    """

    def __init__(self, units_per_second: float, monotonic: Callable[[], float]) -> None:
        super().__init__(units_per_second, monotonic)
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
