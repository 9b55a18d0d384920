"""An access path: one key or index, a complete partition key, and a condition on the sort key.

A path is data and sends nothing. `request()` is its Query, `key()` its exact key if it is one; the sessions add limits,
directions and cursors. `position()` is the ExclusiveStartKey that continues a query after a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from sortkey.model.errors import KeyPartError, NoAccessPath
from sortkey.model.fields.codec import Row
from sortkey.model.fields.converter import Value
from sortkey.model.items.schema import Schema
from sortkey.model.keys.key_attribute import KeyAttribute, ShardedAttribute, SortCondition
from sortkey.model.keys.key_layout import KeyLayout

T_co = TypeVar("T_co", covariant=True)


class AccessPath(msgspec.Struct, Generic[T_co], frozen=True):
    """An access path, made by calling a key or an index with fields: `Price.key(store="12345")`."""

    entity: str
    table: str
    layout: KeyLayout
    primary: KeyLayout
    equal: Row
    """The attributes that must be equal: the partition key's, and the first of a multi-attribute sort key."""
    condition: SortCondition | None
    """The condition on the sort key."""
    given: Mapping[str, Any]
    schema: Schema[Any]
    """The class whose key or index this is."""
    decode: Callable[[Row], T_co | None]
    """Decodes a row; returns None for a row of another class."""
    range: tuple[Any, ...] = ()
    """The name of the range and its limits; empty without a range."""
    collection: bool = False
    """Whether the path returns the rows of all classes in the partition."""

    @property
    def name(self) -> str:
        """The declared name: `Price.by_product`."""
        return f"{self.entity}.{self.layout.name}"

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.given.items())
        made = f"collection({self.name}, {arguments})" if self.collection else f"{self.name}({arguments})"
        if not self.range:
            return made
        name, *limits = self.range
        return f"{made}.{name}({', '.join(map(repr, limits))})"

    def __hash__(self) -> int:
        return hash((self.entity, self.layout.name, self.collection, frozenset(self.given.items()), self.range))

    def __reduce__(self) -> tuple[Any, ...]:
        # The schema has functions that were made for the class; the class has them wherever the path is read.
        return _rebuilt, (self.schema.owner, self.layout.name, dict(self.given), self.range, self.collection)

    def of_all_classes(self) -> AccessPath[Any]:
        """The path to the rows of all classes in the partition."""
        decode = self.schema.owner.__table__.decode
        return msgspec.structs.replace(self, condition=None, decode=decode, collection=True)

    def between(self, low: Any, high: Any) -> AccessPath[T_co]:
        """The items whose next sort-key field is from `low` to `high`, both included."""
        sort, values = self._next("between")
        return self._ranged(sort.between(values, low, high), "between", low, high)

    def before(self, limit: Any) -> AccessPath[T_co]:
        """The items whose next sort-key field is less than `limit`."""
        sort, values = self._next("before")
        return self._ranged(sort.before(values, limit), "before", limit)

    def after(self, limit: Any) -> AccessPath[T_co]:
        """The items whose next sort-key field is greater than `limit`."""
        sort, values = self._next("after")
        return self._ranged(sort.after(values, limit), "after", limit)

    def starting(self, beginning: str | bytes) -> AccessPath[T_co]:
        """The items whose next sort-key field, a string, starts with `beginning`."""
        sort, values = self._next("starting")
        return self._ranged(sort.starting(values, beginning), "starting", beginning)

    def _next(self, name: str) -> tuple[KeyAttribute, Sequence[Any]]:
        """The attribute that a range applies to, and the values given for its first fields."""
        if self.collection:
            raise NoAccessPath(f"{self!r} is a collection of several classes, so it cannot have a range")
        if self.range:
            raise NoAccessPath(f"{self!r}: a path has only one range, so {name} cannot be added")
        fields = self.layout.sort_fields
        if not fields:
            raise NoAccessPath(f"{self!r}: {self.name} has no sort key, so it cannot have a range")
        values = [self.given[each] for each in fields if each in self.given]
        if len(values) == len(fields):
            raise NoAccessPath(f"{self!r}: the sort key is complete, so it cannot have a range")
        return self.layout.ranged(values)

    def _ranged(self, condition: SortCondition | None, *described: Any) -> AccessPath[T_co]:
        return msgspec.structs.replace(self, condition=condition, range=described)

    @property
    def is_sharded(self) -> bool:
        """Whether the path has rows in several shards, which are read at once and merged. Its `equal` has no shard."""
        sharding = self.layout.sharding
        return sharding is not None and not sharding.placed_by <= self.given.keys()

    @property
    def has_binary_keys(self) -> bool:
        return self.layout.binary or self.primary.binary

    def equal_in_shard(self, shard: int) -> Row:
        """The partition key of one shard of a sharded path."""
        part = self.layout.partition
        if not isinstance(part, ShardedAttribute):
            raise NoAccessPath(f"{self!r} has no shards")
        return {part.name: part.in_shard(self.equal[part.name], shard)}

    @property
    def is_exact(self) -> bool:
        """Whether the path is one item's complete primary key: GetItem reads it."""
        if self.layout.index is not None:
            return False
        return self.layout.sort is None or (self.condition is not None and self.condition.operator == "=")

    def key(self) -> Row:
        """The primary key, for GetItem. Raises NoAccessPath if the path is not exact."""
        condition = self.condition
        if self.layout.index is None and condition is not None and condition.operator == "=":
            return {**self.equal, condition.attribute: condition.values[0]}
        if not self.is_exact:
            lacking = [name for name in self.primary.fields if name not in self.given]
            reason = f"it needs {', '.join(lacking)}" if lacking else "it is an index"
            raise NoAccessPath(f"{self!r} is not one item's primary key: {reason}")
        return dict(self.equal)

    def request(self) -> dict[str, Any]:
        """The path's Query, in boto3 shape."""
        if len(self.equal) == 1:
            ((name, value),) = self.equal.items()
            names, values, expression = {"#pk": name}, {":pk": value}, "#pk = :pk"
        else:
            names = {f"#key{number}": name for number, name in enumerate(self.equal, 1)}
            values = {f":key{number}": value for number, value in enumerate(self.equal.values(), 1)}
            expression = " AND ".join(f"{name} = {value}" for name, value in zip(names, values, strict=True))
        if self.condition is not None:
            names["#sk"] = self.condition.attribute
            test, limits = rendered(self.condition)
            expression, values = f"{expression} AND {test}", values | limits
        index = {} if self.layout.index is None else {"IndexName": self.layout.index}
        return {
            "TableName": self.table,
            **index,
            "KeyConditionExpression": expression,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
        }

    def joined(self) -> AccessPath[T_co]:
        """The same path for a store without multi-attribute index keys."""
        schema = self.schema.joined
        if schema is None:
            return self
        layout = schema.layouts[self.layout.name]
        depth = sum(field in self.given for field in layout.sort_fields)
        equal, condition = layout.key_conditions[depth](self.given)
        if self.collection:
            condition = None
        whole = msgspec.structs.replace(self, layout=layout, schema=schema, equal=equal, condition=condition, range=())
        if not self.range:
            return whole
        name, *limits = self.range
        ranged: AccessPath[T_co] = getattr(whole, name)(*limits)
        return ranged

    def position(self, source: Row | msgspec.Struct) -> Row:
        """The position of a row, or of its item, on this path: an ExclusiveStartKey."""
        if isinstance(source, msgspec.Struct):
            source = self.primary.attributes_of(source) | self.layout.attributes_of(source)
        try:
            return {part.name: source[part.name] for part in (*self.primary.attributes, *self.layout.attributes)}
        except KeyError as error:
            raise KeyPartError(f"{self.name}: the row has no {error}") from None


def _rebuilt(
    owner: Any, name: str, given: dict[str, Any], range_: tuple[Any, ...], collection: bool
) -> AccessPath[Any]:
    path: AccessPath[Any] = getattr(owner, name)(**given)
    if collection:
        return path.of_all_classes()
    return getattr(path, range_[0])(*range_[1:]) if range_ else path


def rendered(condition: SortCondition) -> tuple[str, dict[str, Value]]:
    if condition.operator == "BETWEEN":
        low, high = condition.values
        return "#sk BETWEEN :low AND :high", {":low": low, ":high": high}
    (value,) = condition.values
    if condition.operator == "begins_with":
        return "begins_with(#sk, :sk)", {":sk": value}
    return f"#sk {condition.operator} :sk", {":sk": value}
