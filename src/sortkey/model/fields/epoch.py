"""Times as whole seconds since 1970, which is how DynamoDB's TTL reads them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from sortkey.model.errors import KeyPartError

_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)


def to_epoch(value: Any) -> int:
    """The seconds of an aware datetime, rounded down. Raises KeyPartError."""
    if not isinstance(value, datetime):
        raise KeyPartError(f"expected datetime, got {type(value).__name__} {value!r}")
    if value.utcoffset() is None:
        raise KeyPartError(f"{value!r} has no time zone")
    return (value - _START) // _SECOND


def from_epoch(text: str) -> datetime:
    """The time of a stored number; other programs may have stored fractions. Raises ValueError."""
    try:
        seconds = int(text) if text.isdecimal() else Decimal(text)
        whole = int(seconds)
        return _START + timedelta(seconds=whole, microseconds=int((seconds - whole) * 1_000_000))
    except (ArithmeticError, OverflowError):
        raise ValueError(f"{text} is not a time in seconds since 1970; is it in milliseconds?") from None
