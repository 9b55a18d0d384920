"""A map that keeps what was used last, within a number of entries and a total weight."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Lru(Generic[K, V]):
    def __init__(self, most: int, weight: int | None = None) -> None:
        self._most = most
        self._weight = weight
        self._used = 0
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: K) -> bool:
        return key in self._entries

    def get(self, key: K) -> V | None:
        found = self._entries.get(key)
        if found is None:
            return None
        self._entries.move_to_end(key)
        return found[0]

    def put(self, key: K, value: V, weight: int = 1) -> None:
        replaced = self._entries.pop(key, None)
        self._used += weight - (0 if replaced is None else replaced[1])
        self._entries[key] = value, weight
        while len(self._entries) > self._most or (self._weight is not None and self._used > self._weight):
            _, (_, freed) = self._entries.popitem(last=False)
            self._used -= freed
