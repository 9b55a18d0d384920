"""Finds rows of a file that have the same key, in eight bytes of memory for each row.

Only a hash of a key is kept. Two keys of four million have the same one once in two million files; so hashes that occur
twice are only candidates, and who calls looks at their keys.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable
from itertools import pairwise
from typing import Final

PARTS: Final = 256
"""One part is sorted at a time, as Python's integers, which take four times as much memory."""
_MASK: Final = (1 << 64) - 1


class SeenKeys:
    def __init__(self) -> None:
        self._parts = [array("Q") for _ in range(PARTS)]

    def add(self, key: Hashable) -> None:
        found = hash(key) & _MASK
        self._parts[found % PARTS].append(found)

    def repeated(self) -> set[int]:
        """Hashes that were added more than once; forgets all."""
        found: set[int] = set()
        for part in self._parts:
            ordered = sorted(part)
            found.update(each for each, following in pairwise(ordered) if each == following)
            part[:] = array("Q")
        return found

    @staticmethod
    def hash_of(key: Hashable) -> int:
        return hash(key) & _MASK
