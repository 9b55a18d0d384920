"""Durations as seconds, exact to the microsecond."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any, Final

from sortkey.model.errors import KeyPartError

_MICROSECOND: Final = timedelta(microseconds=1)
_PER_SECOND: Final = Decimal(1_000_000)


def to_seconds(value: Any) -> Decimal:
    """Raises KeyPartError."""
    if not isinstance(value, timedelta):
        raise KeyPartError(f"expected timedelta, got {type(value).__name__} {value!r}")
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
