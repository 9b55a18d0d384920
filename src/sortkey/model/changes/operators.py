"""Changes of a field that depend on what it holds: `{"visits": sk.add(1), "tags": sk.add({"new"})}`.

Each can be done by the store itself, and also be worked out from a value at hand, which is what a field needs that an
index key is made of.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Any, Final, NamedTuple

from sortkey.model.changes.conditions import attribute_of, encoded
from sortkey.model.items.schema import Schema
from sortkey.model.sessions.placeholders import Placeholders

SET: Final = "SET"
ADD: Final = "ADD"
DELETE: Final = "DELETE"


class Clause(NamedTuple):
    """A part of an update expression: its section, and what it says there."""

    section: str
    text: str


class Operator(ABC):
    @abstractmethod
    def clause(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> Clause:
        """How the store does it."""

    @abstractmethod
    def apply(self, current: Any) -> Any:
        """What it makes of a value; None is no value."""


class Add(Operator):
    def __init__(self, amount: int | Decimal | AbstractSet[Any]) -> None:
        self.amount = amount

    def __repr__(self) -> str:
        return f"add({self.amount!r})"

    def clause(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> Clause:
        value = placeholders.value(encoded(schema, field, self.amount))
        return Clause(ADD, f"{placeholders.name(attribute_of(schema, field))} {value}")

    def apply(self, current: Any) -> Any:
        if current is None:
            return self.amount
        return current | self.amount if isinstance(self.amount, AbstractSet) else current + self.amount


class Discard(Operator):
    def __init__(self, elements: AbstractSet[Any]) -> None:
        self.elements = elements

    def __repr__(self) -> str:
        return f"discard({self.elements!r})"

    def clause(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> Clause:
        value = placeholders.value(encoded(schema, field, self.elements))
        return Clause(DELETE, f"{placeholders.name(attribute_of(schema, field))} {value}")

    def apply(self, current: Any) -> Any:
        return current - self.elements if current else current


class Append(Operator):
    def __init__(self, elements: list[Any]) -> None:
        self.elements = elements

    def __repr__(self) -> str:
        return f"append({self.elements!r})"

    def clause(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> Clause:
        name = placeholders.name(attribute_of(schema, field))
        empty, more = placeholders.value({"L": []}), placeholders.value(encoded(schema, field, self.elements))
        return Clause(SET, f"{name} = list_append(if_not_exists({name}, {empty}), {more})")

    def apply(self, current: Any) -> Any:
        return [*(current or ()), *self.elements]


class Initially(Operator):
    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"initially({self.value!r})"

    def clause(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> Clause:
        name = placeholders.name(attribute_of(schema, field))
        return Clause(SET, f"{name} = if_not_exists({name}, {placeholders.value(encoded(schema, field, self.value))})")

    def apply(self, current: Any) -> Any:
        return self.value if current is None else current


def add(amount: int | Decimal | AbstractSet[Any]) -> Operator:
    """A number added to a number, absent being 0, or elements to a set."""
    return Add(amount)


def discard(elements: AbstractSet[Any]) -> Operator:
    """Elements taken out of a set."""
    return Discard(elements)


def append(elements: list[Any]) -> Operator:
    """Elements at the end of a list."""
    return Append(elements)


def initially(value: Any) -> Operator:
    """A value for a field that has none."""
    return Initially(value)
