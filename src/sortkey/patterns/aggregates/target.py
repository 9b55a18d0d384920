"""The items that an aggregate is kept in: what follows from a group, and which attributes hold the values.

An index key may have the group's fields, and a value as a number attribute of its own: adding moves the item in the
index. A text that contains a sum, such as `{count:desc}#{restaurant}`, needs the new one, which is not known before the
write. So an item with such *sum texts* is written on the condition that the sum is as it was read, or written last.
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
from sortkey.model.fields.real_types import RealTypes
from sortkey.model.items.schema import Schema
from sortkey.model.keys.key_attribute import KeyAttribute, NativeAttribute
from sortkey.model.keys.key_layout import KeyLayout
from sortkey.patterns.aggregates.values import Extreme, Group, Kept, StoredExtreme, Sum, zero_of
from sortkey.patterns.aggregates.windows import AnyWindow, KeptGroups

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
        keep: KeptGroups | None = None,
        keep_expired: bool = False,
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
        self._keep = keep
        fields = schema.codec.by_name
        expires = keep is not None or (window is not None and bool(window.keep))
        self._expires = schema.codec.ttl_field if expires else None
        self.expired = {name: f"{prefix}:expired:{name}" for name in values} if keep_expired else {}
        """The attributes with the values of the items that have expired; none if those do not stay counted."""
        self.zeros = {name: zero_of(fields[name].annotation) for name in self.sums}
        self._check()
        self.attributes = {name: self._attributes_of(name) for name in values}
        """The attributes that hold each value: its own, and copies of it in index keys."""
        self.copies = {name: attributes[1:] for name, attributes in self.attributes.items()}
        texts = [
            (layout, part)
            for layout, part in self._index_parts()
            if not isinstance(part, NativeAttribute) and not self.sums.keys().isdisjoint(part.fields)
        ]
        self._sum_texts = {part.name: layout for layout, part in texts}
        self.sums_in_texts = [name for name in self.sums if any(name in part.fields for _, part in texts)]
        """The sums that texts of index keys contain."""
        self.flags = {name: fields[value.flag(name)].attribute for name, value in self.extremes.items()}
        self._written = {each for attributes in self.attributes.values() for each in attributes} | {
            *self.flags.values(),
            *self._sum_texts,
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

    def _item(self, group: Group, sums: Mapping[str, Any] | None = None) -> Any:
        """The item of a group with these sums; without them, nothing is counted."""
        fields = {**self.zeros, **(sums or {}), **dict(zip(self.group, group, strict=True))}
        expiry = None if self._expires is None else self._expiry(group)
        if expiry is not None and self._expires is not None:
            is_time = self.schema.codec.by_name[self._expires].annotation.declared is RealTypes.datetime
            fields[self._expires] = expiry if is_time else int(expiry.timestamp())
        return self.schema.owner(**fields)

    def _expiry(self, group: Group) -> datetime | None:
        if self._keep is not None:
            return self._keep.until(group)
        return None if self._window is None else self._window.expiry(group[-1])

    def encoded(self, name: str, value: Any) -> Value:
        """The value of a field, as it is stored."""
        return self.schema.codec.by_name[name].encode(value)

    def sum_in(self, row: Row, name: str) -> Any:
        """A sum that a row has. Raises DecodeError."""
        return self._value_in(row, name, self.zeros[name])

    def expired_sum_in(self, row: Row, name: str) -> Any:
        """What the items that have expired add to a sum. Raises DecodeError."""
        value = row.get(self.expired[name]) if name in self.expired else None
        return self.zeros[name] if value is None else self._decoded(row, name, value)

    def expired_extreme_in(self, row: Row, name: str) -> Any:
        """The extreme of the items that have expired; None if there is none. Raises DecodeError."""
        value = row.get(self.expired[name]) if name in self.expired else None
        # In a list, so that it is no checkpoint, which is a text.
        return None if value is None else self._decoded(row, name, value["L"][0])

    def sum_texts(self, group: Group, sums: Mapping[str, Any]) -> dict[str, Value | None]:
        """The texts of index keys that contain sums, of an item with these; None if it is not in the index."""
        if not self._sum_texts:
            return {}
        item = self._item(group, sums)
        return {name: layout.attributes_of(item).get(name) for name, layout in self._sum_texts.items()}

    def wrong_texts(self, row: Row, group: Group) -> list[str]:
        """The attributes with such texts that are not those of the sums that the row has."""
        if not row:
            return []
        right = self.sum_texts(group, {name: self.sum_in(row, name) for name in self.sums_in_texts})
        return [name for name, text in right.items() if row.get(name) != text]

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
        value = row.get(self.schema.codec.by_name[name].attribute)
        return absent if value is None else self._decoded(row, name, value)

    def _decoded(self, row: Row, name: str, value: Value) -> Any:
        try:
            return self.schema.codec.by_name[name].decode(value)
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
        if self.schema.computed:
            raise DeclarationError(
                f"{self.schema.name}.{self.schema.computed[0].name} is computed from fields (sk.computed), and an "
                f"aggregate adds to its items without reading them"
            )
        if self.schema.revision in self.positions:
            raise DeclarationError(f"{self.schema.name}.{self.schema.revision} counts writes (sk.version)")
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


def _are_equal(found: Value | None, expected: Value | None) -> bool:
    if found is None or expected is None:
        return found is expected
    return found.keys() == expected.keys() and bool(comparable(found) == comparable(expected))
