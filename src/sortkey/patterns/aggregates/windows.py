"""What an item counts in: windows of time (`sk.patterns.window`), or ranges of numbers (`sk.patterns.ranges`).

    ALL_TIME   2026   2026-08   2026-W35   2026-08-24   2026-08-24T13   2026-08-24T13:05   2026-08-24T13:00/PT15M

A window is a text, and texts of one kind sort as the windows do. All are those of a time zone; weeks are ISO's, from
Monday on. When clocks go back, an hour comes twice; the second one has its offset, `2026-10-25T02+01:00`, so that each
is a window of its own. So have its minutes; they alone sort beside those of the first hour. Windows of several hours
begin at the same times every day, so that one of them is longer or shorter when clocks change, as the day is. (Where
clocks do not go back by one hour at a full hour, as in Chatham, a window may be interrupted by the one before it.)

Each number has a range at each of five levels. A range of one level has 32 ranges of the level below, a *block*:

    level 4    one block, of all numbers
    …
    level 1    … │ 32…63 │ 64…95 │ 96…127 │ …                     the block of 70 has 0…31, 32…63, …, 992…1023
    level 0    … │ 64 │ 65 │ 66 │ 67 │ 68 │ 69 │ 70 │ 71 │ …      the block of 70 has 64, 65, …, 95

What is above a number is above it in one of its five blocks, so five short reads count everything above.

Ranges of level 0 have one number up to 262,144. Beyond, they are as wide as 17 binary digits of the number leave open,
less than a 131,072nd of it; from 2**127 on, with 12 binary digits, less than a 4,096th. So all integers that DynamoDB
can store are in one scheme, also those with zeros after their 38 digits, and none of its levels is deep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sortkey.model.errors import DeclarationError, suggestion
from sortkey.model.fields.real_types import RealTypes

WindowKind = Literal["ALL_TIME", "YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE"]

Keep = Mapping[WindowKind | timedelta, timedelta]
"""How long windows are kept after their end, by their kind."""

ALL_TIME: Final = "ALL_TIME"
_LENGTHS: Final[Mapping[str, int]] = {"YEAR": 4, "MONTH": 7, "WEEK": 8, "DAY": 10, "HOUR": 13, "MINUTE": 16}
"""The characters of a window's text, which for all but weeks is the beginning of an ISO time."""
_OF_DATES: Final = frozenset({"YEAR", "MONTH", "DAY"})
_INSTANT: Final = timedelta(microseconds=1)
_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_NAMED: Final = {_MINUTE: "MINUTE", _HOUR: "HOUR", _DAY: "DAY"}
_NEVER: Final = datetime.max.replace(tzinfo=UTC)

LEVELS: Final = 5
_BITS: Final = 5
SLOTS: Final = 1 << _BITS
"""Ranges in a block."""

_EXACT_BITS: Final = 18
"""Numbers of so many binary digits have a range of their own."""
_HALF: Final = 1 << (_EXACT_BITS - 1)
_FINE_BITS: Final = 127
"""Numbers of more binary digits, at least 1.7E38, have wider ranges: there are so many lengths of them."""
_COARSE: Final = 1 << 12
"""The ranges of each length beyond."""
_FIRST_COARSE: Final = (_FINE_BITS - _EXACT_BITS + 2) * _HALF
_MIDDLE: Final = 1 << (LEVELS * _BITS - 1)
"""The position of 0 among the ranges of level 0."""

_MOST: Final = 10**126
"""The first power of ten that DynamoDB cannot store."""
_DIGITS: Final = 38
"""The digits of a number that DynamoDB stores; those after them must be zeros."""
_CACHED: Final = 4096


