"""Plans a partial update, so that index keys and computed fields stay consistent with the fields they are made of.

The declarations say which key attributes depend on which fields. A change of such a field recomputes the key attribute:
from the changes and the primary key if they suffice, else from other fields, which are read first. The update is then
conditional on the values read: if they have changed in between, it fails and is planned again.

A row may be older than an index, or than a field of it, and lack the key or a part of it. So an update that writes a
part of an index key is conditional on the other parts being there; if they are not, it fails, returns the row, and is
planned again to write the whole key. A row may also lack a required field that an index key has: it cannot be read,
and an update must not remove the key, which may be all that is known. And a row may be in an index that its item is not
in: an update that removes a part of that key removes all of it.

A field that is `in_key` has no attribute: changing it changes the index keys that hold it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from msgspec import NODEFAULT

from sortkey.model.errors import KeyChange, unknown_field
from sortkey.model.fields.codec import Row
from sortkey.model.fields.converter import Value
from sortkey.model.items.schema import Schema
from sortkey.model.keys.key_attribute import KeyAttribute
from sortkey.model.keys.key_layout import KeyLayout

Results = dict[str, tuple[list[Any], Any]]
"""What computed fields are, with the inputs that they were computed from."""


_NO_READS: Final[frozenset[str]] = frozenset()


class ChangePlan(NamedTuple):
    """The attributes to set and to remove; complete if `reads` is empty."""

    sets: Row
    removes: tuple[str, ...]
    reads: frozenset[str]
    """Fields whose current values are needed, for a key attribute or a computed field. Plan again with them in
    `known`."""
    guards: dict[str, Value | None]
    """The values read, by attribute, which must be unchanged; None for an absent attribute."""
    beside: dict[str, frozenset[str]]
    """The other attributes of index keys that the update writes a part of: they must exist, each unless one of those
    named with it is absent, which keeps the item out of the index."""


def _dependencies(layout: KeyLayout, part: KeyAttribute) -> frozenset[str]:
    """The attribute's own fields, and those that remove the item from the index when they are None."""
    return layout.sparse.union(part.fields)


def plan_changes(
    schema: Schema[Any],
    changes: Mapping[str, Any],
    known: Mapping[str, Any],
    row: Row | None = None,
    *,
    operated: Collection[str] = (),
    results: Results | None = None,
) -> ChangePlan:
    """Plans the update. `known` has the fields of the primary key, and those that an earlier plan asked to read; all
    fields with the item's `row`. The store applies operators to the fields that are `operated`; no key is made of them,
    but their attributes may be a part of one. `results` are those of earlier plans of the same update: it is the same
    again for the same row, whatever the functions of computed fields do."""
    if schema.plain.issuperset(changes) and schema.plain.issuperset(operated):
        return _plain(schema, changes)
    _reject_impossible(schema, changes)
    return _Planner(schema, changes, known, row, operated, {} if results is None else results).plan()


