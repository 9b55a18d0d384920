"""Ranges of a key attribute that is a field of a type with several forms: `by_at.after(noon)`.

The store orders texts, and a time that another program stored in another form has another place than Sortkey's. So a
range may return an item whose time, as the item shows it, is outside, and may miss one whose time is inside. The former
is dropped here. The latter is not read; an audit finds such rows.
"""

from __future__ import annotations

from typing import Any

from sortkey.model.changes.comparable import compare
from sortkey.model.changes.own_form import own_form
from sortkey.model.fields.codec import Row
from sortkey.model.items.access_path import AccessPath
from sortkey.model.keys.key_attribute import NativeAttribute, SortCondition


class ShownRange:
    def __init__(self, part: NativeAttribute, condition: SortCondition) -> None:
        self.part = part
        self.condition = condition

    def accepts(self, item: Any) -> bool:
        """Whether an item of the path is in the range."""
        return self._includes(getattr(item, self.part.field.name))

    def accepts_row(self, row: Row) -> bool:
        """The same of a row; false if its key attribute cannot be read."""
        found = self.part.parse(row.get(self.part.name, {}))
        return found is not None and self._includes(found[self.part.field.name])

    def _includes(self, value: Any) -> bool:
        shown, limits = self.part.of(value), self.condition.values
        if self.condition.operator == "BETWEEN":
            return compare(">=", shown, limits[0]) and compare("<=", shown, limits[1])
        return compare(self.condition.operator, shown, limits[0])


def shown_range(path: AccessPath[Any]) -> ShownRange | None:
    """The range of a path, if the store cannot tell for every row."""
    condition = path.condition
    if condition is None or condition.operator in ("=", "begins_with"):
        # What is stored as the wanted value equals it, and only str and bytes, which have one form, have beginnings.
        return None
    part = next(each for each in path.layout.sorts if each.name == condition.attribute)
    if not isinstance(part, NativeAttribute) or own_form(part.field) is None:
        return None
    return ShownRange(part, condition)
