"""What requests may say: ids, texts, and spans of days and months."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from typing import Final, NamedTuple

import sortkey as sk

MAX_ID_BYTES: Final = 256
MAX_TEXT_BYTES: Final = 1024
NO_CHARACTER: Final = "\U0010ffff"
"""Keys cannot have it: ranges of keys end with it."""

_MONTH: Final = re.compile(r"(?a)\d{4}-\d\d")
_DAY: Final = re.compile(r"(?a)\d{4}-\d\d-\d\d")


class Days(NamedTuple):
    """Both are included."""

    first: date
    last: date


def check_id(name: str, value: str) -> None:
    """Raises BadRequest for an id that no key can hold, or that no path of a request can name."""
    check_key_text(name, value)
    if "/" in value:
        raise sk.services.BadRequest(f"{name}: must not contain /, which separates the segments of a path")


def check_key_text(name: str, value: str) -> None:
    """Raises BadRequest for a part of a key, such as a city, that no key can hold."""
    _check_bytes(name, value, MAX_ID_BYTES)
    if NO_CHARACTER in value:
        raise sk.services.BadRequest(f"{name}: must not contain U+10FFFF, which is not a character")


def check_text(name: str, value: str) -> None:
    _check_bytes(name, value, MAX_TEXT_BYTES)


def _check_bytes(name: str, value: object, most: int) -> None:
    if not isinstance(value, str):
        raise sk.services.BadRequest(f"{name}: must be a text, not {value!r}")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise sk.services.BadRequest(
            f"{name}: must be a text of whole characters, not half of a surrogate pair"
        ) from None
    if not 1 <= size <= most:
        raise sk.services.BadRequest(f"{name}: must have 1 to {most} bytes, not {size}")


def day(name: str, text: str) -> date:
    """A day such as 2026-08-24. Raises BadRequest."""
    if _DAY.fullmatch(text):
        try:
            return date.fromisoformat(text)
        except ValueError:
            pass
    raise sk.services.BadRequest(f"{name}: must be a day such as 2026-08-24, not {text!r}")


def month(name: str, text: str) -> Days:
    """All days of a month such as 2026-08. Raises BadRequest."""
    if _MONTH.fullmatch(text):
        try:
            first = date.fromisoformat(f"{text}-01")
        except ValueError:
            pass
        else:
            return Days(first, first.replace(day=monthrange(first.year, first.month)[1]))
    raise sk.services.BadRequest(f"{name}: must be a month such as 2026-08, not {text!r}")


def span(first: date, last: date) -> Days:
    """Raises BadRequest if the last is before the first."""
    if last < first:
        raise sk.services.BadRequest(f"to: must not be before from, but {last} is before {first}")
    return Days(first, last)
