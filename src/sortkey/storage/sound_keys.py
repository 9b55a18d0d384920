"""The keys whose leaves are known to be sound, as runs of leaves that lie side by side.

A lookup needs the leaf of its key and those beside it (`gradual_check` says why). So the first and the last leaf of a
run are only neighbours, unless nothing is beyond them. The keys between the two are *inside* of the run.

Leaves change from commit to commit, and runs are unions of leaves of several commits. The edges of a run stay right: a
sound leaf has an entry, so the bound below it is below that entry, which is below the leaf's end.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from sortkey.storage.leaf_search import END, START

Bounds = tuple[bytes, bytes]
"""The least key, and the first one behind; END if there is no bound."""


class SoundKeys:
    def __init__(self) -> None:
        # Of each run, in the order of keys. Runs neither overlap nor touch.
        self._lows: list[bytes] = []
        self._highs: list[bytes] = []
        self._inside: list[Bounds] = []

    def add(self, low: bytes, high: bytes) -> None:
        """Note a leaf."""
        inside_low = START if low == START else high
        inside_high = END if high == END else low
        first = bisect_left(self._highs, low)
        last = bisect_right(self._lows, high)
        if first < last:
            low, inside_low = min(low, self._lows[first]), min(inside_low, self._inside[first][0])
            high, inside_high = max(high, self._highs[last - 1]), max(inside_high, self._inside[last - 1][1])
        self._lows[first:last] = [low]
        self._highs[first:last] = [high]
        self._inside[first:last] = [(inside_low, inside_high)]

    def inside(self, key: bytes) -> Bounds | None:
        """The keys inside of the run with this key; None if it is not inside of one."""
        at = bisect_right(self._lows, key) - 1
        if at < 0:
            return None
        low, high = self._inside[at]
        return (low, high) if low <= key and (key < high or high == END) else None

    def includes(self, low: bytes, high: bytes) -> bool:
        """Whether all these keys are of sound leaves."""
        at = bisect_right(self._lows, low) - 1
        return at >= 0 and high <= self._highs[at]

    def run_with(self, low: bytes, high: bytes) -> Bounds:
        """The bounds that the run with this leaf has, or would have if it were added."""
        first, last = bisect_left(self._highs, low), bisect_right(self._lows, high)
        if first == last:
            return low, high
        return min(low, self._lows[first]), max(high, self._highs[last - 1])
