"""The filter of a query: `iterate(path, where=…)`, `page` and `count`.

The store drops rows that cannot match. It lets pass what only the program can tell: rows of another version, rows of
a subclass that declares a field otherwise, rows that lack something which the item shows from a key, and values in the
form of another program. Their items are tested after they are decoded.
"""

from __future__ import annotations

from typing import Any

from sortkey.model.changes.combination import Where
from sortkey.model.changes.conditions import attribute_of
from sortkey.model.changes.placeholders import Placeholders, any_of
from sortkey.model.changes.requirements import Requirement
from sortkey.model.changes.version_tests import needs_program
from sortkey.model.errors import NoAccessPath
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.partial_item import projected_attributes
from sortkey.model.items.schema import Schema


class QueryFilter:
    def __init__(self, path: AccessPath[Any], where: Where) -> None:
        """Raises NoAccessPath for a path without a filter, and for fields that a filter cannot use."""
        if path.collection:
            raise NoAccessPath(f"{path!r} has items of several classes; where works on one class only")
        self._schema: Schema[Any] = path.schema
        # An index key may be stale, so what it says of the primary key is not what the item shows.
        stale = frozenset[str]() if path.layout.index is None else frozenset(path.schema.primary.fields)
        given = {name: value for name, value in path.given.items() if name not in stale}
        self._requirement = Requirement(path.schema, where, given)
        fields = self._requirement.fields
        for field in fields & path.layout.unfiltered:
            raise NoAccessPath(f"{path!r}: {field} is an attribute of the key; use the path for it, not where")
        self._is_partial = path.layout.projection != "ALL"
        if self._is_partial:
            self._reject_unprojected(path, fields)

    def _reject_unprojected(self, path: AccessPath[Any], fields: set[str]) -> None:
        """The store would take an attribute that the index does not have for an absent one."""
        if self._schema.exclusive_tags is not None:
            raise NoAccessPath(
                f"{path!r}: {path.layout.index} does not have whole items, and a subclass declares fields of "
                f"{self._schema.name} otherwise, so where cannot be used"
            )
        if self._schema.version > 1:
            raise NoAccessPath(
                f"{path!r}: {path.layout.index} does not have whole items, so rows of an older version cannot be "
                f"upgraded, and where cannot be used"
            )
        held = projected_attributes(self._schema, path.layout)
        for field in fields:
            if attribute_of(self._schema, field) not in held:
                raise NoAccessPath(f"{path!r}: where cannot use {field}, which {path.layout.index} does not project")

    @property
    def is_exact(self) -> bool:
        """Whether the store drops all rows that do not match, but for those that the program cannot read."""
        return is_exact(self._schema, self._requirement)

    def accepts(self, item: Any) -> bool:
        return self._requirement.accepts(item)

    def expression(self, placeholders: Placeholders) -> str | None:
        """None if the store can drop nothing."""
        if self._is_partial:
            # The version and the tag are the same in all rows that the index can judge, and it may not project them.
            test = self._requirement.expression(True, placeholders)
            return None if isinstance(test, bool) else test
        return filter_expression(self._schema, self._requirement, placeholders)


def is_exact(schema: Schema[Any], required: Requirement) -> bool:
    """Whether the store drops all rows of a class that do not match, but for those that the program cannot read."""
    return schema.version == 1 and schema.exclusive_tags is None and all(leaf.is_exact for leaf in required.leaves)


def filter_expression(schema: Schema[Any], required: Requirement, placeholders: Placeholders) -> str | None:
    """The tests of the store, which let pass what only the program can tell; None if that is every row."""
    test = required.expression(True, placeholders)
    if isinstance(test, bool):
        return None
    tests = [test, needs_program(schema, placeholders)]
    if schema.exclusive_tags is not None:
        attribute, (tag,) = schema.exclusive_tags
        tests.append(f"{placeholders.name(attribute)} <> {placeholders.value(tag)}")
    return any_of(*tests)
