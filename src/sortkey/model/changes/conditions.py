"""What is asked of an item besides its key: `where={"status": "OPEN", "amount": sk.above(10)}`.

A plain value means equal, None means absent. The rest are the functions here. All fields named must hold.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sortkey.model.errors import EncodeError, NoAccessPath, suggestion
from sortkey.model.items.converter import Value
from sortkey.model.items.schema import Schema
from sortkey.model.sessions.placeholders import Placeholders

Where = Mapping[str, Any]


class Condition(ABC):
    """What one field must satisfy."""

    @abstractmethod
    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        """The test as DynamoDB writes it."""


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
present: Final[Condition] = _Existence("attribute_exists")


def below(value: Any) -> Condition:
    return _Comparison("<", value)


def above(value: Any) -> Condition:
    return _Comparison(">", value)


def at_most(value: Any) -> Condition:
    return _Comparison("<=", value)


def at_least(value: Any) -> Condition:
    return _Comparison(">=", value)


def other_than(value: Any) -> Condition:
    return _Comparison("<>", value)


def one_of(*values: Any) -> Condition:
    return _OneOf(values)


def sized(at_most: int) -> Condition:
    """No more elements than that in a set, list or map, nor characters in a text; what is absent has none."""
    return _SizeLimit(at_most)


def render_conditions(schema: Schema[Any], where: Where | None, placeholders: Placeholders) -> list[str]:
    """The tests of all fields, to be joined by AND."""
    return [_condition(wanted).render(schema, field, placeholders) for field, wanted in (where or {}).items()]


def _condition(wanted: Any) -> Condition:
    if isinstance(wanted, Condition):
        return wanted
    return absent if wanted is None else _Comparison("=", wanted)


def attribute_of(schema: Schema[Any], field: str) -> str:
    fields = schema.codec.by_name
    if field not in fields:
        raise NoAccessPath(f"{schema.name} has no field {field!r}{suggestion(field, fields)}")
    if fields[field].annotation.in_key:
        raise NoAccessPath(f"{schema.name}.{field} is only in the key, so a path asks for it, not a condition")
    return fields[field].attribute


def encoded(schema: Schema[Any], field: str, value: Any) -> Value:
    attribute_of(schema, field)
    made = schema.codec.encode_field(field, value)
    if made is None:
        raise EncodeError(f"{schema.name}.{field}: nothing compares with {value!r}; use sk.absent")
    return made
