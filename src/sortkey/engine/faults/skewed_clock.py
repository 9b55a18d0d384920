"""The clock of a store that is ahead of its clients, or behind them."""

from __future__ import annotations

from sortkey.clock import Clock, SystemClock
from sortkey.engine.faults.faults import Faults


class SkewedClock:
    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds

    def now(self) -> float:
        return self._clock.now() + self._seconds


def store_clock(faults: Faults | None, clock: Clock | None = None) -> Clock:
    """The clock of a store with these faults; the system's, unless one is given."""
    true = clock or SystemClock()
    return true if faults is None or not faults.clock_skew else SkewedClock(true, faults.clock_skew)
