"""The filter of a query: `iterate(path, where=…)`, `page` and `count`.

The store drops rows that cannot match. It lets pass what only the program can tell: rows of an older version, and rows
that lack an attribute which the item shows from a key. Their items are tested after they are decoded.
"""

from __future__ import annotations

from typing import Any

from sortkey.model.changes.conditions import (
    Where,
    attribute_of,
    conditions,
    holds_on,
    render_condition,
    result_if_absent,
)
from sortkey.model.changes.placeholders import Placeholders, all_of, any_of
from sortkey.model.errors import NoAccessPath
from sortkey.model.items.partial_item import projected_attributes
from sortkey.model.items.schema import VERSION_ATTRIBUTE, Schema
from sortkey.model.paths.access_path import Path


class QueryFilter:
    def __init__(self, path: Path[Any], where: Where) -> None:
        """Raises NoAccessPath for a path without a filter, and for fields that a filter cannot use."""
        if path.collection:
            raise NoAccessPath(f"{path!r} has items of several classes; where works on one class only")
        for field in where.keys() & path.layout.unfiltered:
            raise NoAccessPath(f"{path!r}: {field} is an attribute of the key; use the path for it, not where")
        self._schema: Schema[Any] = path.schema
        for field in where:
            attribute_of(self._schema, field)
        if path.layout.projection != "ALL":
            self._reject_unprojected(path, where)
        self._conditions = conditions(where)
        self._if_absent = {
            field: result_if_absent(self._schema, field, condition, path.given)
            for field, condition in self._conditions.items()
        }

    def _reject_unprojected(self, path: Path[Any], where: Where) -> None:
        """The store would take an attribute that the index does not have for an absent one."""
        if self._schema.version > 1:
            raise NoAccessPath(
                f"{path!r}: {path.layout.index} does not have whole items, so rows of an older version cannot be "
                f"upgraded, and where cannot be used"
            )
        held = projected_attributes(self._schema, path.layout)
        for field in where:
            if attribute_of(self._schema, field) not in held:
                raise NoAccessPath(f"{path!r}: where cannot use {field}, which {path.layout.index} does not project")

    @property
    def is_exact(self) -> bool:
        """Whether the store drops all rows that do not match."""
        return self._schema.version == 1 and None not in self._if_absent.values()

    def accepts(self, item: Any) -> bool:
        return all(
            holds_on(self._schema, field, condition, getattr(item, field))
            for field, condition in self._conditions.items()
        )

    def expression(self, placeholders: Placeholders) -> str:
        tests = all_of(
            render_condition(self._schema, field, condition, self._if_absent[field] is not False, placeholders)
            for field, condition in self._conditions.items()
        )
        if self._schema.version == 1:
            return tests
        current = placeholders.value(self._schema.version_mark[1])
        return any_of(f"{placeholders.name(VERSION_ATTRIBUTE)} <> {current}", tests)
