"""Comparisons of a field with another field of the item: `where={"used": sk.at_most(sk.value_of("limit"))}`.

The store compares two attributes if the row has both. For other rows the program tells, by what the item shows.
"""

from __future__ import annotations

from typing import Any, Final

from sortkey.model.changes.comparable import compare
from sortkey.model.changes.compared_value import compared_value
from sortkey.model.changes.condition import Condition
from sortkey.model.changes.own_form import TextForm, own_form
from sortkey.model.changes.placeholders import Placeholders, all_of, any_of
from sortkey.model.fields.converter import NULL, Value
from sortkey.model.items.schema import Schema

_OPPOSITE: Final = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class FieldValue:
    """The value of another field of the item; see `value_of`."""

    def __init__(self, field: str) -> None:
        self.field = field

    def __repr__(self) -> str:
        return f"value_of({self.field!r})"


def value_of(field: str) -> Any:
    """The value of another field, for comparisons: `sk.below(sk.value_of("limit"))`. If one of the two is absent, only
    `sk.other_than` is true."""
    return FieldValue(field)


class FieldComparison(Condition):
    def __init__(self, operator: str, other: FieldValue, if_missing: bool) -> None:
        self.operator = operator
        self.other = other
        self.if_missing = if_missing
        """The result if one of the fields is absent."""

    def __repr__(self) -> str:
        return f"{self.operator} {self.other!r}"

    @property
    def others(self) -> frozenset[str]:
        return frozenset({self.other.field})

    def for_item(self, schema: Schema[Any], item: Any) -> Condition:
        made = compared_value(schema.codec, self.other.field, getattr(item, self.other.field))
        return _WithValue(self, None if made == NULL else made)

    def settled(self, otherwise: bool) -> Condition:
        return _InStore(self, otherwise)

    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        names = (placeholders.name(schema.codec.by_name[each].attribute) for each in (field, self.other.field))
        return f" {self.operator} ".join(names)

    def holds(self, _schema: Schema[Any], _field: str, _shown: Value | None) -> bool:
        """Without the other field."""
        return self.if_missing

    def __invert__(self) -> Condition:
        return FieldComparison(_OPPOSITE[self.operator], self.other, not self.if_missing)


class _WithValue(Condition):
    """The comparison, for one item."""

    def __init__(self, comparison: FieldComparison, value: Value | None) -> None:
        self.comparison = comparison
        self.value = value

    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        return self.comparison.render(schema, field, placeholders)

    def holds(self, _schema: Schema[Any], _field: str, shown: Value | None) -> bool:
        if shown is None or self.value is None:
            return self.comparison.if_missing
        return compare(self.comparison.operator, shown, self.value)


class _InStore(Condition):
    """The comparison where the row has both fields; `otherwise` where it has not, or has a value in another form."""

    def __init__(self, comparison: FieldComparison, otherwise: bool) -> None:
        self.comparison = comparison
        self.if_absent = self.if_null = otherwise

    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        test = self.comparison.render(schema, field, placeholders)
        gaps: list[tuple[str, str]] = []
        for each in (field, self.comparison.other.field):
            known = schema.codec.by_name[each]
            name = placeholders.name(known.attribute)
            gaps.append((f"attribute_exists({name})", f"attribute_not_exists({name})"))
            if known.nullable:
                null = placeholders.value(dict(NULL))
                gaps.append((f"{name} <> {null}", f"{name} = {null}"))
            form = own_form(known)
            if isinstance(form, TextForm):
                gaps += form.tests(name, placeholders)
        if self.if_absent:
            return any_of(test, *(gap for _, gap in gaps))
        return all_of([*(known for known, _ in gaps), test])

    def holds(self, schema: Schema[Any], field: str, shown: Value | None) -> bool:
        return self.comparison.holds(schema, field, shown)
