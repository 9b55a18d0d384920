"""The items that an aggregate is kept in, and the UpdateItem that applies steps to one of them.

One request works on an existing and on a missing item: it sets everything that follows from the group (the fields of
the key, index keys, the expiry), adds to the sums, and sets the mark. Its condition makes it count once:

    SET #m = :last, … ADD #count :delta        if  attribute_not_exists(#m) OR #m < :first

`:first` is the mark of the first step in the delta, `:last` that of the last. If a part of the steps is in the item
already, the condition fails.

An index key may have the group's fields, and a sum as a whole number attribute: adding moves the item in the index. A
text that contains the sum would need the new value, which no one knows before the write, so it is rejected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

from sortkey.model.errors import DeclarationError
from sortkey.model.items.codec import Row
from sortkey.model.items.converter import Value
from sortkey.model.items.schema import Schema
from sortkey.model.keys.key_attribute import KeyAttribute, NativeAttribute
from sortkey.model.keys.key_layout import KeyLayout
from sortkey.patterns.aggregate.fold import Step
from sortkey.patterns.aggregate.shares import Group
from sortkey.patterns.aggregate.values import sum_exactly, zero_of
from sortkey.patterns.aggregate.windows import Window

_CACHED_ITEMS: Final = 16_384


class Fixed(NamedTuple):
    """What follows from the group alone."""

    key: Row
    sets: Row


class Target:
    """The items of an aggregate, by the schema that a store needs."""

    def __init__(
        self, schema: Schema[Any], group: Sequence[str], sums: Sequence[str], window: Window | None, prefix: str
    ) -> None:
        self.schema = schema
        self.group = tuple(group)
        """The fields of the key."""
        self.prefix = prefix
        """Of the attributes with marks."""
        self.sums = tuple(sums)
        self._window = window
        fields = schema.codec.by_name
        self._expires = schema.codec.ttl_field if window is not None and window.keep else None
        self._zeros = {name: zero_of(fields[name].annotation) for name in sums}
        self._check()
        self._added = {name: self._attributes_of(name) for name in sums}
        """The attributes that hold each sum: its own, and copies of it in index keys."""
        self._primary = frozenset(part.name for part in schema.primary.attributes)
        self._stamps = schema.stamps
        self.fixed = lru_cache(_CACHED_ITEMS)(self._fixed)

    def item(self, group: Group, values: Mapping[str, Any] | None = None) -> Any:
        """The item of a group, with these values or nothing counted."""
        fields = {**self._zeros, **(values or {}), **dict(zip(self.group, group, strict=True))}
        expiry = None if self._expires is None or self._window is None else self._window.expiry(group[-1])
        if expiry is not None and self._expires is not None:
            is_time = self.schema.codec.by_name[self._expires].annotation.declared is datetime
            fields[self._expires] = expiry if is_time else int(expiry.timestamp())
        return self.schema.owner(**fields)

    def _fixed(self, group: Group) -> Fixed:
        row = self.schema.encode(self.item(group))
        key = {name: row[name] for name in self._primary}
        summed = {attribute for attributes in self._added.values() for attribute in attributes}
        return Fixed(key, {name: value for name, value in row.items() if name not in self._primary | summed})

    def update(self, group: Group, mark: str, steps: Sequence[Step], now: datetime) -> dict[str, Any]:
        """The UpdateItem that applies these steps; `mark` is the attribute of their shard's mark."""
        key, sets = self.fixed(group)
        names = {"#m": mark}
        values: dict[str, Value] = {":first": {"S": steps[0].mark}, ":last": {"S": steps[-1].mark}}
        assigned = ["#m = :last"]
        for index, (name, value) in enumerate(self._stamped(sets, now).items()):
            names[f"#s{index}"], values[f":s{index}"] = name, value
            assigned.append(f"#s{index} = :s{index}")
        if self._stamps is not None and self._stamps.created:
            for index, field in enumerate(self._stamps.created):
                names[f"#c{index}"], values[f":c{index}"] = self._encoded(field, now)
                assigned.append(f"#c{index} = if_not_exists(#c{index}, :c{index})")
        return {
            "TableName": self.schema.table,
            "Key": key,
            "UpdateExpression": f"SET {', '.join(assigned)} ADD {', '.join(self._additions(steps, names, values))}",
            "ConditionExpression": "attribute_not_exists(#m) OR #m < :first",
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }

    def _additions(self, steps: Sequence[Step], names: dict[str, str], values: dict[str, Value]) -> list[str]:
        clauses = []
        for position, (name, attributes) in enumerate(self._added.items()):
            values[f":a{position}"] = self.schema.codec.by_name[name].encode(self._delta(position, name, steps))
            for copy, attribute in enumerate(attributes):
                names[f"#a{position}_{copy}"] = attribute
                clauses.append(f"#a{position}_{copy} :a{position}")
        return clauses

    def _delta(self, position: int, name: str, steps: Sequence[Step]) -> Any:
        zero = self._zeros[name]
        added = sum_exactly(zero, (step.added[position] for step in steps if step.added is not None))
        removed = (-step.removed[position] for step in steps if step.removed is not None)
        return sum_exactly(added, removed)

    def _stamped(self, sets: Row, now: datetime) -> Row:
        if self._stamps is None or not self._stamps.updated:
            return sets
        return {**sets, **dict(self._encoded(field, now) for field in self._stamps.updated)}

    def _encoded(self, name: str, value: Any) -> tuple[str, Value]:
        field = self.schema.codec.by_name[name]
        return field.attribute, field.encode(value)

    def _attributes_of(self, name: str) -> tuple[str, ...]:
        copies = [part.name for _, part in self._index_parts() if part.fields == (name,)]
        return tuple(dict.fromkeys([self.schema.codec.by_name[name].attribute, *copies]))

    def _index_parts(self) -> list[tuple[KeyLayout, KeyAttribute]]:
        return [(layout, part) for layout in self.schema.indexes.values() for part in layout.computed]

    def _check(self) -> None:
        """Raises DeclarationError for index keys that the update cannot compute."""
        known = {*self.group, *self.sums} | ({self._expires} if self._expires else set())
        for layout, part in self._index_parts():
            for field in part.fields:
                if field not in known:
                    raise DeclarationError(
                        f"{self.schema.name}.{layout.name} has {field}, which the aggregate does not know when it adds "
                        f"to an item; an index of it may have {', '.join(sorted(known))}"
                    )
                if field in self.sums and not isinstance(part, NativeAttribute):
                    raise DeclarationError(
                        f"{self.schema.name}.{layout.name}: {part!r} would be a text with the new {field}, which is "
                        f'not known when the store adds to it; make "{{{field}}}" alone the sort key, which is stored '
                        "as a number"
                    )
