"""Keys that are texts: a partition key and a sort key each."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import product


class CombinedTextKeys(Collection[tuple[str, str]]):
    """All pairs of some partition keys and some sort keys, partition by partition. It remembers the halves, which are
    fewer than the pairs."""

    __slots__ = ("partitions", "sorts")

    def __init__(self, partitions: Sequence[str], sorts: Sequence[str]) -> None:
        self.partitions = partitions
        self.sorts = sorts

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return product(self.partitions, self.sorts)

    def __len__(self) -> int:
        return len(self.partitions) * len(self.sorts)

    def __contains__(self, pair: object) -> bool:
        return isinstance(pair, tuple) and len(pair) == 2 and pair[0] in self.partitions and pair[1] in self.sorts

    @property
    def distinct(self) -> bool:
        return len(set(self.partitions)) == len(self.partitions) and len(set(self.sorts)) == len(self.sorts)
