"""The only module that reads the machine's clocks.

Times that are stored, shown, signed or compared with those of other machines come from a `Clock` that is passed in, so
that a test can move it. Durations and deadlines inside one process are measured with `monotonic`.
"""

from __future__ import annotations

import time
from typing import Final, Protocol

monotonic: Final = time.monotonic
"""Seconds that never go back, from an arbitrary moment on."""


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch."""


class SystemClock:
    def now(self) -> float:
        return time.time()


class ManualClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, start: float = 1_750_000_000.0) -> None:
        self._now = start

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds
