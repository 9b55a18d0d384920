"""The guards of a write that the program prepared from a whole row: the row must be as it was read.

An attribute that the row lacks decides as much as one that it has: a field shows its default, a missing version is the
first one. So every attribute that the class declares is guarded, present or absent. An attribute that no declaration
names, and that the row lacks, is not: nobody knows its name.
"""

from __future__ import annotations

from typing import Any, Final

from sortkey.limits import EXPRESSION_BYTES, EXPRESSION_OPERATORS
from sortkey.model.changes.placeholders import Placeholders, all_of
from sortkey.model.errors import Unsupported
from sortkey.model.fields.codec import Row
from sortkey.model.fields.converter import Value
from sortkey.model.items.schema import Schema

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
