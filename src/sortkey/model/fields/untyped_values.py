"""Attribute values to Python values and back, without declared types: what upgrade functions work on, and fields of
type `Any`.

An upgrade gets numbers as Decimal, and may return any type that a field can have: values of the types that it gets are
as they are stored, and others are encoded by their field. A field of type `Any` takes only what comes back equal: str,
int, Decimal, bool, None, bytes, lists, dicts and sets. Its whole numbers are int.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

from sortkey.limits import NUMBER_DIGITS
from sortkey.model.errors import EncodeError, shown
from sortkey.model.fields.converter import (
    Converter,
    Value,
    encode_bytes,
    encode_decimal,
    encode_float,
    encode_int,
    read_float,
    set_content,
)
from sortkey.model.fields.key_text import clock_text, instant_text, to_decimal
from sortkey.model.fields.numeric_times import to_seconds


def to_untyped(value: Value) -> Any:
    """A str, Decimal, bytes, bool, None, list, dict or set."""
    ((tag, content),) = value.items()
    match tag:
        case "N":
            return Decimal(content)
        case "NULL":
            return None
        case "L":
            return [to_untyped(each) for each in content]
        case "M":
            return {name: to_untyped(each) for name, each in content.items()}
        case "NS":
            return set(map(Decimal, content))
        case "SS" | "BS":
            return set(content)
    return content


def from_untyped(value: Any) -> Value:
    """The attribute value of a Python value: of those types, or of another that a field may have, such as datetime."""
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case Enum():
            return from_untyped(value.value)
        case str():
            return {"S": value}
        case int() | Decimal():
            return {"N": _number_text(to_decimal(value))}
        case bytes():
            return {"B": value}
        case datetime():
            return {"S": instant_text(value)}
        case date() | UUID():
            return {"S": str(value)}
        case time():
            return {"S": clock_text(value)}
        case timedelta():
            return encode_decimal(to_seconds(value))
        case list() | tuple():
            return {"L": [from_untyped(each) for each in value]}
        case dict():
            return {"M": {name: from_untyped(each) for name, each in value.items()}}
        case set() | frozenset():
            return _set(value, from_untyped)
    raise EncodeError(f"{shown(value)} is not a type that an item can hold")


def from_upgrade(value: Any, encode: Callable[[Any], Value] | None) -> Value:
    """The attribute value of what an upgrade returned. `encode` is the encoder of the field, if there is one."""
    if encode is None or _is_untyped(value):
        return from_untyped(value)
    try:
        return encode(value)
    except EncodeError:
        # A time for a field of type str, or a dict with times for a struct.
        return from_untyped(value)


def _is_untyped(value: Any) -> bool:
    """Whether a value has only the types that `to_untyped` makes, or int. Subclasses are types of their own."""
    if type(value) in (list, set, frozenset):
        return all(map(_is_untyped, value))
    if type(value) is dict:
        return all(map(_is_untyped, value.values()))
    return value is None or type(value) in (str, int, Decimal, bytes, bool)


def _number_text(number: Decimal) -> str:
    """A whole number without a point: 2.5 kg in grams is Decimal("2500.0"), which no int field would read."""
    is_whole = number.adjusted() < NUMBER_DIGITS and number == number.to_integral_value()
    return str(int(number) if is_whole else number)


def _set(members: set[Any] | frozenset[Any], encode: Callable[[Any], Value]) -> Value:
    encoded = [encode(member) for member in members]
    tags = {tag for value in encoded for tag in value}
    if not tags:
        return {"NULL": True}
    if len(tags) > 1 or not tags <= {"S", "N", "B"}:
        raise EncodeError(f"a set has only strings, only numbers or only binaries, not {shown(members)}")
    (tag,) = tags
    return {f"{tag}S": set_content((value[tag] for value in encoded), tag)}


def untyped_converter(inexact: bool) -> Converter:
    """The converter of `Any`; with `inexact`, numbers that are not whole are float."""
    return _INEXACT if inexact else _EXACT


def _converter(inexact: bool) -> Converter:
    def encode(value: Any) -> Value:
        match value:
            case None:
                return {"NULL": True}
            case bool():
                return {"BOOL": value}
            case Enum():
                raise EncodeError(f"{shown(value)} would come back as its value; store {value.value!r}")
            case str():
                return {"S": value}
            case int():
                return encode_int(value)
            case Decimal():
                return encode_decimal(value)
            case float() if inexact:
                return encode_float(value)
            case bytes():
                return encode_bytes(value)
            case list():
                return {"L": [encode(each) for each in value]}
            case dict():
                return {"M": _encode_map(value)}
            case set() | frozenset():
                if not value:
                    raise EncodeError("an empty set has no type here; leave it out")
                return _set(value, encode)
        raise EncodeError(f"{shown(value)} would not come back as it is; {_INSTEAD.get(type(value), _HOLDS)}")

    def _encode_map(values: dict[Any, Any]) -> dict[str, Value]:
        for name in values:
            if not isinstance(name, str):
                raise EncodeError(f"the keys of a dict must be str, not {shown(name)}")
        return {name: encode(each) for name, each in values.items()}

    def decode(value: Value) -> Any:
        ((tag, content),) = value.items()
        match tag:
            case "N":
                return _number(content, inexact)
            case "NULL":
                return None
            case "L":
                return [decode(each) for each in content]
            case "M":
                return {name: decode(each) for name, each in content.items()}
            case "NS":
                return {_number(each, inexact) for each in content}
            case "SS" | "BS":
                return set(content)
        return content

    return Converter(encode, decode, "", decode)


_HOLDS: Final = "Any holds str, int, Decimal, bool, None, bytes, lists, dicts and sets of these"
_INSTEAD: Final = {
    float: "use Decimal, or Annotated[Any, sk.inexact]",
    tuple: "use a list",
}


def _number(text: str, inexact: bool) -> int | float | Decimal:
    digits = text[1:] if text.startswith("-") else text
    if digits.isdecimal():
        return int(text)
    return read_float(text) if inexact else Decimal(text)


_EXACT: Final = _converter(inexact=False)
_INEXACT: Final = _converter(inexact=True)