def _plain(schema: Schema[Any], changes: Mapping[str, Any]) -> ChangePlan:
    """Handles the common case: nothing else depends on the fields that change."""
    codec = schema.codec
    sets: Row = {}
    removes: list[str] = []
    for name, value in changes.items():
        made = codec.encode_field(name, value, check=True)
        if made is None:
            removes.append(codec.by_name[name].attribute)
        else:
            sets[codec.by_name[name].attribute] = made
    return ChangePlan(sets, tuple(removes), _NO_READS, {}, {})


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
    def __init__(
        self,
        schema: Schema[Any],
        changes: Mapping[str, Any],
        known: Mapping[str, Any],
        row: Row | None,
        operated: Collection[str],
        results: Results,
    ) -> None:
        self.results = results
        self.schema = schema
        self.primary = frozenset(part.name for part in schema.primary.attributes)
        """Every row has them, and no update can change them; an index may share them."""
        self.row = row
        self.changes = changes
        self.operated = operated
        self.values = {**known, **changes}
        self.sets: Row = {}
        self.removes: list[str] = []
        self.reads: set[str] = set()
        self.used: set[str] = set()
        self.beside: dict[str, frozenset[str]] = {}

    def plan(self) -> ChangePlan:
        if self.schema.computed:
            self._compute_fields()
        for name, value in self.changes.items():
            codec = self.schema.codec
            made = codec.encode_field(name, value, check=True)
            if name not in self.schema.index_sources:
                self._assign(codec.by_name[name].attribute, made)
        for layout in self.schema.indexes.values():
            changed = [part for part in layout.computed if self._changes_with(layout, part)]
            for part in changed:
                if part.name not in self.primary:
                    self._recompute(layout, part)
            written = changed if not self.operated else [*changed, *self._operated_parts(layout)]
            if not self._absent(layout) and any(part.name in self.sets or part not in changed for part in written):
                for part in layout.computed:
                    if part not in written and part.name not in self.primary:
                        self._complete(layout, part)
        for field in self.schema.sparsely_held:
            self._require_held(field)
        return ChangePlan(self.sets, tuple(self.removes), frozenset(self.reads), self._guards(), self.beside)

    def _require_held(self, field: str) -> None:
        """Rejects an update that leaves an `in_key` field without a key that holds it."""
        homes = self.schema.homes(field)
        if not all(map(self._absent, homes)) or all(self.changes.keys().isdisjoint(home.sparse) for home in homes):
            return
        if field not in self.values:
            self.reads.add(field)
        elif self.values[field] is not None:
            raise self.schema.not_held(field)
        elif field not in self.changes:
            self.used.add(field)

    def _compute_fields(self) -> None:
        """Adds the computed fields to the changes, each if one of its inputs is among them."""
        made: dict[str, Any] = {}
        for field in self.schema.computed:
            if self.changes.keys().isdisjoint(field.inputs):
                continue
            unknown = set(field.inputs) - self.values.keys()
            if unknown:
                self.reads |= unknown
                continue
            self.used.update(field.inputs)
            inputs = [self.values[name] for name in field.inputs]
            known = self.results.get(field.name)
            if known is None or known[0] != inputs:
                known = self.results[field.name] = inputs, field.value(self.values)
            made[field.name] = known[1]
        self.changes = {**self.changes, **made}
        self.values |= made

    def _changes_with(self, layout: KeyLayout, part: KeyAttribute) -> bool:
        """Whether the changes decide an attribute of an index key. One that is a field changes with that field only:
        whether the item is in the index does not touch it."""
        if part.name in self.schema.codec.attributes:
            return part.fields[0] in self.changes
        return not _dependencies(layout, part).isdisjoint(self.changes)

    def _operated_parts(self, layout: KeyLayout) -> list[KeyAttribute]:
        """The attributes of an index key that are fields to which the store applies operators."""
        own = self.schema.codec.attributes
        return [part for part in layout.computed if part.name in own and part.fields[0] in self.operated]

    def _complete(self, layout: KeyLayout, part: KeyAttribute) -> None:
        """Requires an attribute of an index key that does not change; sets it if the row lacks it."""
        is_field = part.name in self.schema.codec.attributes
        if is_field and not self._may_lack(part.fields[0]):
            return
        if self.row is None or part.name in self.row:
            self._require(part.name, self._keeping_out(layout))
            return
        self.used.update(part.fields)
        if part.name not in self.sets:
            self.sets[part.name] = part.value([self.values[field] for field in part.fields])

    def _require(self, attribute: str, unless_absent: frozenset[str]) -> None:
        self.beside[attribute] = self.beside.get(attribute, unless_absent) & unless_absent

    def _keeping_out(self, layout: KeyLayout) -> frozenset[str]:
        """The attributes whose absence keeps an item out of an index, but for those that the update may set."""
        codec = self.schema.codec
        names = layout.sparse.difference(self.changes, self.operated, self.schema.index_sources)
        fields = (codec.by_name[name] for name in names)
        return frozenset(field.attribute for field in fields if field.left_out)

    def _may_lack(self, field: str) -> bool:
        """Whether a row may lack the attribute of a field that its item shows: it has a default, or the primary key
        has it."""
        codec = self.schema.codec
        if codec.by_name[field].annotation.optional:
            return False
        return field in self.schema.primary.fields or codec.if_absent(field) is not NODEFAULT

    def _recompute(self, layout: KeyLayout, part: KeyAttribute) -> None:
        if part.name in self.schema.codec.attributes:
            # The attribute is the field itself, assigned above; here a value that a key cannot hold is rejected.
            (field,) = part.fields
            if self.changes.get(field) is not None:
                part.value([self.changes[field]])
            return
        if self._absent(layout):
            self._use_absence(layout)
            self._remove_unless_shared(layout, part)
            self._leave(layout)
            return
        needed = _dependencies(layout, part)
        unknown = needed - self.values.keys()
        if unknown:
            self.reads |= unknown
            return
        self.used |= needed
        self._assign(part.name, part.value([self.values[field] for field in part.fields]))

    def _absent(self, layout: KeyLayout) -> list[str]:
        """The fields that are known to keep the item out of the index. An operator may set a field that is None."""
        known = layout.sparse & self.values.keys()
        return [field for field in known if self.values[field] is None and field not in self.operated]

    def _use_absence(self, layout: KeyLayout) -> None:
        """One absent field decides. If it is one of the changes, nothing has to be guarded."""
        absent = self._absent(layout)
        if self.changes.keys().isdisjoint(absent):
            self.used.update(absent[:1])

    def _leave(self, layout: KeyLayout) -> None:
        """Removes what the row still has of the key of an index that the item is not in, whatever field it is of: the
        rest would be half a key."""
        if self.row is None:
            return
        kept = self.primary.union(self.schema.codec.attributes, self.removes)
        for part in layout.computed:
            if part.name in self.row and part.name not in kept:
                self._remove_unless_shared(layout, part)

    def _remove_unless_shared(self, layout: KeyLayout, part: KeyAttribute) -> None:
        """Removes an attribute of an index that the item leaves, unless another index that the item is in has it."""
        others = [each for each in self.schema.sharing(layout) if any(own.name == part.name for own in each.computed)]
        for other in others:
            if self._absent(other):
                self._use_absence(other)
                continue
            self.used |= other.sparse & self.values.keys()
            self.reads |= other.sparse - self.values.keys()
            return
        self._keep_fields(layout)
        if part.name not in self.removes:
            self._assign(part.name, None)
        for other in others:
            self._leave(other)

    def _keep_fields(self, layout: KeyLayout) -> None:
        """Requires the attributes of the required fields that the key of this index holds."""
        for field in self.schema.required_in(layout):
            if field not in self.changes:
                self._require(self.schema.codec.by_name[field].attribute, frozenset())

    def _assign(self, attribute: str, value: Value | None) -> None:
        if value is None:
            self.removes.append(attribute)
        else:
            self.sets[attribute] = value

    def _guards(self) -> dict[str, Value | None]:
        codec, sources = self.schema.codec, self.schema.index_sources
        read = self.used - self.changes.keys() - set(self.schema.primary.fields)
        fields = {
            codec.by_name[name].attribute: codec.encode_field(name, self.values[name])
            for name in sorted(read - sources.keys())
        }
        keys = sorted({part.name for name in read & sources.keys() for part in sources[name]})
        return fields | {name: None if self.row is None else self.row.get(name) for name in keys}
