"""The filter of a query or a scan: `iterate(path, where=…)`, `page`, `count`, `scan`.

The store drops the rows that do not match. It lets pass what only the program can tell: rows of another version, rows
of a subclass that declares a field otherwise, and fields that the primary key holds in a text, which the store cannot
read. Their items are tested after they are decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sortkey.model.changes.conditions import Where
from sortkey.model.changes.placeholders import Placeholders, any_of
from sortkey.model.changes.requirements import Requirement
from sortkey.model.changes.version_tests import needs_program
from sortkey.model.errors import NoAccessPath
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.partial_item import projected_attributes
from sortkey.model.items.schema import VERSION_ATTRIBUTE, Schema


class RowFilter:
    """`where=` for the rows of one class."""

    def __init__(self, schema: Schema[Any], where: Where, given: Mapping[str, Any]) -> None:
        """`given` has fields that are the same in all rows."""
        self._schema = schema
        self._requirement = Requirement(schema, where, given)

    @property
    def fields(self) -> set[str]:
        """The fields that it compares."""
        return self._requirement.fields

    @property
    def accepts(self) -> Callable[[Any], bool] | None:
        """The test of the items; None if the store judges all rows."""
        schema, requirement = self._schema, self._requirement
        is_exact = schema.version == 1 and schema.exclusive_tags is None and not requirement.undecided
        return None if is_exact else requirement.accepts

    def expression(self, placeholders: Placeholders) -> str | None:
        """The FilterExpression; None if the store can drop nothing."""
        test = self._requirement.expression(placeholders)
        if test is True:
            return None
        tests = [_nothing(placeholders) if test is False else str(test), needs_program(self._schema, placeholders)]
        if self._schema.exclusive_tags is not None:
            attribute, (tag,) = self._schema.exclusive_tags
            tests.append(f"{placeholders.name(attribute)} <> {placeholders.value(tag)}")
        return any_of(*tests)


class QueryFilter(RowFilter):
    def __init__(self, path: AccessPath[Any], where: Where) -> None:
        """Raises NoAccessPath for a path without a filter, and for fields that a filter cannot use."""
        if path.collection:
            raise NoAccessPath(f"{path!r} has items of several classes; where works on one class only")
        # An index key may be stale, so what it says of the primary key is not what the item shows.
        stale = path.layout.lossy if path.layout.index is None else path.layout.lossy.union(path.schema.primary.fields)
        given = {name: value for name, value in path.given.items() if name not in stale}
        super().__init__(path.schema, where, given)
        fields = self.fields
        keys = {part.name for part in path.layout.attributes}
        held = {name for name in path.schema.index_sources if not keys.isdisjoint(path.schema.attributes_with(name))}
        for field in fields & (path.layout.unfiltered | held - given.keys()):
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
            is_given = field in path.given and field in self._schema.index_sources
            if not is_given and held.isdisjoint(self._schema.attributes_with(field)):
                raise NoAccessPath(f"{path!r}: where cannot use {field}, which {path.layout.index} does not project")

    def expression(self, placeholders: Placeholders) -> str | None:
        if not self._is_partial:
            return super().expression(placeholders)
        # The version and the tag are the same in all rows that the index can judge, and it may not project them.
        test = self._requirement.expression(placeholders)
        return None if test is True else _nothing(placeholders) if test is False else str(test)


def _nothing(placeholders: Placeholders) -> str:
    """A test that no row passes."""
    name = placeholders.name(VERSION_ATTRIBUTE)
    return f"attribute_exists({name}) AND attribute_not_exists({name})"
