"""Makes another row of a stored one, by an update instead of a put: a put would lose what the row got meanwhile."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from sortkey.model.changes.nested_attributes import NESTED, keep_undeclared_in
from sortkey.model.changes.row_guards import row_guards
from sortkey.model.items.codec import Row
from sortkey.model.items.converter import Value
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
    others keep what the class does not declare. `read` is the row that the item was decoded from, if that is not the
    old one. Raises Unsupported if the class is too wide for it, and EncodeError."""
    new = _row(schema, old if read is None else read, item, assigned)
    key = {part.name for part in schema.primary.attributes}
    sets = {name: value for name, value in new.items() if name not in key and old.get(name) != value}
    removes = tuple(name for name in old if name not in key and name not in new)
    # An upgrade may return attributes that neither the old row nor the class has.
    return RowRewrite(sets, removes, dict.fromkeys(sets) | row_guards(schema, old))


def _row(schema: Schema[Any], read: Row, item: Any, assigned: Collection[str]) -> Row:
    new = schema.encode(item)
    before: Row | None = None
    for field in schema.codec.fields:
        name = field.attribute
        if field.name in assigned or name not in new or NESTED.isdisjoint(new[name]):
            continue
        if before is None:
            before = schema.upgraded(read)
        keep_undeclared_in(new, before, field)
    return new
