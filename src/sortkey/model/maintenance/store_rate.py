"""The rate at which a store takes writes: found by what it throttles, and raised again while it throttles nothing."""

from __future__ import annotations

from typing import Final

LOWERED: Final = 0.9
"""After throttling, so much of what the store took."""
RAISED: Final = 1.1
"""After a round without throttling."""
SLOWEST: Final = 1.0
"""Rows per second, at least."""


class StoreRate:
    """A round is a group of rows that is sent, and sent again as far as the store throttles, until all are written.

    There is no limit until the store throttles. Then the limit is a little less than the store took in that round, and
    each round without throttling raises it. It is dropped when the store is no quicker without a pause.
    """

    def __init__(self) -> None:
        self.rows_per_second: float | None = None
        self._pause = 0.0

    def round_rows(self, most: int, least: int) -> int:
        """How many rows the next round should have: about as many as a second takes."""
        return most if self.rows_per_second is None else max(least, min(most, int(self.rows_per_second)))

    def took(self, rows: int, seconds: float, throttled: bool) -> None:
        """Learn from a round, which took so long, retries included."""
        if throttled:
            self.rows_per_second = max(SLOWEST, LOWERED * rows / max(seconds, 1e-6))
        elif self.rows_per_second is not None:
            self.rows_per_second *= RAISED
            if seconds * self.rows_per_second > rows:
                self.rows_per_second = None
        limit = self.rows_per_second
        self._pause = 0.0 if limit is None else max(0.0, rows / limit - seconds)

    def pause(self) -> float:
        """The seconds to wait before the next round, once."""
        pause, self._pause = self._pause, 0.0
        return pause
