"""The order of a sharded path's rows, and where each shard continues after one of them.

Rows are ordered by the sort key. What decides between equal sort keys depends on the key and on the store:

    UNIQUE    the sort key contains the item's identity, so no two items have the same
    HASH      our engine orders the rows of an index with equal keys by a hash of the primary key
    SHARD     the number of the shard, then the store's own order, which is not known

In the first two, a row's place does not depend on its shard: a cursor stays exact while rows move between shards. In
the last, a shard that does not have the row continues from a value of the sort key, by a narrower condition on it.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal
from enum import Enum
from functools import cached_property
from typing import Any, Final, NamedTuple

from sortkey.client.boto3_shapes import to_dynamodb_json
from sortkey.limits import NUMBER_DIGITS, NUMBER_MAX_EXPONENT, NUMBER_MIN_EXPONENT, SORT_KEY_BYTES
from sortkey.model.errors import KeyPartError
from sortkey.model.fields.codec import Row
from sortkey.model.fields.converter import Value
from sortkey.model.fields.key_text import TOP
from sortkey.model.items.access_path import AccessPath
from sortkey.model.keys.key_attribute import Comparison, ShardedAttribute, SortCondition
from sortkey.model.keys.template import just_below
from sortkey.values.key_bytes import row_hash

_NUMBERS: Final = Context(prec=NUMBER_DIGITS, Emin=NUMBER_MIN_EXPONENT, Emax=NUMBER_MAX_EXPONENT)
"""DynamoDB's numbers, so that each has a next one."""
_LEAST: Final = Decimal(1).scaleb(NUMBER_MIN_EXPONENT)


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


def _compared(value: Value) -> Any:
    ((tag, content),) = value.items()
    return comparable(tag, content)


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


class SortBound(NamedTuple):
    value: Value
    included: bool


def continued(
    condition: SortCondition | None, attribute: str, value: Value, *, forward: bool, included: bool
) -> SortCondition | None:
    """The condition that holds of the rows from `value` on, in one direction, which the given condition holds of as
    well; None if there are none."""
    low, high = _bounds(condition)
    if forward:
        low = SortBound(value, included)
    else:
        high = SortBound(value, included)
    if low is None or high is None:
        (bound,) = (each for each in (low, high) if each is not None)
        operator: Comparison = ">" if high is None else "<"
        if bound.included:
            operator = ">=" if high is None else "<="
        return SortCondition(attribute, operator, (bound.value,))
    first = low.value if low.included else _next(low.value)
    last = high.value if high.included else _previous(high.value)
    if first is None or last is None or _compared(first) > _compared(last):
        return None
    return SortCondition(attribute, "BETWEEN", (first, last))


def _bounds(condition: SortCondition | None) -> tuple[SortBound | None, SortBound | None]:
    if condition is None:
        return None, None
    first = condition.values[0]
    match condition.operator:
        case "BETWEEN":
            return SortBound(first, True), SortBound(condition.values[1], True)
        case "=":
            return SortBound(first, True), SortBound(first, True)
        case "begins_with":
            return SortBound(first, True), SortBound(_last_with_prefix(first), True)
        case "<" | "<=":
            return None, SortBound(first, condition.operator == "<=")
        case _:
            return SortBound(first, condition.operator == ">="), None


def _last_with_prefix(prefix: Value) -> Value:
    if "B" in prefix:
        return {"B": prefix["B"].ljust(SORT_KEY_BYTES, b"\xff")}
    # A key contains no U+10FFFF.
    return {"S": prefix["S"] + TOP}


def _next(value: Value) -> Value | None:
    """The least value above this one; None if there is none."""
    if "N" in value:
        return _number(Decimal(value["N"]), Decimal(value["N"]).next_plus(_NUMBERS))
    if "B" in value:
        return {"B": value["B"] + b"\0"} if len(value["B"]) < SORT_KEY_BYTES else _raised(value["B"])
    return {"S": value["S"] + "\0"}


def _number(value: Decimal, neighbour: Decimal) -> Value | None:
    """The neighbour among DynamoDB's numbers, of which none is nearer to zero than the least magnitude."""
    if not neighbour.is_finite():
        return None
    if neighbour and abs(neighbour) < _LEAST:
        neighbour = Decimal(0) if value else _LEAST.copy_sign(neighbour)
    return {"N": str(neighbour)}


def _raised(longest: bytes) -> Value | None:
    kept = longest.rstrip(b"\xff")
    return {"B": kept[:-1] + bytes([kept[-1] + 1])} if kept else None


def _previous(value: Value) -> Value | None:
    """The greatest value below this one; None if there is none."""
    if "N" in value:
        return _number(Decimal(value["N"]), Decimal(value["N"]).next_minus(_NUMBERS))
    if "B" in value:
        *start, end = value["B"]
        lowered = bytes(start) + bytes([end - 1]).ljust(SORT_KEY_BYTES - len(start), b"\xff") if end else bytes(start)
        return {"B": lowered} if lowered else None
    try:
        return {"S": just_below(value["S"])}
    except KeyPartError:
        return None
