"""Times and durations as numbers of seconds: durations exact to the microsecond, times in whole seconds since 1970,
which is how DynamoDB's TTL reads them.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from sortkey.model.errors import KeyPartError, shown
from sortkey.model.fields.real_types import RealTypes

_MICROSECOND: Final = timedelta(microseconds=1)
_PER_SECOND: Final = Decimal(1_000_000)


def to_seconds(value: Any) -> Decimal:
    """Raises KeyPartError."""
    if not isinstance(value, timedelta):
        raise KeyPartError(f"expected timedelta, got {type(value).__name__} {shown(value)}")
    return (value // _MICROSECOND) / _PER_SECOND


def from_seconds(seconds: Decimal) -> timedelta:
    """The duration of a stored number. Raises ValueError, also for a fraction of a microsecond: without it, conditions
    would compare another number than the item shows."""
    try:
        made = timedelta(microseconds=int(seconds * _PER_SECOND))
    except (ArithmeticError, OverflowError):
        raise ValueError(f"{seconds} seconds are too many for a timedelta") from None
    if to_seconds(made) != seconds:
        raise ValueError(f"{seconds} seconds are not whole microseconds, as a timedelta is; use Decimal")
    return made


_START: Final = RealTypes.datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)
_LEAST: Final = (RealTypes.datetime.min.replace(tzinfo=UTC) - _START) // _SECOND
_MOST: Final = (RealTypes.datetime.max.replace(tzinfo=UTC) - _START) // _SECOND


def to_epoch(value: Any) -> int:
    """The seconds of an aware datetime, rounded down. Raises KeyPartError."""
    if not isinstance(value, datetime):
        raise KeyPartError(f"expected datetime, got {type(value).__name__} {shown(value)}")
    if value.utcoffset() is None:
        raise KeyPartError(f"{value!r} has no time zone")
    seconds = (value - _START) // _SECOND
    if not _LEAST <= seconds <= _MOST:
        raise KeyPartError(f"{value!r} is before the year 1 or after 9999 in UTC, in which it is read")
    return seconds


def from_epoch(text: str) -> datetime:
    """The time of a stored number; other programs may have stored fractions. Raises ValueError."""
    try:
        seconds = int(text) if text.isdecimal() else Decimal(text)
        whole = int(seconds)
        return _START + timedelta(seconds=whole, microseconds=int((seconds - whole) * 1_000_000))
    except (ArithmeticError, OverflowError):
        raise ValueError(f"{text} is not a time in seconds since 1970; is it in milliseconds?") from None
