"""`BatchRun`: for which month a batch computes, and up to which instant its data is complete."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple

import sortkey as sk
from sortkey_services.goals.months import YEARS, Bounds, bounds_of, is_month, month_of, zone_of

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class BatchRejected(sk.services.JobRejected):
    """The inputs of a batch are wrong, so nothing was written. The message is one line: the thing, and the fix."""


class BatchFailed(sk.services.JobFailed):
    """The inputs are right, but the batch could not be completed; what is served has not changed."""


class NotReconciled(sk.services.JobFailed):
    """The load is served, but the deposits that it has passed could not be looked at."""


class BatchRun(NamedTuple):
    as_of: datetime
    """Contributions up to and including this instant count."""
    month: str
    """`YYYY-MM`."""
    timezone: str = "UTC"
    """In which the month begins."""

    @property
    def day(self) -> date:
        """The day whose rules hold: as-of's, in UTC."""
        return self.as_of.astimezone(UTC).date()

    @property
    def bounds(self) -> Bounds:
        return bounds_of(self.month, zone_of(self.timezone))


def batch_run(as_of: datetime, month: str | None, timezone: str = "UTC") -> BatchRun:
    """By default, the month is as-of's."""
    return BatchRun(as_of, month or month_of(as_of, zone_of(timezone)), timezone)


def parse_as_of(text: str) -> datetime:
    try:
        as_of = datetime.fromisoformat(text)
    except ValueError:
        as_of = None
    if as_of is None or as_of.utcoffset() is None:
        raise BatchRejected(f"--as-of {text!r} must be an instant with an offset, such as 2026-05-16T00:00:00Z")
    if as_of.year not in YEARS:
        raise BatchRejected(f"--as-of {text!r} is out of range; its year must be from {YEARS[0]} to {YEARS[-1]}")
    return as_of


def parse_month(text: str) -> str:
    if not is_month(text):
        raise BatchRejected(f"--month {text!r} must be a month, such as 2026-05")
    return text


def micros_of(instant: datetime) -> int:
    """Microseconds since 1970: what both engines compare."""
    return (instant - EPOCH) // _MICROSECOND


def instant_of(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)
