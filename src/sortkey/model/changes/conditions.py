"""Conditions and filters on fields: `where={"status": "OPEN", "amount": sk.above(10)}`.

A value means equal to it, None means absent; the functions here make the other conditions. All of them must be true.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sortkey.model.changes.placeholders import Placeholders
from sortkey.model.errors import EncodeError, NoAccessPath, unknown_field
from sortkey.model.items.converter import Value
from sortkey.model.items.schema import Schema

Where = Mapping[str, Any]


class Condition(ABC):
    """A condition on one field."""

    @abstractmethod
    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        """The condition in DynamoDB's syntax."""


class _Comparison(Condition):
    def __init__(self, operator: str, value: Any) -> None:
        self.operator = operator
        self.value = value

    def __repr__(self) -> str:
        return f"{self.operator} {self.value!r}"

    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        value = placeholders.value(encoded(schema, field, self.value))
        return f"{placeholders.name(attribute_of(schema, field))} {self.operator} {value}"


class _OneOf(Condition):
    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values

    def __repr__(self) -> str:
        return f"one of {', '.join(map(repr, self.values))}"

    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        values = ", ".join(placeholders.value(encoded(schema, field, value)) for value in self.values)
        return f"{placeholders.name(attribute_of(schema, field))} IN ({values})"


class _Existence(Condition):
    def __init__(self, function: str) -> None:
        self.function = function

    def __repr__(self) -> str:
        return self.function

    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        return f"{self.function}({placeholders.name(attribute_of(schema, field))})"


class _SizeLimit(Condition):
    def __init__(self, most: int) -> None:
        self.most = most

    def __repr__(self) -> str:
        return f"at most {self.most} elements"

    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        name, most = placeholders.name(attribute_of(schema, field)), placeholders.value({"N": str(self.most)})
        return f"(attribute_not_exists({name}) OR size({name}) <= {most})"


absent: Final[Condition] = _Existence("attribute_not_exists")
"""The item has no such attribute."""
present: Final[Condition] = _Existence("attribute_exists")
"""The item has the attribute."""


def below(value: Any) -> Condition:
    """The field is less than `value`."""
    return _Comparison("<", value)


def above(value: Any) -> Condition:
    """The field is greater than `value`."""
    return _Comparison(">", value)


def at_most(value: Any) -> Condition:
    """The field is less than or equal to `value`."""
    return _Comparison("<=", value)


def at_least(value: Any) -> Condition:
    """The field is greater than or equal to `value`."""
    return _Comparison(">=", value)


def other_than(value: Any) -> Condition:
    """The field differs from `value`, or is absent."""
    return _Comparison("<>", value)


def one_of(*values: Any) -> Condition:
    """The field equals one of the values."""
    return _OneOf(values)


def sized(at_most: int) -> Condition:
    """A set, list or map has at most this many elements, a string this many characters. An absent one has 0."""
    return _SizeLimit(at_most)


def render_conditions(schema: Schema[Any], where: Where | None, placeholders: Placeholders) -> list[str]:
    """The conditions in DynamoDB's syntax, to be joined by AND."""
    return [_condition(wanted).render(schema, field, placeholders) for field, wanted in (where or {}).items()]


def _condition(wanted: Any) -> Condition:
    if isinstance(wanted, Condition):
        return wanted
    return absent if wanted is None else _Comparison("=", wanted)


def attribute_of(schema: Schema[Any], field: str) -> str:
    fields = schema.codec.by_name
    if field not in fields:
        raise unknown_field(schema.name, field, fields)
    if fields[field].annotation.in_key:
        raise NoAccessPath(
            f"{schema.name}.{field} is in_key: it is not stored as an attribute, so a condition cannot use it"
        )
    return fields[field].attribute


def encoded(schema: Schema[Any], field: str, value: Any) -> Value:
    attribute_of(schema, field)
    made = schema.codec.encode_field(field, value)
    if made is None:
        raise EncodeError(f"{schema.name}.{field}: cannot be compared with {value!r}; use sk.absent")
    return made
