"""Values of fields as a person types them and as they are shown: `2026-08-24`, `true`, `12.50`, a member of an enum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Literal, get_args, get_origin
from uuid import UUID

import msgspec

from sortkey.model.fields.annotation import Annotation, parse_annotation
from sortkey.model.fields.stored_as import StoredType

Input = Literal["text", "integer", "number", "boolean", "instant", "date", "time", "uuid", "binary", "choice"]


class NotAValue(ValueError):
    """The text is no value of the field; the message says why."""


def value_of(name: str, value: Any, annotations: Mapping[str, Annotation]) -> Any:
    """A text as the value of a field that is not one: a UUID, a date, a member of an enum. Raises NotAValue."""
    annotation = annotations.get(name)
    if annotation is not None and isinstance(annotation.base, StoredType):
        return _decoded(name, value, annotation.base)
    if annotation is None or annotation.base is str or not isinstance(value, str):
        return value
    base = annotation.base
    if isinstance(base, type) and issubclass(base, Enum):
        if value in base.__members__:
            return base[value]
        return next((member for member in base if str(member.value) == value), value)
    try:
        return _FROM_TEXT[base](value) if base in _FROM_TEXT else value
    except (ArithmeticError, KeyError, ValueError):
        raise NotAValue(f"{name}: {value!r} is not a {base.__name__}") from None


def input_of(annotation: Annotation) -> tuple[Input, tuple[str, ...]]:
    """How a field is typed in, and what there is to choose from."""
    base = annotation.base
    if isinstance(base, StoredType):
        return input_of(parse_annotation(base.codec.stored))
    choices = get_args(base) if get_origin(base) is Literal else ()
    if isinstance(base, type) and issubclass(base, Enum):
        choices = tuple(base.__members__)
    if choices:
        return "choice", tuple(map(str, choices))
    return _INPUTS.get(base, "text"), ()


def text_of(value: Any) -> str:
    """A value as it is shown."""
    match value:
        case str() if not isinstance(value, Enum):
            return value
        case None:
            return "None"
        case bool():
            return "true" if value else "false"
        case bytes():
            return value.hex()
        case Enum():
            return value.name
        case datetime():
            text = value.isoformat()
            return text.replace("+00:00", "Z")
        case date() | time():
            return value.isoformat()
        case int() | float() | Decimal() | UUID():
            return str(value)
    return msgspec.json.encode(_plain(value)).decode()


def _plain(value: Any) -> Any:
    """For JSON: with texts in the place of what it does not have."""
    if isinstance(value, Mapping):
        return {text_of(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, (set, frozenset)):
        return [_plain(inner) for inner in sorted(value, key=text_of)]
    if isinstance(value, msgspec.Struct):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return text_of(value)


def _decoded(name: str, value: Any, base: StoredType) -> Any:
    """A value of a field with a codec, from what it is stored as."""
    stored = value_of(name, value, {name: parse_annotation(base.codec.stored)})
    try:
        return base.decode(stored)
    except ValueError as error:
        raise NotAValue(f"{name}: {error}") from None


def _instant(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


_FROM_TEXT: Final[dict[Any, Callable[[str], Any]]] = {
    UUID: UUID,
    date: date.fromisoformat,
    time: time.fromisoformat,
    datetime: _instant,
    Decimal: Decimal,
    float: float,
    int: int,
    bool: _boolean,
    bytes: bytes.fromhex,
}
_INPUTS: Final[dict[Any, Input]] = {
    UUID: "uuid",
    date: "date",
    time: "time",
    datetime: "instant",
    Decimal: "number",
    float: "number",
    int: "integer",
    bool: "boolean",
    bytes: "binary",
}
