"""`sk.patterns.window`: the windows of time that an item counts in.

    ALL_TIME    2026    2026-08    2026-08-24    2026-08-24T13

A window is a text, and texts of one kind sort as the windows do. Days and hours are those of a time zone. When clocks
go back, an hour comes twice; the second one has its offset, `2026-10-25T02+01:00`, so that each is a window of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, Literal, cast, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sortkey.model.errors import DeclarationError, suggestion

WindowKind = Literal["ALL_TIME", "YEAR", "MONTH", "DAY", "HOUR"]

ALL_TIME: Final = "ALL_TIME"
_LENGTHS: Final[Mapping[str, int]] = {"YEAR": 4, "MONTH": 7, "DAY": 10, "HOUR": 13}
"""How much of an ISO time names the window."""
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


class TimeWindows:
    """The windows of an aggregate: see `sk.patterns.window`."""

    def __init__(
        self, time: str, kinds: Sequence[str], zone: str, keep: Mapping[str, timedelta] | None, field: str
    ) -> None:
        self.of = time
        """The field of the counted items that has the time."""
        self.kinds = tuple(kinds)
        self.zone = _zone(zone)
        self.keep = dict(keep or {})
        self.fields = (field,)
        """The field of the aggregate's items that has the window."""
        _check(self.kinds, self.keep)
        self._all_time = (ALL_TIME,) if ALL_TIME in kinds else ()
        self._lengths = tuple(_LENGTHS[kind] for kind in self.kinds if kind not in (ALL_TIME, "HOUR"))
        self._hours = "HOUR" in kinds

    def __repr__(self) -> str:
        return f"window({self.of!r}, {', '.join(map(repr, self.kinds))}, zone={self.zone.key!r})"

    def check(self, name: str, kind: Any) -> None:
        """Raises DeclarationError unless the field `name` has times that can be in these windows."""
        if kind not in (datetime, date):
            raise DeclarationError(f"{name} must be a datetime or a date to be in a window, not {kind}")
        if kind is date and self._hours:
            raise DeclarationError(f"{name} is a date, which has no hour")

    def windows(self, moment: datetime | date | None) -> list[tuple[str]]:
        """`texts`, each as the fields of its window."""
        return [(text,) for text in self.texts(moment)]

    def texts(self, moment: datetime | date | None) -> list[str]:
        """The windows that a moment is in; without a moment, ALL_TIME alone. Raises ValueError."""
        if moment is None:
            return [*self._all_time]
        if not isinstance(moment, datetime):
            # A date has no hour: a field of this type is rejected with HOUR.
            day = moment.isoformat()
            return [*self._all_time, *(day[:length] for length in self._lengths)]
        if moment.tzinfo is None:
            raise ValueError(f"{self.of}: {moment} has no time zone, so its windows are unknown")
        local = moment.astimezone(self.zone)
        text = local.isoformat(timespec="hours")
        texts = [*self._all_time, *[text[:length] for length in self._lengths]]
        if self._hours:
            texts.append(text if local.fold else text[:13])
        return texts

    def expiry(self, window: str) -> datetime | None:
        """When a window is no longer kept; None for one that is kept for ever."""
        kind = kind_of(window)
        if kind not in self.keep:
            return None
        try:
            return self.end(window) + self.keep[kind]
        except (OverflowError, ValueError):
            return _NEVER

    def end(self, window: str) -> datetime:
        """The first moment after the window. Raises ValueError for ALL_TIME, and for the last year of the calendar."""
        match kind_of(window):
            case "YEAR":
                end = datetime(int(window) + 1, 1, 1, tzinfo=self.zone)
            case "MONTH":
                years, month = divmod(int(window[5:]), 12)
                end = datetime(int(window[:4]) + years, month + 1, 1, tzinfo=self.zone)
            case "DAY":
                after = date.fromisoformat(window) + timedelta(days=1)
                end = datetime(after.year, after.month, after.day, tzinfo=self.zone)
            case "HOUR":
                day = date.fromisoformat(window[:10])
                fold = int(len(window) > _LENGTHS["HOUR"])
                hour = int(window[11:13])
                start = datetime(day.year, day.month, day.day, hour, tzinfo=self.zone, fold=fold)
                end = start.astimezone(UTC) + timedelta(hours=1)
            case _:
                raise ValueError(f"the window {window} has no end")
        return end.astimezone(UTC)


def kind_of(window: str) -> str:
    """The kind of a window's text."""
    if window == ALL_TIME:
        return ALL_TIME
    return next((kind for kind, length in _LENGTHS.items() if len(window) == length), "HOUR")


def window(
    time: str,
    *kinds: WindowKind,
    zone: str = "UTC",
    keep: Mapping[WindowKind, timedelta] | None = None,
    field: str = "window",
) -> TimeWindows:
    """The windows that an item counts in, by its field `time`, for `sk.patterns.aggregate`: of ALL_TIME, YEAR, MONTH, DAY and
    HOUR. Their texts, such as `2026-08-24`, are in the `field` of the aggregate's items. `zone` is an IANA time zone.
    `keep` says how long after its end a window is kept: the aggregate's table needs a `ttl` field for it.

        sk.patterns.window("since", "ALL_TIME", "DAY", zone="Europe/Berlin", keep={"DAY": timedelta(days=400)})
    """
    return TimeWindows(time, kinds, zone, cast("Mapping[str, timedelta] | None", keep), field)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise DeclarationError(
            f"sk.patterns.window: there is no time zone {name!r}; zones are named as in 'Europe/Berlin'"
        ) from None


def _check(kinds: tuple[str, ...], keep: Mapping[str, Any]) -> None:
    known = get_args(WindowKind)
    for kind in (*kinds, *keep):
        if kind not in known:
            raise DeclarationError(f"sk.patterns.window: there is no window {kind!r}{suggestion(str(kind), known)}")
    if not kinds:
        raise DeclarationError(f"sk.patterns.window: name the windows: {', '.join(known)}")
    if len(set(kinds)) < len(kinds):
        raise DeclarationError(f"sk.patterns.window: a window is named twice: {', '.join(kinds)}")
    for kind, kept in keep.items():
        if kind not in kinds:
            raise DeclarationError(f"sk.patterns.window: keep names {kind}, which is not one of the windows")
        if kind == ALL_TIME:
            raise DeclarationError(
                "sk.patterns.window: ALL_TIME never ends, so it cannot be kept for a time after its end"
            )
        if not isinstance(kept, timedelta) or kept < timedelta(0):
            raise DeclarationError(f"sk.patterns.window: keep takes a timedelta for {kind}, not {kept!r}")
