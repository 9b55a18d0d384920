"""Makes another row of a stored one, by an update instead of a put: a put would lose what the row got meanwhile."""

from __future__ import annotations

from typing import Any, NamedTuple

from sortkey.model.changes.row_guards import row_guards
from sortkey.model.items.codec import Row
from sortkey.model.items.converter import Value
from sortkey.model.items.schema import Schema


class RowRewrite(NamedTuple):
    sets: Row
    removes: tuple[str, ...]
    guards: dict[str, Value | None]
    """All attributes of the old row, which must be unchanged, and those that it lacked, which must be absent: None."""


def rewrite_row(schema: Schema[Any], old: Row, new: Row) -> RowRewrite:
    """The update from one row to the other. Raises Unsupported if the class is too wide for it."""
    key = {part.name for part in schema.primary.attributes}
    sets = {name: value for name, value in new.items() if name not in key and old.get(name) != value}
    removes = tuple(name for name in old if name not in key and name not in new)
    # An upgrade may return attributes that neither the old row nor the class has.
    return RowRewrite(sets, removes, dict.fromkeys(sets) | row_guards(schema, old))
