"""`at(…)`, the expression of a one-time schedule, and the instant that it means. Pure.

An expression has a local time and a time zone. When clocks are set back, a local time means two instants, and
EventBridge Scheduler does not say which one it takes; when they are set forward, some local times do not exist. So an
instant whose local time is ambiguous is written in UTC, and `instant_of` rejects every expression that does not mean
exactly one instant.

Schedules have a precision of a minute: one for 1:00 is called from 1:00:00 to 1:00:59. So instants are rounded up to
the minute, and no call comes before its time.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

SOONEST: Final = timedelta(minutes=1)
"""How far ahead an expression is at least. EventBridge's clock may differ, and it has its own delay."""

_FORM: Final = re.compile(r"at\((\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})\)", re.ASCII)
_MINUTE: Final = timedelta(minutes=1)
_UTC: Final = ZoneInfo("UTC")


class AtExpression(NamedTuple):
    text: str
    zone: str


def fires_at(at: datetime, now: datetime) -> datetime:
    """The minute at which a schedule for this instant is called: not before it, and not before the next minute."""
    return whole_minute(max(at, now + SOONEST))


def whole_minute(instant: datetime) -> datetime:
    """The instant, rounded up, in UTC."""
    whole = instant.astimezone(UTC).replace(second=0, microsecond=0)
    return whole if whole == instant else whole + _MINUTE


def at_expression(instant: datetime, zone: ZoneInfo) -> AtExpression:
    """The expression of an instant in whole seconds; in UTC if its local time is ambiguous."""
    local = instant.astimezone(zone)
    if _is_ambiguous(local):
        local, zone = instant.astimezone(_UTC), _UTC
    return AtExpression(f"at({local:%Y-%m-%dT%H:%M:%S})", zone.key)


def instant_of(expression: AtExpression) -> datetime:
    """What an expression means. Raises ValueError if it is not of the form, or does not mean one instant."""
    text, zone = expression
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not of the form at(yyyy-mm-ddThh:mm:ss)")
    try:
        local = datetime.fromisoformat(found[1]).replace(tzinfo=ZoneInfo(zone))
    except ValueError as error:
        raise ValueError(f"{text!r} has no such time: {error}") from None
    instant = local.astimezone(UTC)
    if instant.astimezone(local.tzinfo).replace(tzinfo=None) != local.replace(tzinfo=None):
        raise ValueError(f"{text} does not exist in {zone}: the clocks are set forward there")
    if _is_ambiguous(local):
        raise ValueError(f"{text} means two instants in {zone}: the clocks are set back there")
    return instant


def _is_ambiguous(local: datetime) -> bool:
    return local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()
