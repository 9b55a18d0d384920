"""Attribute values to Python values and back, without declared types: what upgrade functions work on."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from sortkey.model.errors import EncodeError
from sortkey.model.items.converter import Value
from sortkey.model.keys.encoding import instant_text, to_decimal


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
            return {"N": str(to_decimal(value))}
        case bytes():
            return {"B": value}
        case datetime():
            return {"S": instant_text(value)}
        case date() | UUID():
            return {"S": str(value)}
        case list():
            return {"L": [from_untyped(each) for each in value]}
        case dict():
            return {"M": {name: from_untyped(each) for name, each in value.items()}}
        case set() | frozenset():
            return _set(value)
    raise EncodeError(f"{value!r} is not a type that an item can hold")


def _set(members: set[Any] | frozenset[Any]) -> Value:
    encoded = [from_untyped(member) for member in members]
    tags = {tag for value in encoded for tag in value}
    if not tags:
        return {"NULL": True}
    if len(tags) > 1 or not tags <= {"S", "N", "B"}:
        raise EncodeError(f"a set has only strings, only numbers or only binaries, not {members!r}")
    (tag,) = tags
    return {f"{tag}S": sorted(value[tag] for value in encoded)}
