"""What was written where and when, seen from outside; and whether the last writers can have left the rows of the end.

Nobody outside knows the time that a store gave to a write. It lies between the call and its answer, and after a call
without an answer anywhere. So the row of a key may be what any write left, unless another one began after it had ended.
"""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from itertools import pairwise
from typing import NamedTuple

SLACK = 0.000_002
"""Seconds: writes of one batch are a microsecond apart, and may run ahead of the clock by that."""


class Write(NamedTuple):
    region: str
    value: str | None
    """None deletes."""
    began: float
    ended: float
    """Infinite if there was no answer, so that it may have happened, or not."""


class History:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.writes: dict[str, list[Write]] = defaultdict(list)
        """By key."""

    def add(self, key: str, write: Write) -> None:
        with self._lock:
            self.writes[key].append(write)

    @property
    def acknowledged(self) -> int:
        return sum(write.ended < math.inf for writes in self.writes.values() for write in writes)

    @property
    def conflicts(self) -> int:
        """How often a key was written in one region after another."""
        ordered = [sorted(writes, key=lambda each: each.began) for writes in self.writes.values()]
        return sum(one.region != other.region for writes in ordered for one, other in pairwise(writes))

    def problems(self, rows: dict[str, str]) -> list[str]:
        """The keys whose rows no last writer left."""
        found = [f"{key} was never written" for key in rows.keys() - self.writes.keys()]
        for key, writes in self.writes.items():
            value = rows.get(key)
            latest = max((write.began for write in writes if write.ended < math.inf), default=-math.inf)
            left = [write for write in writes if write.value == value]
            if value is None and latest == -math.inf:
                continue
            if not any(write.ended + SLACK >= latest for write in left):
                found.append(
                    f"{key} is {value!r}, but was written later: {sorted(writes, key=lambda each: each.began)[-3:]}"
                )
        return found
