"""Makes another row of a stored one, by an update instead of a put: a put would lose what the row got meanwhile."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from sortkey.model.changes.nested_attributes import keep_undeclared_in
from sortkey.model.changes.row_guards import row_guards
from sortkey.model.fields.codec import Field, Row
from sortkey.model.fields.converter import Value
from sortkey.model.items.schema import Schema


class RowRewrite(NamedTuple):
    sets: Row
    removes: tuple[str, ...]
    guards: dict[str, Value | None]
    """All attributes of the old row, which must be unchanged, and those that it lacked, which must be absent: None."""


def rewrite_row(
    schema: Schema[Any], old: Row, item: Any, *, assigned: Collection[str] = (), read: Row | None = None
) -> RowRewrite:
    """The update from a row to that of the item, which was made of it. The fields that are `assigned` are replaced;
    others keep what the class does not declare, and an attribute that disagrees with the primary key stays. `read` is
    the row that the item was decoded from, if that is not the old one. Raises Unsupported if the class is too wide for
    it, and EncodeError."""
    new = _row(schema, old if read is None else read, item, assigned)
    key = {part.name for part in schema.primary.attributes}
    sets = {name: value for name, value in new.items() if name not in key and old.get(name) != value}
    removes = tuple(name for name in old if name not in key and name not in new)
    # An upgrade may return attributes that neither the old row nor the class has.
    return RowRewrite(sets, removes, dict.fromkeys(sets) | row_guards(schema, old))


def _row(schema: Schema[Any], read: Row, item: Any, assigned: Collection[str]) -> Row:
    new = schema.encode(item)
    before = schema.upgraded(read)
    for field in schema.codec.fields:
        if field.name in schema.primary.fields:
            _keep_disagreeing(schema, new, before, field, item)
        elif field.name not in assigned:
            keep_undeclared_in(new, before, field)
    return new


def _keep_disagreeing(schema: Schema[Any], new: Row, before: Row, field: Field, item: Any) -> None:
    """Keeps an attribute that says something else than the key: nobody here knows which one is right. That of an
    `in_key` field is undeclared, and kept as such."""
    name = field.attribute
    if name not in before or name not in new or field.name in schema.codec.in_key:
        return
    if field.decode(before[name]) != getattr(item, field.name):
        new[name] = before[name]
