"""The condition of a write on one item: `update(path, …, where=…)`, `delete`, and the checks of a transaction.

The store tests it, and only if it says no, the program looks again at the row that the error holds. Both may differ:
the row may have an older version, whose attributes are others, or lack an attribute that the item shows from a key.
Then the write is sent again, conditional on that row. So the store's test must never be true where the item does not
match; it may be false where the item does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sortkey.model.changes.conditions import (
    Condition,
    Where,
    attribute_of,
    conditions,
    holds_on,
    render_condition,
    result_if_absent,
)
from sortkey.model.changes.placeholders import Placeholders, all_of, any_of
from sortkey.model.items.codec import Row
from sortkey.model.items.converter import Value
from sortkey.model.items.schema import Schema


class ItemCondition:
    def __init__(self, schema: Schema[Any], where: Where | None, given: Mapping[str, Any]) -> None:
        """`given` has the fields of the primary key. Raises NoAccessPath for a field that a condition cannot use."""
        self.schema = schema
        self.where = dict(where or {})
        self._conditions = conditions(where)
        for field in self.where:
            attribute_of(schema, field)
        self._if_absent = {
            field: result_if_absent(schema, field, condition, given) for field, condition in self._conditions.items()
        }
        if where:
            # Reject impossible conditions before anything is sent.
            self.tests(None, Placeholders())

    def accepts(self, item: Any) -> bool:
        """Whether an item matches."""
        return all(
            holds_on(self.schema, field, condition, getattr(item, field))
            for field, condition in self._conditions.items()
        )

    def tests(self, row: Row | None, placeholders: Placeholders) -> list[str]:
        """The condition on a row of the current version, in DynamoDB's syntax, to be joined by AND. `row` is the item's
        row if it is known."""
        tests: list[str] = []
        for field, condition in self._conditions.items():
            if_absent = self._if_absent[field]
            if if_absent is None and row is not None and self._holds_by_key(field, condition, row):
                tests += [placeholders.equal(name, value) for name, value in self._held(field, row).items()]
            else:
                tests.append(render_condition(self.schema, field, condition, bool(if_absent), placeholders))
        return tests

    def _holds_by_key(self, field: str, condition: Condition, row: Row) -> bool:
        """Whether the field of a row that lacks its attribute, read from a key, matches."""
        if attribute_of(self.schema, field) in row:
            return False
        return holds_on(self.schema, field, condition, getattr(self.schema.decode(row), field))

    def test_of_any(self, row: Row | None, placeholders: Placeholders) -> str:
        """The condition as one test, which also holds for a missing item if its fields, all absent, match."""
        version = [] if self.schema.version == 1 else [placeholders.equal(*self.schema.version_mark)]
        test = all_of([*version, *self.tests(row, placeholders)])
        result = not version and all(self._if_absent.values())
        wanted = all(condition.holds(self.schema, field, None) for field, condition in self._conditions.items())
        if result == wanted:
            return test
        partition = placeholders.name(self.schema.primary.partition.name)
        if wanted:
            return any_of(f"attribute_not_exists({partition})", test)
        return all_of([f"attribute_exists({partition})", test])

    def _held(self, field: str, row: Row) -> dict[str, Value | None]:
        """The attributes of a row that a field is read from if its own is absent."""
        keys = [part.name for layout in self.schema.indexes.values() for part in layout.attributes]
        return {name: row.get(name) for name in (attribute_of(self.schema, field), *keys)}


def unchanged(row: Row, key: Row, placeholders: Placeholders) -> list[str]:
    """The tests that a row exists and has kept all its attributes."""
    there = f"attribute_exists({placeholders.name(next(iter(key)))})"
    return [there, *(placeholders.equal(name, value) for name, value in row.items() if name not in key)]
