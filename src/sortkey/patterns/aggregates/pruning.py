"""Which marks are no longer needed. Pure: the aggregator lists the shards, and tells the time.

A mark protects from a change that is delivered again. Streams keep records for a day, and list a shard as long as it
has records; after that, its mark only makes the item larger. But a shard that is missing from a list may also be newer
than the list. So a mark is dead if its shard was missing from the list when the mark was seen, and from the next two.
They are an hour apart.

In each round, the first write of an item returns the item, which costs nothing, and its dead marks are removed by the
item's next write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from sortkey.model.fields.codec import Row
from sortkey.patterns.aggregates.marks import mark_attribute, marks_in
from sortkey.patterns.aggregates.step import Group

ROUND: Final = 3600.0
"""The seconds between two lists of the shards."""
_ROUNDS_MISSING: Final = 2
_REMEMBERED: Final = 100_000
"""Items with dead marks, which wait for their next write."""


class MarkPruner:
    def __init__(self, prefix: str, now: Callable[[], float]) -> None:
        self._prefix = prefix
        self._now = now
        self._next_list = now()
        self._round = 0
        self._listed: frozenset[str] = frozenset()
        self._missing: dict[str, int] = {}
        """The marks whose shard is not listed, and the round in which that was seen first."""
        self._dead: set[str] = set()
        self._examined: set[Group] = set()
        self._removable: dict[Group, tuple[str, ...]] = {}

    @property
    def is_due(self) -> bool:
        """Whether the shards are to be listed again."""
        return self._now() >= self._next_list

    def postpone(self) -> None:
        """Lets the present round last."""
        self._next_list = self._now() + ROUND

    def begin_round(self, shards: Iterable[str]) -> None:
        """Begins a round with the shards that are listed now."""
        self.postpone()
        self._round += 1
        self._listed = frozenset(mark_attribute(self._prefix, shard) for shard in shards)
        self._missing = {mark: first for mark, first in self._missing.items() if mark not in self._listed}
        self._dead.update(mark for mark, first in self._missing.items() if self._round - first >= _ROUNDS_MISSING)
        self._examined.clear()
        if len(self._removable) > _REMEMBERED:
            self._removable.clear()

    def wants(self, group: Group) -> bool:
        """Whether the item of this group should be looked at in this round."""
        return self._round > 0 and group not in self._examined

    def examine(self, group: Group, row: Row) -> None:
        """Looks at the marks of an item."""
        self._examined.add(group)
        marks = [mark for mark, _ in marks_in(self._prefix, row)]
        for mark in marks:
            if mark not in self._listed:
                self._missing.setdefault(mark, self._round)
        dead = tuple(mark for mark in marks if mark in self._dead)
        if dead:
            self._removable[group] = dead

    def removable(self, group: Group) -> tuple[str, ...]:
        """The dead marks of an item."""
        return self._removable.get(group, ())

    def removed(self, group: Group) -> None:
        """The item's dead marks are gone."""
        self._removable.pop(group, None)
