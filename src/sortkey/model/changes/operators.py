"""Changes of a field that depend on its current value: `{"visits": sk.add(1), "tags": sk.add({"new"})}`.

The store applies an operator as a clause of the update expression. If an index key is made of the field, the session
reads the field and applies the operator itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Any, Final, NamedTuple

from sortkey.model.changes.conditions import attribute_of, encoded
from sortkey.model.changes.placeholders import Placeholders
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
    def clause(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> Clause:
        """The change in DynamoDB's syntax."""

    @abstractmethod
    def apply(self, current: Any) -> Any:
        """The new value; `current` is None if the field is absent."""


class Add(Operator):
    def clause(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> Clause:
        return _clause(ADD, schema, field, self.value, placeholders)

    def apply(self, current: Any) -> Any:
        if current is None:
            return self.value
        return current | self.value if isinstance(self.value, AbstractSet) else current + self.value


class Discard(Operator):
    def clause(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> Clause:
        return _clause(DELETE, schema, field, self.value, placeholders)

    def apply(self, current: Any) -> Any:
        return current - self.value if current else current


class Append(Operator):
    def clause(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> Clause:
        name = placeholders.name(attribute_of(schema, field))
        empty, more = placeholders.value({"L": []}), placeholders.value(encoded(schema, field, self.value))
        return Clause(SET, f"{name} = list_append(if_not_exists({name}, {empty}), {more})")

    def apply(self, current: Any) -> Any:
        return [*(current or ()), *self.value]


class Initially(Operator):
    def clause(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> Clause:
        name = placeholders.name(attribute_of(schema, field))
        return Clause(SET, f"{name} = if_not_exists({name}, {placeholders.value(encoded(schema, field, self.value))})")

    def apply(self, current: Any) -> Any:
        return self.value if current is None else current


def _clause(section: str, schema: Schema[Any], field: str, value: Any, placeholders: Placeholders) -> Clause:
    value = placeholders.value(encoded(schema, field, value))
    return Clause(section, f"{placeholders.name(attribute_of(schema, field))} {value}")


def add(amount: int | Decimal | AbstractSet[Any]) -> Operator:
    """Adds a number to a number (0 if absent), or elements to a set."""
    return Add(amount)


def discard(elements: AbstractSet[Any]) -> Operator:
    """Removes elements from a set."""
    return Discard(elements)


def append(elements: list[Any]) -> Operator:
    """Appends elements to a list."""
    return Append(elements)


def initially(value: Any) -> Operator:
    """Sets the field if it is absent."""
    return Initially(value)
