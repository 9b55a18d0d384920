"""The order of a sharded path's rows, and where each shard continues after one of them.

Rows are ordered by the sort key. What decides between equal sort keys depends on the key and on the store:

    UNIQUE    the sort key contains the item's identity, so no two items have the same
    HASH      our engine orders the rows of an index with equal keys by a hash of the primary key
    SHARD     the number of the shard, then the store's own order, which is not known

In the first two, a row's place does not depend on its shard: a cursor stays exact while rows move between shards.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple

from sortkey.client.boto3_shapes import to_dynamodb_json
from sortkey.model.items.codec import Row
from sortkey.model.keys.key_attribute import SortCondition
from sortkey.model.keys.sharded_attribute import ShardedAttribute
from sortkey.model.keys.sort_bounds import continued
from sortkey.model.paths.access_path import AccessPath
from sortkey.values.key_bytes import row_hash


class Ties(Enum):
    UNIQUE = "unique"
    HASH = "hash"
    SHARD = "shard"


class Start(NamedTuple):
    """Where a shard continues: after a row, or with a narrower condition on the sort key."""

    after: Row | None
    condition: SortCondition | None


class ShardOrder:
    def __init__(self, path: AccessPath[Any], *, forward: bool, ties_by_hash: bool) -> None:
        """`forward` if the sort keys ascend; `ties_by_hash` if the store orders equal index keys as our engine does."""
        self._path = path
        self._partition = _sharded(path)
        self._sort = path.layout.sort
        self._primary = path.primary.attributes
        self._forward = forward
        self._ties = _ties(path, ties_by_hash)
        self.has_ties = self._ties is not Ties.UNIQUE

    @property
    def sort_attribute(self) -> tuple[str, str] | None:
        """The name and the tag of the attribute that comes first in the order; None if there is none."""
        return None if self._sort is None else (self._sort.name, self._sort.tag)

    def value(self, position: Row) -> Any:
        """What decides the order, but for equal sort keys."""
        return 0 if self._sort is None else comparable(self._sort.tag, position[self._sort.name][self._sort.tag])

    def tie(self, position: Row) -> Any:
        """What decides between equal sort keys."""
        if self._ties is Ties.UNIQUE:
            return None
        if self._ties is Ties.HASH:
            return self._hash(position)
        return self._partition.shard_of(position[self._partition.name])

    def _hash(self, position: Row) -> bytes:
        key = {part.name: position[part.name] for part in self._primary}
        if self._path.primary.binary:
            key = to_dynamodb_json(key)
        return row_hash(*((part.tag, key[part.name][part.tag]) for part in self._primary))

    @cached_property
    def tie_of_structure(self) -> Callable[[Any], bytes] | None:
        """The tie of a row that is a structure of the class's reader, if that is a hash; None if `tie` has to tell."""
        if self._ties is not Ties.HASH or self._path.primary.binary:
            return None
        tag, *others = (part.tag for part in self._primary)
        if not others:
            return lambda row: row_hash((tag, row.partition.content))
        (sort_tag,) = others
        return lambda row: row_hash((tag, row.partition.content), (sort_tag, row.sort.content))

    def is_passed(self, one: Any, other: Any) -> bool:
        """Whether the first of two values or ties comes before the second, or is the same."""
        return bool(one == other or (one < other) is self._forward)

    def start(self, shard: int, position: Row) -> Start | None:
        """Where a shard continues after a position in any of them; None if it has no more rows."""
        name = self._partition.name
        here = self._path.equal_in_shard(shard)[name]
        if self._ties is not Ties.SHARD or position[name] == here:
            return Start({**position, name: here}, self._path.condition)
        other = self._partition.shard_of(position[name])
        passed = shard < other if self._forward else shard > other
        if self._sort is None:
            return None if passed else Start(None, None)
        condition = continued(
            self._path.condition,
            self._sort.name,
            position[self._sort.name],
            forward=self._forward,
            included=not passed,
        )
        return None if condition is None else Start(None, condition)


def comparable(tag: str, content: Any) -> Any:
    """The content of a sort key, as it is compared."""
    return Decimal(content) if tag == "N" else content


def _sharded(path: AccessPath[Any]) -> ShardedAttribute:
    part = path.layout.partition
    assert isinstance(part, ShardedAttribute)
    return part


def _ties(path: AccessPath[Any], ties_by_hash: bool) -> Ties:
    identified = set(path.layout.fields)
    if path.layout.sort is not None and identified.issuperset(path.primary.fields) and not path.collection:
        return Ties.UNIQUE
    # The primary key of a local index's row has the shard, so its hash depends on the shard.
    is_global = path.layout.index is not None and not path.layout.local
    return Ties.HASH if ties_by_hash and is_global else Ties.SHARD
