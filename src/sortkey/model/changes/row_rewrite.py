"""Makes another row of a stored one, by an update instead of a put: a put would lose what the row got meanwhile.

The update keeps what the class does not declare, also inside of maps: attributes that other programs store there. An
item shows only the declared ones, so an attribute encoded from an item has lost the others. They are known by a
comparison: the stored value has them, and the same value decoded and encoded again has not.

It is guarded by the whole row. An attribute that the row lacks decides as much as one that it has: a field shows its
default, a missing version is the first one. So every attribute that the class declares is guarded, present or absent.
An attribute that no declaration names, and that the row lacks, is not: nobody knows its name.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, NamedTuple

from sortkey.limits import EXPRESSION_BYTES, EXPRESSION_OPERATORS
from sortkey.model.changes.placeholders import Placeholders, all_of
from sortkey.model.errors import Unsupported
from sortkey.model.fields.codec import Field, Row
from sortkey.model.fields.converter import Value
from sortkey.model.fields.stored_forms import NESTED, keep_stored
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
        elif not field.annotation.in_key:
            _replace(schema, new, field, item)
    return new


def _replace(schema: Schema[Any], new: Row, field: Field, item: Any) -> None:
    """Gives an attribute the form of its field, whatever form the item was read in."""
    value = schema.codec.encode_field(field.name, getattr(item, field.name), check=True)
    if value is None:
        new.pop(field.attribute, None)
    else:
        new[field.attribute] = value


def _keep_disagreeing(schema: Schema[Any], new: Row, before: Row, field: Field, item: Any) -> None:
    """Keeps an attribute that says something else than the key: nobody here knows which one is right. That of an
    `in_key` field is undeclared, and kept as such."""
    name = field.attribute
    if name not in before or name not in new or field.name in schema.codec.in_key:
        return
    if field.decode(before[name]) != getattr(item, field.name):
        new[name] = before[name]


_SURELY_FIT: Final = 100
"""So many guards are within DynamoDB's limits, however long: 34 bytes and two operators each."""


def row_guards(schema: Schema[Any], row: Row) -> dict[str, Value | None]:
    """The attributes outside of the primary key, with None for the declared ones that the row lacks. Raises Unsupported
    if a condition cannot hold so many."""
    own = schema.of_row(row)
    primary = {part.name for part in own.primary.attributes}
    guards: dict[str, Value | None] = {name: value for name, value in row.items() if name not in primary}
    guards |= dict.fromkeys(sorted(own.declared - primary - row.keys()))
    if len(guards) > _SURELY_FIT:
        _require_fit(own, guards)
    return guards


def _require_fit(schema: Schema[Any], guards: dict[str, Value | None]) -> None:
    placeholders = Placeholders()
    text = all_of(placeholders.equal(name, value) for name, value in guards.items())
    # Each guard is an operator, and an AND joins it to the test that the row exists.
    if len(text) > EXPRESSION_BYTES or 2 * len(guards) + 1 > EXPRESSION_OPERATORS:
        raise Unsupported(
            f"the store cannot judge this row of {schema.name}, and the {len(guards)} attributes of the row and class "
            f"do not fit into one condition; put the item without a condition first, which writes the row anew"
        )


def keep_undeclared_in(new: Row, stored: Row, field: Field) -> None:
    """Adds to a field of the new row what the stored one has in it, and the class does not declare."""
    name = field.attribute
    if name in new and name in stored and not NESTED.isdisjoint(new[name]) and not NESTED.isdisjoint(stored[name]):
        new[name] = keep_stored(stored[name], field.encode(field.decode(stored[name])), new[name])
