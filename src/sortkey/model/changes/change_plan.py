"""Plans a partial update, so that index keys stay consistent with the fields that they are made of.

The declarations say which key attributes depend on which fields. A change of such a field recomputes the key attribute:
from the changes and the primary key if they suffice, else from other fields, which are read first. The update is then
conditional on the values read: if they have changed in between, it fails and is planned again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sortkey.model.errors import KeyChange, unknown_field
from sortkey.model.items.codec import Row
from sortkey.model.items.converter import Value
from sortkey.model.items.schema import Schema
from sortkey.model.keys.key_attribute import KeyAttribute
from sortkey.model.keys.key_layout import KeyLayout


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """The attributes to set and to remove; complete if `reads` is empty."""

    sets: Row
    removes: tuple[str, ...]
    reads: frozenset[str]
    """Fields whose current values are needed for a key attribute. Plan again with them in `known`."""
    guards: dict[str, Value | None]
    """The values read, by attribute, which must be unchanged; None for an absent attribute."""
    version: int | None
    """The version that the row must have, if the class has had others; an older row is upgraded and put whole."""


def dependents(schema: Schema[Any], fields: Collection[str]) -> frozenset[str]:
    """The key attributes that change with these fields."""
    return frozenset(
        part.name
        for layout in schema.layouts.values()
        for part in layout.computed
        if not _dependencies(layout, part).isdisjoint(fields)
    )


def _dependencies(layout: KeyLayout, part: KeyAttribute) -> frozenset[str]:
    """The attribute's own fields, and those that remove the item from the index when they are None."""
    return layout.sparse.union(part.fields)


def plan_changes(schema: Schema[Any], changes: Mapping[str, Any], known: Mapping[str, Any]) -> ChangePlan:
    """Plans the update. `known` has the fields of the primary key, and those that an earlier plan asked to read."""
    _reject_impossible(schema, changes)
    return _Planner(schema, changes, known).plan()


def _reject_impossible(schema: Schema[Any], changes: Mapping[str, Any]) -> None:
    fields = schema.codec.by_name
    for name in changes:
        if name not in fields:
            raise unknown_field(schema.name, name, fields)
        if name in schema.primary.fields:
            raise KeyChange(
                f"{schema.name}.{name} is part of the primary key; put an item with the new key and delete the old one"
            )


class _Planner:
    def __init__(self, schema: Schema[Any], changes: Mapping[str, Any], known: Mapping[str, Any]) -> None:
        self.schema = schema
        self.changes = changes
        self.values = {**known, **changes}
        self.sets: Row = {}
        self.removes: list[str] = []
        self.reads: set[str] = set()
        self.used: set[str] = set()

    def plan(self) -> ChangePlan:
        for name, value in self.changes.items():
            codec = self.schema.codec
            self._assign(codec.by_name[name].attribute, codec.encode_field(name, value, check=True))
        for layout in self.schema.indexes.values():
            for part in layout.computed:
                if not _dependencies(layout, part).isdisjoint(self.changes):
                    self._recompute(layout, part)
        version = self.schema.version if self.schema.version > 1 else None
        return ChangePlan(self.sets, tuple(self.removes), frozenset(self.reads), self._guards(), version)

    def _recompute(self, layout: KeyLayout, part: KeyAttribute) -> None:
        if part.name in self.schema.codec.attributes:
            # The attribute is the field itself, assigned above; here a value that a key cannot hold is rejected.
            (field,) = part.fields
            if self.changes.get(field) is not None:
                part.value([self.changes[field]])
            return
        absent = [field for field in layout.sparse if field in self.values and self.values[field] is None]
        if absent:
            # One absent field decides. If it is one of the changes, nothing has to be guarded.
            changed = [field for field in absent if field in self.changes]
            self.used.update(() if changed else absent[:1])
            self._assign(part.name, None)
            return
        needed = _dependencies(layout, part)
        unknown = needed - self.values.keys()
        if unknown:
            self.reads |= unknown
            return
        self.used |= needed
        self._assign(part.name, part.value([self.values[field] for field in part.fields]))

    def _assign(self, attribute: str, value: Value | None) -> None:
        if value is None:
            self.removes.append(attribute)
        else:
            self.sets[attribute] = value

    def _guards(self) -> dict[str, Value | None]:
        codec = self.schema.codec
        read = self.used - self.changes.keys() - set(self.schema.primary.fields)
        return {codec.by_name[name].attribute: codec.encode_field(name, self.values[name]) for name in sorted(read)}
