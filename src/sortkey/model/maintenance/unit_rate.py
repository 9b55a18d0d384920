"""Limits how many capacity units long work takes per second: by a pause after each part."""

from __future__ import annotations

from collections.abc import Callable


class UnitRate:
    def __init__(self, units_per_second: float, now: Callable[[], float]) -> None:
        if not units_per_second > 0:
            raise ValueError(f"rate must be more than 0 units per second, not {units_per_second}")
        self.units_per_second = units_per_second
        self._now = now
        self._free_at = now()

    def pause(self) -> float:
        """The seconds until the next part."""
        return max(0.0, self._free_at - self._now())

    def took(self, units: float) -> None:
        self._free_at = max(self._free_at, self._now()) + units / self.units_per_second
