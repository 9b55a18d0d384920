"""Months, which goals are saved for: a month is a text as 2026-05, so months compare as texts do.

When a month begins is a matter of the time zone: that of the rules, a setting, UTC by default.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

YEARS: Final = range(1900, 9000)
"""The years at both ends of the calendar have instants that other zones, or the next month, do not."""
_MONTH: Final = re.compile(r"(?a)(\d{4})-(\d\d)")


class Bounds(NamedTuple):
    first: datetime
    """The beginning of the month."""
    end: datetime
    """The beginning of the next month."""


def is_month(text: str) -> bool:
    matched = _MONTH.fullmatch(text)
    return matched is not None and 1 <= int(matched[2]) <= 12 and int(matched[1]) in YEARS


def zone_of(name: str) -> ZoneInfo:
    """Raises ValueError for a name that is no zone's."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"there is no time zone {name!r}; use a name such as Europe/Lisbon or UTC") from None


def month_of(instant: datetime, zone: ZoneInfo) -> str:
    """The month that an instant is in."""
    try:
        there = instant.astimezone(zone)
    except OverflowError:
        # The first and the last hours of the calendar, which only a wrong clock shows.
        there = instant.astimezone(UTC)
    return there.isoformat()[:7]


def month_after(month: str) -> str:
    return _shifted(month, 1)


def month_before(month: str) -> str:
    return _shifted(month, -1)


def bounds_of(month: str, zone: ZoneInfo) -> Bounds:
    """In UTC."""
    return Bounds(_first(month, zone), _first(month_after(month), zone))


def _shifted(month: str, by: int) -> str:
    year, number = divmod(int(month[:4]) * 12 + int(month[5:]) - 1 + by, 12)
    return f"{year:04}-{number + 1:02}"


def _first(month: str, zone: ZoneInfo) -> datetime:
    return datetime(int(month[:4]), int(month[5:]), 1, tzinfo=zone).astimezone(UTC)
