"""The condition of `put_entry`: the stored entry is older by a field, or there is none.

Like every condition, it is of what the entry shows: one that lacks the field has its default, and a time in the form of
another program is a time. What cannot be read as an entry is not replaced: the program raises DecodeError.
"""

from __future__ import annotations

from typing import Any

from msgspec import NODEFAULT

from sortkey.model.changes.condition import condition_in_store
from sortkey.model.changes.conditions import below, holds_on
from sortkey.model.changes.placeholders import Placeholders, any_of
from sortkey.model.changes.places import Fields, PlacePlaceholders
from sortkey.model.fields.codec import Row, codec_of
from sortkey.model.fields.converter import NULL
from sortkey.model.items.entries import Assignment


class NewerEntry:
    def __init__(self, put: Assignment) -> None:
        self._put = put
        struct = type(put.entry)
        # Conditions take it for the schema.
        self._fields: Any = Fields(struct.__name__, codec_of(struct))
        self._older = below(getattr(put.entry, put.newer_by))

    def test(self, placeholders: Placeholders) -> str:
        """The test in DynamoDB's syntax; it may be false for an older entry in the form of another program."""
        name, codec = self._put.newer_by, self._fields.codec
        field = codec.by_name[name]
        inside = PlacePlaceholders(placeholders, self._put.attribute, (field.attribute,))
        older = condition_in_store(self._older, field, otherwise=False)
        tests = [] if older is None else [older.render(self._fields, name, inside)]
        tests.append(placeholders.equal(self._put.attribute, None))
        default = codec.if_absent(name)
        if default is not NODEFAULT and self._is_older(default):
            # What is no entry lacks the field, too, and must not be lost.
            is_map = f"attribute_type({placeholders.name(self._put.attribute)}, {placeholders.value({'S': 'M'})})"
            tests.append(f"{is_map} AND attribute_not_exists({inside.name(name)})")
        if field.nullable:
            tests.append(f"{inside.name(name)} = {placeholders.value(dict(NULL))}")
        return any_of(*tests)

    def accepts(self, row: Row) -> bool:
        """Whether the entry of this row may be replaced."""
        stored = row.get(self._put.attribute)
        if stored is None:
            return True
        return self._is_older(getattr(self._put.read(stored), self._put.newer_by))

    def unchanged(self, row: Row, placeholders: Placeholders) -> str:
        """The test that the entry is as it was read."""
        return placeholders.equal(self._put.attribute, row.get(self._put.attribute))

    def _is_older(self, value: Any) -> bool:
        return value is None or holds_on(self._fields, self._put.newer_by, self._older, value)
