"""Changes of a field that depend on its current value: `{"visits": sk.add(1), "tags": sk.add({"new"})}`.

The store applies an operator as a clause of the update expression; a row that lacks the attribute starts from the
field's default, which is what its item shows. Where the store cannot do that, the session reads the item and applies
the operator itself: if an index key is made of the field, if the default is a set with elements, if the attribute is
NULL, and if elements are to be discarded of which other programs store other forms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Set as AbstractSet
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple

from msgspec import NODEFAULT

from sortkey.model.changes.conditions import attribute_of, encoded, shown_value
from sortkey.model.changes.own_form import own_form
from sortkey.model.changes.placeholders import Placeholders
from sortkey.model.fields.converter import NULL, Value
from sortkey.model.items.schema import Schema

SET: Final = "SET"
ADD: Final = "ADD"
DELETE: Final = "DELETE"


class Clause(NamedTuple):
    """A clause of an update expression, and the section that it belongs in."""

    section: str
    text: str


class Operator(ABC):
    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"{type(self).__name__.lower()}({self.value!r})"

    @abstractmethod
    def clauses(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> list[Clause]:
        """The change in DynamoDB's syntax."""

    def tests(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> list[str]:
        """The tests that the store can apply it to the row."""
        if not schema.codec.by_name[field].nullable:
            return []
        return [f"{placeholders.name(attribute_of(schema, field))} <> {placeholders.value(dict(NULL))}"]

    def applies_to(self, value: Value | None) -> bool:
        """Whether the store can apply it to an attribute with this value; None if the row lacks it."""
        return value != NULL

    @abstractmethod
    def apply(self, current: Any) -> Any:
        """The new value; `current` is None if the field is absent."""

    def needs_value(self, _schema: Schema[Any], _field: str) -> bool:
        """Whether the store cannot apply it to a row without the attribute."""
        return False


class Add(Operator):
    def clauses(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> list[Clause]:
        start = _default(schema, field)
        if start is None or start.get("N") == "0":
            return [_clause(ADD, schema, field, self.value, placeholders)]
        name = placeholders.name(attribute_of(schema, field))
        amount = placeholders.value(encoded(schema, field, self.value))
        return [Clause(SET, f"{name} = if_not_exists({name}, {placeholders.value(start)}) + {amount}")]

    def apply(self, current: Any) -> Any:
        if current is None:
            return self.value
        return current | self.value if isinstance(self.value, AbstractSet) else current + self.value

    def needs_value(self, _schema: Schema[Any], _field: str) -> bool:
        return isinstance(self.value, AbstractSet) and _default(_schema, _field) is not None


class Discard(Operator):
    def clauses(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> list[Clause]:
        return [_clause(DELETE, schema, field, self.value, placeholders)]

    def apply(self, current: Any) -> Any:
        return current - self.value if current else current

    def needs_value(self, schema: Schema[Any], field: str) -> bool:
        # The store would leave an element that is stored in another form.
        return own_form(schema.codec.by_name[field]) is not None or _default(schema, field) is not None


class Append(Operator):
    def clauses(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> list[Clause]:
        name = placeholders.name(attribute_of(schema, field))
        start = placeholders.value(_default(schema, field) or {"L": []})
        more = placeholders.value(encoded(schema, field, self.value))
        return [Clause(SET, f"{name} = list_append(if_not_exists({name}, {start}), {more})")]

    def apply(self, current: Any) -> Any:
        return type(self.value)([*(current or ()), *self.value])


class Initially(Operator):
    def clauses(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> list[Clause]:
        name = placeholders.name(attribute_of(schema, field))
        value = encoded(schema, field, self.value)
        # A default is a value, too.
        return [Clause(SET, f"{name} = if_not_exists({name}, {placeholders.value(_default(schema, field) or value)})")]

    def apply(self, current: Any) -> Any:
        return self.value if current is None or current in (set(), frozenset()) else current


def _default(schema: Schema[Any], field: str) -> Value | None:
    """What the item shows if the row lacks the attribute, encoded; None for None, an empty set and no default."""
    default = schema.codec.if_absent(field)
    return None if default is NODEFAULT else shown_value(schema, field, default)


def _clause(section: str, schema: Schema[Any], field: str, value: Any, placeholders: Placeholders) -> Clause:
    value = placeholders.value(encoded(schema, field, value))
    return Clause(section, f"{placeholders.name(attribute_of(schema, field))} {value}")


def add(amount: int | Decimal | timedelta | AbstractSet[Any]) -> Operator:
    """Adds a number to a number, a duration to a duration, or elements to a set. An absent field starts from its
    default, or from 0."""
    return Add(amount)


def discard(elements: AbstractSet[Any]) -> Operator:
    """Removes elements from a set."""
    return Discard(elements)


def append(elements: list[Any] | tuple[Any, ...]) -> Operator:
    """Appends elements to a list, or to a tuple of any length."""
    return Append(elements)


def initially(value: Any) -> Operator:
    """Sets the field if it is absent: None, or an empty set."""
    return Initially(value)
