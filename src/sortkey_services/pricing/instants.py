"""Instants as whole microseconds since 1970: what rows have, and what comparisons are made of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
SECOND: Final = 1_000_000


def micros_of(instant: datetime) -> int:
    return (instant - _START) // _MICROSECOND


@lru_cache(maxsize=16_384)
def instant_of(micros: int) -> datetime:
    # Many prices have the same instant: that of a load, or a midnight.
    return _START + micros * _MICROSECOND


def is_instant(micros: int) -> bool:
    """Whether a datetime can have it: another program may have written anything."""
    try:
        instant_of(micros)
    except OverflowError:
        return False
    return True


def micros_at(seconds: float) -> int:
    """Of a clock's seconds since 1970."""
    return round(seconds * SECOND)
