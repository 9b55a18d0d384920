"""How many bytes DynamoDB counts for a value and for an item, and how many capacity units it charges for them.

Names and strings count in UTF-8, binaries decoded from base64, and structure with a few bytes. These sizes decide the
400 KB limit and pages. Capacity units are rounded: reads by 4 KB, writes by 1 KB, never less than one step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sortkey.values import number

FLAG: Final = 1
"""BOOL and NULL."""
CONTAINER: Final = 3
"""A list or a map, even an empty one."""
ELEMENT: Final = 1
"""Each element of a list or a map, in addition to its name and value."""


def text_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def base64_size(text: str) -> int:
    """The decoded length of canonical base64, without decoding it."""
    return len(text) // 4 * 3 - text.count("=", -2)


def value_size(value: Mapping[str, Any]) -> int:
    ((tag, content),) = value.items()
    match tag:
        case "S":
            return text_size(content)
        case "N":
            return number.size(content)
        case "B":
            return base64_size(content)
        case "BOOL" | "NULL":
            return FLAG
        case "M":
            return CONTAINER + ELEMENT * len(content) + item_size(content)
        case "L":
            return CONTAINER + ELEMENT * len(content) + sum(map(value_size, content))
        case "SS":
            return sum(map(text_size, content))
        case "NS":
            return sum(map(number.size, content))
        case _:
            return sum(map(base64_size, content))


def item_size(item: Mapping[str, Mapping[str, Any]]) -> int:
    return sum(text_size(name) + value_size(value) for name, value in item.items())


READ_UNIT_BYTES: Final = 4096
WRITE_UNIT_BYTES: Final = 1024


def read_units(size: int, consistent: bool) -> float:
    """For one item, or for all bytes of a page. A missing item costs one step."""
    steps = -(-size // READ_UNIT_BYTES) or 1
    return float(steps) if consistent else steps / 2


def transactional_read_units(size: int) -> float:
    """A transaction reads twice: once to prepare and once to commit."""
    return 2 * read_units(size, consistent=True)


def write_units(size: int) -> float:
    """For the larger of the item before and after."""
    return float(-(-size // WRITE_UNIT_BYTES) or 1)
