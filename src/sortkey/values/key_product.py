"""The keys of a batch read whose partition keys and sort keys are combined: every pair of the two."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import product


class KeyProduct(Collection[tuple[str, str]]):
    """Every pair of a partition key and a sort key, both strings, partition by partition. It stores only the two
    sequences, which are much shorter than the list of pairs."""

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
