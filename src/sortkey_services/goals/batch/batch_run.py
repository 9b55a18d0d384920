"""`BatchRun`: for which month a batch computes, and up to which instant its data is complete."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple

import sortkey as sk

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_YEARS: Final = range(1900, 9000)
_MONTH: Final = re.compile(r"(?a)(\d{4})-(\d\d)")


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
    """`YYYY-MM`, in UTC."""

    @property
    def day(self) -> date:
        """The day whose rules hold: as-of's, in UTC."""
        return self.as_of.astimezone(UTC).date()

    @property
    def first(self) -> datetime:
        """The beginning of the month."""
        return datetime.strptime(self.month, "%Y-%m").replace(tzinfo=UTC)

    @property
    def end(self) -> datetime:
        """The beginning of the next month."""
        return (self.first + timedelta(days=31)).replace(day=1)


def batch_run(as_of: datetime, month: str | None) -> BatchRun:
    """By default, the month is as-of's in UTC."""
    return BatchRun(as_of, f"{as_of.astimezone(UTC):%Y-%m}" if month is None else month)


def parse_as_of(text: str) -> datetime:
    try:
        as_of = datetime.fromisoformat(text)
    except ValueError:
        as_of = None
    if as_of is None or as_of.utcoffset() is None:
        raise BatchRejected(f"--as-of {text!r} must be an instant with an offset, such as 2026-05-16T00:00:00Z")
    # The years at both ends of the calendar have instants that other zones, or the next month, do not.
    if as_of.year not in _YEARS:
        raise BatchRejected(f"--as-of {text!r} is out of range; its year must be from {_YEARS[0]} to {_YEARS[-1]}")
    return as_of


def parse_month(text: str) -> str:
    matched = _MONTH.fullmatch(text)
    if matched is None or not 1 <= int(matched[2]) <= 12 or int(matched[1]) not in _YEARS:
        raise BatchRejected(f"--month {text!r} must be a month, such as 2026-05")
    return text


def micros_of(instant: datetime) -> int:
    """Microseconds since 1970: what both engines compare."""
    return (instant - EPOCH) // _MICROSECOND


def instant_of(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)
