"""Attribute values as DynamoDB compares them, for what must be known without asking it: whether the default that a row
without the attribute shows meets a condition, and whether a value is stored in the form of its field.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from sortkey.model.fields.converter import Value

_COMPARATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ORDERED: Final = frozenset({"S", "N", "B"})


def is_ordered(value: Value | None) -> bool:
    """Whether the value has an order: a string, a number or a binary."""
    return value is not None and not _ORDERED.isdisjoint(value)


def comparable(value: Value) -> Any:
    """Equal exactly if the values are equal to the store; ordered as in the store if the value is."""
    ((tag, content),) = value.items()
    match tag:
        case "N":
            return Decimal(content)
        case "S" | "B":
            return content
        case "NS":
            return tag, frozenset(map(Decimal, content))
        case "SS" | "BS":
            return tag, frozenset(content)
        case "L":
            return tag, [_tagged(each) for each in content]
        case "M":
            return tag, {name: _tagged(each) for name, each in content.items()}
    return tag, content


def _tagged(value: Value) -> tuple[str, Any]:
    # Inside lists and maps, values of different types may meet.
    return next(iter(value)), comparable(value)


def compare(comparator: str, value: Value, other: Value) -> bool:
    """The store's comparison of two values."""
    if comparator not in ("=", "<>") and not (is_ordered(value) and value.keys() == other.keys()):
        return False
    return _COMPARATORS[comparator](comparable(value), comparable(other))


def element_count(value: Value) -> int:
    """The store's `size`: elements, bytes, or characters, of which those beyond the basic plane count twice."""
    ((tag, content),) = value.items()
    return len(content.encode("utf-16-le")) // 2 if tag == "S" else len(content)


def contains_element(value: Value, element: Value) -> bool:
    """The store's `contains`: an element of a set or list, a part of a string or binary."""
    ((tag, content),) = value.items()
    match tag:
        case "L":
            return any(_tagged(each) == _tagged(element) for each in content)
        case "SS" | "NS" | "BS":
            return any(comparable({tag[0]: each}) == comparable(element) for each in content)
        case "S" | "B":
            return tag in element and element[tag] in content
    return False
