"""What requests may say: ids, texts, and spans of days and months."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from typing import Final, NamedTuple

import sortkey as sk

MAX_ID_BYTES: Final = 256
MAX_TEXT_BYTES: Final = 1024

_MONTH: Final = re.compile(r"(?a)\d{4}-\d\d")
_DAY: Final = re.compile(r"(?a)\d{4}-\d\d-\d\d")


class Days(NamedTuple):
    """Both are included."""

    first: date
    last: date


def check_id(name: str, value: str) -> None:
    """Raises BadRequest for an id, or another part of a key, that no key can hold."""
    _check_bytes(name, value, MAX_ID_BYTES)


def check_text(name: str, value: str) -> None:
    _check_bytes(name, value, MAX_TEXT_BYTES)


def _check_bytes(name: str, value: str, most: int) -> None:
    size = len(value.encode())
    if not 1 <= size <= most:
        raise sk.BadRequest(f"{name}: must have 1 to {most} bytes, not {size}")


def day(name: str, text: str) -> date:
    """A day such as 2026-08-24. Raises BadRequest."""
    if _DAY.fullmatch(text):
        try:
            return date.fromisoformat(text)
        except ValueError:
            pass
    raise sk.BadRequest(f"{name}: must be a day such as 2026-08-24, not {text!r}")


def month(name: str, text: str) -> Days:
    """All days of a month such as 2026-08. Raises BadRequest."""
    if _MONTH.fullmatch(text):
        try:
            first = date.fromisoformat(f"{text}-01")
        except ValueError:
            pass
        else:
            return Days(first, first.replace(day=monthrange(first.year, first.month)[1]))
    raise sk.BadRequest(f"{name}: must be a month such as 2026-08, not {text!r}")


def span(first: date, last: date) -> Days:
    """Raises BadRequest if the last is before the first."""
    if last < first:
        raise sk.BadRequest(f"to: must not be before from, but {last} is before {first}")
    return Days(first, last)