class TimeWindows:
    """The windows of an aggregate: see `sk.patterns.window`."""

    def __init__(
        self,
        time: str,
        kinds: Sequence[str | timedelta],
        zone: str,
        keep: Mapping[Any, timedelta] | None,
        field: str,
    ) -> None:
        self.of = time
        """The field of the counted items that has the time."""
        self.kinds = tuple(kinds)
        self.zone = _zone(zone)
        self.fields = (field,)
        """The field of the aggregate's items that has the window."""
        _check(self.kinds, keep or {})
        self.keep = {_name(kind): kept for kind, kept in (keep or {}).items()}
        """How long each kind is kept, by its name."""
        self._all_time = (ALL_TIME,) if ALL_TIME in kinds else ()
        self._lengths = tuple(_LENGTHS[kind] for kind in kinds if isinstance(kind, str) and kind in _OF_DATES)
        self._weeks = "WEEK" in kinds
        self._clock_lengths = tuple(_LENGTHS[kind] for kind in ("HOUR", "MINUTE") if kind in kinds)
        self._spans = tuple((kind // _MINUTE, f"/{_name(kind)}") for kind in kinds if isinstance(kind, timedelta))

    def __repr__(self) -> str:
        return f"window({self.of!r}, {', '.join(map(repr, self.kinds))}, zone={self.zone.key!r})"

    def check(self, name: str, kind: Any) -> None:
        """Raises DeclarationError unless the field `name` has times that can be in these windows."""
        if kind not in (RealTypes.datetime, RealTypes.date):
            raise DeclarationError(f"{name} must be a datetime or a date to be in a window, not {kind}")
        if kind is RealTypes.date and (self._clock_lengths or self._spans):
            raise DeclarationError(f"{name} is a date, which has no hour")

    def windows(self, moment: datetime | date | None) -> list[tuple[str]]:
        """`texts`, each as the fields of its window."""
        return [(text,) for text in self.texts(moment)]

    def texts(self, moment: datetime | date | None) -> list[str]:
        """The windows that a moment is in; without a moment, ALL_TIME alone. Raises ValueError."""
        if moment is None:
            return [*self._all_time]
        if not isinstance(moment, datetime):
            # A date has no hour: a field of this type is rejected with HOUR and less.
            return self._texts_of_day(moment, moment.isoformat())
        if moment.tzinfo is None:
            raise ValueError(f"{self.of}: {moment} has no time zone, so its windows are unknown")
        local = moment.astimezone(self.zone)
        text = local.isoformat(timespec="minutes")
        texts = self._texts_of_day(local, text)
        if self._clock_lengths or self._spans:
            # The offset tells the second of two equal times of day apart.
            offset = text[_LENGTHS["MINUTE"] :] if local.fold else ""
            texts += [text[:length] + offset for length in self._clock_lengths]
            for minutes, name in self._spans:
                hour, minute = divmod((local.hour * 60 + local.minute) // minutes * minutes, 60)
                texts.append(f"{text[:11]}{hour:02}:{minute:02}{offset if minutes < 60 else ''}{name}")
        return texts

    def _texts_of_day(self, day: date, text: str) -> list[str]:
        texts = [*self._all_time, *[text[:length] for length in self._lengths]]
        if self._weeks:
            year, week, _ = day.isocalendar()
            texts.append(f"{year:04}-W{week:02}")
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
                return self._until(RealTypes.datetime(int(window) + 1, 1, 1))
            case "MONTH":
                years, month = divmod(int(window[5:]), 12)
                return self._until(RealTypes.datetime(int(window[:4]) + years, month + 1, 1))
            case "WEEK":
                monday = RealTypes.datetime.fromisocalendar(int(window[:4]), int(window[6:]), 1)
                return self._until(monday + timedelta(days=7))
            case "DAY":
                return self._until(RealTypes.datetime.fromisoformat(window) + _DAY)
            case "HOUR":
                return self._after(window, _HOUR)
            case "MINUTE":
                return self._after(window, _MINUTE)
            case str() as kind if kind.startswith("PT"):
                start, length = window.partition("/")[0], _length(kind)
                if length < _HOUR:
                    return self._after(start, length)
                return self._until(RealTypes.datetime.fromisoformat(start) + length)
        raise ValueError(f"the window {window} has no end")

    def _after(self, start: str, length: timedelta) -> datetime:
        """The end of a window of an hour or less: if its times come twice, the first ones, or those of its offset."""
        local = RealTypes.datetime.fromisoformat(start)
        if local.tzinfo is not None:
            return (local + length).astimezone(UTC)
        return (local + length - _INSTANT).replace(tzinfo=self.zone).astimezone(UTC) + _INSTANT

    def _until(self, local: datetime) -> datetime:
        """The moment after which no time before `local`, of the zone's clock, comes again."""
        last = (local - _INSTANT).replace(tzinfo=self.zone)
        return max(last.astimezone(UTC), last.replace(fold=1).astimezone(UTC)) + _INSTANT


def kind_of(window: str) -> str:
    """The kind of a window's text."""
    if window == ALL_TIME:
        return ALL_TIME
    start, _, name = window.partition("/")
    if name:
        return name
    if start[13:14] == ":":
        return "MINUTE"
    return next((kind for kind, length in _LENGTHS.items() if len(window) == length), "HOUR")


def window(
    time: str,
    *kinds: WindowKind | timedelta,
    zone: str = "UTC",
    keep: Keep | None = None,
    field: str = "window",
) -> TimeWindows:
    """The windows that an item counts in, by its field `time`, for `sk.patterns.aggregate`: of ALL_TIME, YEAR, MONTH,
    WEEK, DAY, HOUR, MINUTE, and of minutes that divide an hour or hours that divide a day, as `timedelta(minutes=15)`.
    Their texts, such as `2026-08-24`, are in the `field` of the aggregate's items. `zone` is an IANA time zone. `keep`
    says how long after its end a window is kept: the aggregate's table needs a `ttl` field for it.

        sk.patterns.window("since", "ALL_TIME", "DAY", zone="Europe/Berlin", keep={"DAY": timedelta(days=400)})
    """
    return TimeWindows(time, kinds, zone, keep, field)


def _name(kind: str | timedelta) -> str:
    """The name of a kind; that of a length is ISO 8601's."""
    if isinstance(kind, str):
        return kind
    minutes = kind // _MINUTE
    return f"PT{minutes}M" if minutes % 60 else f"PT{minutes // 60}H"


def _length(name: str) -> timedelta:
    number = int(name[2:-1])
    return timedelta(minutes=number) if name.endswith("M") else timedelta(hours=number)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise DeclarationError(
            f"sk.patterns.window: there is no time zone {name!r}; zones are named as in 'Europe/Berlin'"
        ) from None


def _check(kinds: tuple[str | timedelta, ...], keep: Mapping[Any, Any]) -> None:
    known = get_args(WindowKind)
    for kind in (*kinds, *keep):
        if isinstance(kind, timedelta):
            _check_length(kind)
        elif kind not in known:
            raise DeclarationError(f"sk.patterns.window: there is no window {kind!r}{suggestion(str(kind), known)}")
    if not kinds:
        raise DeclarationError(f"sk.patterns.window: name the windows: {', '.join(known)}")
    if len(set(kinds)) < len(kinds):
        raise DeclarationError(f"sk.patterns.window: a window is named twice: {', '.join(map(str, kinds))}")
    for kind, kept in keep.items():
        if kind not in kinds:
            raise DeclarationError(f"sk.patterns.window: keep names {kind}, which is not one of the windows")
        if kind == ALL_TIME:
            raise DeclarationError(
                "sk.patterns.window: ALL_TIME never ends, so it cannot be kept for a time after its end"
            )
        if not isinstance(kept, timedelta) or kept < timedelta(0):
            raise DeclarationError(f"sk.patterns.window: keep takes a timedelta for {kind}, not {kept!r}")


def _check_length(length: timedelta) -> None:
    if length in _NAMED:
        raise DeclarationError(f"sk.patterns.window: the window of {length} is named {_NAMED[length]!r}")
    is_part_of_hour = _MINUTE < length < _HOUR and not length % _MINUTE and not _HOUR % length
    is_part_of_day = _HOUR < length < _DAY and not length % _HOUR and not _DAY % length
    if not (is_part_of_hour or is_part_of_day):
        raise DeclarationError(
            f"sk.patterns.window: windows of {length} do not begin at the same times every day; a length is of minutes "
            "that divide an hour, such as 5, 15 or 30, or of hours that divide a day, such as 2, 6 or 12"
        )


class KeptGroups:
    """Until when the items of groups are kept: by the function `keep` of `sk.patterns.aggregate`."""

    def __init__(self, fields: Sequence[str], until: Callable[[dict[str, Any]], Any]) -> None:
        self._fields = tuple(fields)
        self._function = until
        self.until = lru_cache(_CACHED)(self._until)
        """Until when the item of a group is kept; None for ever. Raises ValueError."""

    def has(self, group: tuple[Any, ...], now: datetime) -> bool:
        """Whether the item of a group is still kept."""
        until = self.until(group)
        return until is None or until > now

    def _until(self, group: tuple[Any, ...]) -> datetime | None:
        fields = dict(zip(self._fields, group, strict=True))
        until = self._function(fields)
        if until is None:
            return None
        if isinstance(until, datetime) and until.tzinfo is not None:
            return until
        raise ValueError(f"keep of {fields} must be a datetime with a time zone, or None, not {until!r}")


class Range(NamedTuple):
    """A range, by its block and its slot there; slots ascend as the numbers do."""

    block: str
    slot: int


class Ranges:
    """The ranges of an aggregate: see `sk.patterns.ranges`."""

    keep: Final[Mapping[str, timedelta]] = {}

    def __init__(self, of: str, block: str, slot: str) -> None:
        self.of = of
        """The field of the counted items that has the number."""
        self.fields = (block, slot)
        """The fields of the aggregate's items that have the range."""
        self._ranges = lru_cache(_CACHED)(ranges_of)

    def __repr__(self) -> str:
        return f"ranges({self.of!r})"

    def check(self, name: str, kind: Any) -> None:
        """Raises DeclarationError unless the field `name` has integers."""
        if kind is not int:
            raise DeclarationError(f"{name} must be an int to be in ranges, not {kind}")

    def windows(self, number: int | None) -> tuple[Range, ...]:
        """The range of each level; none without a number. Raises ValueError."""
        return () if number is None else self._ranges(number)

    def expiry(self, _slot: Any) -> datetime | None:
        """Ranges are kept for ever."""
        return None


AnyWindow = TimeWindows | Ranges
"""What divides the groups of an aggregate: windows of time, or ranges of numbers."""


def ranges(of: str, *, block: str = "block", slot: str = "slot") -> Ranges:
    """The ranges that an item counts in, by its field `of`, an int, as the window of `sk.patterns.aggregate`. The
    aggregate's items have the range in two fields, `block`, a str, and `slot`, an int; `sk.Key("{block}", "{slot:02}")`
    makes the ranges of a block one Query. `sk.patterns.ranking` uses it.

        window = sk.patterns.ranges("points")
        sk.patterns.aggregate(Score, into=ScoreRange, by=(), window=window, values={"players": sk.patterns.count()})
    """
    return Ranges(of, block, slot)


def ranges_of(number: int) -> tuple[Range, ...]:
    """The range of each level, from the narrowest. Raises ValueError for a number that is too large for DynamoDB."""
    position = position_of(number)
    found = []
    for level in range(LEVELS):
        block, slot = divmod(position, SLOTS)
        found.append(Range(f"{level}.{block:x}", slot))
        position = block
    return tuple(found)


def position_of(number: int) -> int:
    """The position of a number's range among those of level 0, from 0; it ascends as numbers do. Raises ValueError."""
    if not -_MOST < number < _MOST:
        raise ValueError(f"{number} is too large: DynamoDB stores integers below 10**126")
    return _MIDDLE + (_place(number) if number >= 0 else -1 - _place(-1 - number))


def bounds_of(number: int) -> tuple[int, int]:
    """The first and the last number of a number's range at level 0."""
    if number < 0:
        low, high = bounds_of(-1 - number)
        return -1 - high, -1 - low
    open_bits = _open_bits(number)
    low = number >> open_bits << open_bits
    return low, min(low + (1 << open_bits), _MOST) - 1


def _place(number: int) -> int:
    """The place of a number that is not negative: as a float's, by its length and its first digits."""
    open_bits = _open_bits(number)
    lengths_beyond = number.bit_length() - _FINE_BITS
    if lengths_beyond <= 0:
        return open_bits * _HALF + (number >> open_bits)
    return _FIRST_COARSE + (lengths_beyond - 2) * _COARSE + (number >> open_bits)


def _open_bits(number: int) -> int:
    """The last binary digits of a number, in which the numbers of its range differ."""
    length = number.bit_length()
    kept = _EXACT_BITS if length <= _FINE_BITS else _COARSE.bit_length()
    return max(0, length - kept)


def stored_between(low: int, high: int) -> tuple[int, int] | None:
    """The first and the last number from `low` to `high` that DynamoDB can store; None if there is none."""
    first, last = -_stored_up_to(-low), _stored_up_to(high)
    return (first, last) if first <= last else None


def _stored_up_to(number: int) -> int:
    """The largest integer up to a number that has no more digits than DynamoDB stores."""
    unit: int = 10 ** max(0, len(str(abs(number))) - _DIGITS)
    return number // unit * unit
