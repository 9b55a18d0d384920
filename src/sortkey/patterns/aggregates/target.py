"""The items that an aggregate is kept in: what follows from a group, and which attributes hold the values.

An index key may have the group's fields, and a value as a number attribute of its own: adding moves the item in the
index. A text that contains the value would need the new one, which no one knows before the write, so it is rejected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

from sortkey.model.calls.skipped_rows import key_text
from sortkey.model.errors import DeclarationError, DecodeError, KeyPartError
from sortkey.model.fields.attribute_values import comparable
from sortkey.model.fields.codec import Row
from sortkey.model.fields.converter import Value
from sortkey.model.items.schema import Schema
from sortkey.model.keys.key_attribute import KeyAttribute, NativeAttribute
from sortkey.model.keys.key_layout import KeyLayout
from sortkey.patterns.aggregates.values import Extreme, Group, Kept, StoredExtreme, Sum, zero_of
from sortkey.patterns.aggregates.windows import AnyWindow

_CACHED_ITEMS: Final = 16_384


class Fixed(NamedTuple):
    """What follows from the group alone."""

    key: Row
    sets: Row


class WrongCopy(NamedTuple):
    """An attribute of an index key that should hold a value, and does not."""

    name: str
    """Of the value."""
    attribute: str


class Target:
    """The items of an aggregate, by the schema that a store needs."""

    def __init__(
        self,
        schema: Schema[Any],
        group: tuple[str, ...],
        values: Mapping[str, Kept],
        window: AnyWindow | None,
        prefix: str,
    ) -> None:
        self.schema = schema
        self.group = group
        """The fields of the key."""
        self.prefix = prefix
        """Of the attributes with checkpoints."""
        self.positions = {name: position for position, name in enumerate(values)}
        """Of the values, in shares."""
        self.sums = {name: value for name, value in values.items() if isinstance(value, Sum)}
        self.extremes = {name: value for name, value in values.items() if isinstance(value, Extreme)}
        self.counter = next((name for name, value in self.sums.items() if value.of is None), None)
        """The field with the number of items, if there is one."""
        self._window = window
        fields = schema.codec.by_name
        self._expires = schema.codec.ttl_field if window is not None and window.keep else None
        self.zeros = {name: zero_of(fields[name].annotation) for name in self.sums}
        self._check()
        self.attributes = {name: self._attributes_of(name) for name in values}
        """The attributes that hold each value: its own, and copies of it in index keys."""
        self.copies = {name: attributes[1:] for name, attributes in self.attributes.items()}
        self.flags = {name: fields[value.flag(name)].attribute for name, value in self.extremes.items()}
        self._written = {each for attributes in self.attributes.values() for each in attributes} | {
            *self.flags.values()
        }
        self._primary = frozenset(part.name for part in schema.primary.attributes)
        known = {*group, self._expires}
        # Another aggregate, or the program, may keep something there: a write must not set it to its default.
        self._others = {field.attribute for name, field in fields.items() if name not in known}
        self.fixed = lru_cache(_CACHED_ITEMS)(self._fixed)
        """The key of a group's item, and what each write sets."""

    def _fixed(self, group: Group) -> Fixed:
        try:
            row = self.schema.encode(self._item(group))
        except KeyPartError as error:
            fields = ", ".join(f"{name}={value!r}" for name, value in zip(self.group, group, strict=True))
            raise KeyPartError(f"{error}; so there is no {self.schema.name} with {fields}") from None
        key = {name: row[name] for name in self._primary}
        left_out = self._primary | self._written | self._others
        return Fixed(key, {name: row[name] for name in row if name not in left_out})

    def _item(self, group: Group) -> Any:
        """The item of a group with nothing counted."""
        fields = {**self.zeros, **dict(zip(self.group, group, strict=True))}
        expiry = None if self._expires is None or self._window is None else self._window.expiry(group[-1])
        if expiry is not None and self._expires is not None:
            is_time = self.schema.codec.by_name[self._expires].annotation.declared is datetime
            fields[self._expires] = expiry if is_time else int(expiry.timestamp())
        return self.schema.owner(**fields)

    def encoded(self, name: str, value: Any) -> Value:
        """The value of a field, as it is stored."""
        return self.schema.codec.by_name[name].encode(value)

    def sum_in(self, row: Row, name: str) -> Any:
        """A sum that a row has. Raises DecodeError."""
        return self._value_in(row, name, self.zeros[name])

    def wrong_copies(self, row: Row, names: Iterable[str]) -> list[WrongCopy]:
        """The copies of these values that are not what the row has as the value."""
        if not row:
            return []
        found = []
        for name in names:
            value = row.get(self.schema.codec.by_name[name].attribute)
            if value is None and name in self.zeros:
                value = self.encoded(name, self.zeros[name])
            found += [WrongCopy(name, each) for each in self.copies[name] if not _are_equal(row.get(each), value)]
        return found

    def bound_in(self, row: Row, name: str) -> StoredExtreme:
        """An extreme that a row has. Raises DecodeError."""
        return StoredExtreme(self._value_in(row, name, None), row.get(self.flags[name]) != {"BOOL": False})

    def require_known(self, row: Row) -> None:
        """Raises DecodeError for a row of a newer version, which may mean something else by its attributes."""
        try:
            self.schema.row_version(row)
        except DecodeError as error:
            raise self._unreadable(row, str(error)) from error

    def _value_in(self, row: Row, name: str, absent: Any) -> Any:
        field = self.schema.codec.by_name[name]
        value = row.get(field.attribute)
        if value is None:
            return absent
        try:
            return field.decode(value)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            reason = f"{self.schema.name}.{name}: {value!r} is not a value of this field"
            raise self._unreadable(row, reason) from error

    def _unreadable(self, row: Row, reason: str) -> DecodeError:
        key = {name: row[name] for name in self._primary}
        shown = key_text(self.schema, row)
        return DecodeError(f"{reason}; this is the row of table {self.schema.table} with the key {shown}", key=key)

    def _attributes_of(self, name: str) -> tuple[str, ...]:
        copies = [part.name for _, part in self._index_parts() if part.fields == (name,)]
        return tuple(dict.fromkeys([self.schema.codec.by_name[name].attribute, *copies]))

    def _index_parts(self) -> list[tuple[KeyLayout, KeyAttribute]]:
        return [(layout, part) for layout in self.schema.indexes.values() for part in layout.computed]

    def _check(self) -> None:
        """Raises DeclarationError for index keys that an update cannot compute."""
        known = {*self.group, *self.positions} | ({self._expires} if self._expires else set())
        for layout, part in self._index_parts():
            extreme = next((field for field in layout.fields if field in self.extremes), None)
            if extreme is not None and not isinstance(part, NativeAttribute):
                raise DeclarationError(
                    f"{self.schema.name}.{layout.name}: items get {part!r} only if {extreme} is known when they are "
                    "created, and it is not; with an extreme, each attribute of an index key must be a field itself, "
                    "by names="
                )
            for field in part.fields:
                if field not in known:
                    raise DeclarationError(
                        f"{self.schema.name}.{layout.name} has {field}, which the aggregate does not know when it adds "
                        f"to an item; an index of it may have {', '.join(sorted(known))}"
                    )
                if field in self.positions and not isinstance(part, NativeAttribute):
                    raise DeclarationError(
                        f"{self.schema.name}.{layout.name}: {part!r} would be a text with the new {field}, which is "
                        f'not known when the store adds to it; make "{{{field}}}" alone the sort key, which is stored '
                        "as a number"
                    )


def _are_equal(found: Value | None, expected: Value | None) -> bool:
    if found is None or expected is None:
        return found is expected
    return found.keys() == expected.keys() and bool(comparable(found) == comparable(expected))
