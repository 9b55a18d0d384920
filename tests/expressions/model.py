"""A slow, obvious model of values and paths, with which the properties compare the compiled closures.

Items become Python's own data: Decimal, bytes, frozenset, list, dict; text and flags are tagged so that types differ.
"""

from __future__ import annotations

from base64 import b64decode
from decimal import Decimal
from typing import Any

MISSING: Any = object()


def python_value(value: dict[str, Any]) -> tuple[str, Any]:
    ((tag, content),) = value.items()
    match tag:
        case "N":
            return tag, Decimal(content)
        case "B":
            return tag, b64decode(content)
        case "S":
            return tag, content
        case "NS":
            return tag, frozenset(map(Decimal, content))
        case "BS":
            return tag, frozenset(map(b64decode, content))
        case "SS":
            return tag, frozenset(content)
        case "L":
            return tag, [python_value(element) for element in content]
        case "M":
            return tag, {name: python_value(member) for name, member in content.items()}
        case _:
            return tag, content


def at(value: Any, parts: tuple[str | int, ...]) -> Any:
    """The part of a Python value at a path; MISSING if there is none."""
    if value is MISSING or not parts:
        return value
    tag, content = value
    part, rest = parts[0], parts[1:]
    if tag == "M" and isinstance(part, str):
        return at(content.get(part, MISSING), rest)
    if tag == "L" and isinstance(part, int) and part < len(content):
        return at(content[part], rest)
    return MISSING
