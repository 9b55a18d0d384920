"""The condition of a write on one item: `update(path, …, where=…)`, `delete`, and the checks of a transaction.

The store tests it, and only if it says no, the program looks again at the row that the error holds. Both may differ:
the row may have another version, whose attributes are others, lack something that the item shows from a key, or have a
value in the form of another program (`changes/own_form.py`); and tests of many forms may not fit into a condition.
Then the write is sent again, conditional on that row. So the store's test must never be true where the item does not
match; it may be false where the item does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sortkey.model.changes.combination import Where, requires_nothing
from sortkey.model.changes.placeholders import Placeholders, all_of, any_of
from sortkey.model.changes.requirements import Leaf, Requirement
from sortkey.model.changes.row_guards import row_guards
from sortkey.model.changes.version_tests import is_current
from sortkey.model.fields.codec import Row
from sortkey.model.items.schema import Schema


class ItemCondition:
    def __init__(self, schema: Schema[Any], where: Where | None, given: Mapping[str, Any]) -> None:
        """`given` has the fields of the primary key. Raises for fields that a condition cannot use."""
        self.schema = schema
        self.where = where
        self.is_empty = requires_nothing(where)
        if not self.is_empty:
            self._requirement = Requirement(schema, where, given)
            # Now, so that impossible conditions are rejected before anything is sent.
            self._placeholders = Placeholders()
            self._text = self._rendered(self._placeholders)

    def accepts(self, item: Any) -> bool:
        """Whether an item matches."""
        return self.is_empty or self._requirement.accepts(item)

    def tests(self, row: Row | None, placeholders: Placeholders) -> list[str]:
        """The condition on a row of the current version, in DynamoDB's syntax, to be joined by AND. `row` is the item's
        row if it is known."""
        if self.is_empty:
            return []
        if row is not None and self._needs_program(row) and self.accepts(self.schema.decode(row)):
            return self._unchanged(row, placeholders)
        # Handles the common case, a request that has no placeholders yet.
        return [self._text if placeholders.begin_with(self._placeholders) else self._rendered(placeholders)]

    def _rendered(self, placeholders: Placeholders) -> str:
        test = self._requirement.expression(False, placeholders)
        if isinstance(test, str):
            return test
        # The store cannot judge any row, so it returns the row, and the program judges it; or the key decides.
        partition = placeholders.name(self.schema.primary.partition.name)
        tests = f"attribute_exists({partition})", f"attribute_not_exists({partition})"
        return any_of(*tests) if test else all_of(tests)

    def _needs_program(self, row: Row) -> bool:
        """Whether the store cannot judge the row."""
        return self._requirement.needs_program(row, otherwise=False)

    def _unchanged(self, row: Row, placeholders: Placeholders) -> list[str]:
        """The tests that nothing has changed which decides whether the item matches."""
        keys = [part.name for layout in self.schema.all_indexes for part in layout.attributes]
        fields = self.schema.codec.by_name
        used = dict.fromkeys([*(fields[name].attribute for name in sorted(self._requirement.fields)), *keys])
        return [placeholders.equal(name, row.get(name)) for name in used]

    @property
    def holds_if_missing(self) -> bool:
        """Whether a missing item matches. It has no fields, so it matches only conditions that fields are absent."""
        return self._requirement.holds(Leaf.holds_if_missing)

    @property
    def holds_if_new(self) -> bool:
        """Whether an item matches that the write itself creates, before it has any field."""
        return self._requirement.holds(lambda leaf: leaf.holds(None))

    def test_of_any(self, row: Row | None, placeholders: Placeholders, *, if_missing: bool) -> str:
        """The condition as one test, with this result for a missing item."""
        test = all_of([*self.tests(row, placeholders), is_current(self.schema, placeholders)])
        may_hold = self.schema.version == 1 and self._requirement.holds(lambda leaf: bool(leaf.if_absent))
        # The tests of a known row may be that attributes are absent, which holds for a missing item, too.
        if row is None and may_hold == if_missing:
            return test
        partition = placeholders.name(self.schema.primary.partition.name)
        if if_missing:
            return any_of(f"attribute_not_exists({partition})", test)
        return all_of([f"attribute_exists({partition})", test])


def unchanged(schema: Schema[Any], row: Row, placeholders: Placeholders) -> list[str]:
    """The tests that a row exists and is as it was read."""
    there = f"attribute_exists({placeholders.name(schema.primary.partition.name)})"
    return [there, *(placeholders.equal(name, value) for name, value in row_guards(schema, row).items())]
