"""Windows: their texts, in a time zone, and when they end."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from sortkey.patterns.aggregates.windows import WindowKind, kind_of

ALL: tuple[WindowKind, ...] = ("ALL_TIME", "YEAR", "MONTH", "DAY", "WEEK", "HOUR", "MINUTE")
LENGTHS = [timedelta(minutes=n) for n in (2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 120, 180, 240, 360, 480, 720)]
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kolkata")


def test_windows_are_texts_that_say_what_they_are() -> None:
    windows = sk.patterns.window("since", *ALL)
    moment = datetime(2026, 8, 24, 13, 59, 59, 999_999, tzinfo=UTC)
    assert windows.texts(moment) == [
        "ALL_TIME",
        "2026",
        "2026-08",
        "2026-08-24",
        "2026-W35",
        "2026-08-24T13",
        "2026-08-24T13:59",
    ]
    assert list(map(kind_of, windows.texts(moment))) == list(ALL)


def test_windows_of_minutes_and_hours_begin_with_the_day() -> None:
    windows = sk.patterns.window("since", timedelta(minutes=15), timedelta(hours=6))
    moment = datetime(2026, 8, 24, 13, 59, 59, 999_999, tzinfo=UTC)
    assert windows.texts(moment) == ["2026-08-24T13:45/PT15M", "2026-08-24T12:00/PT6H"]
    assert list(map(kind_of, windows.texts(moment))) == ["PT15M", "PT6H"]
    assert windows.end("2026-08-24T13:45/PT15M") == datetime(2026, 8, 24, 14, tzinfo=UTC)
    assert windows.end("2026-08-24T12:00/PT6H") == datetime(2026, 8, 24, 18, tzinfo=UTC)


# Clocks go back by two hours, from 03:00 to 01:00, or at 03:45: a window must not end before its last moment.
@pytest.mark.parametrize(
    ("zone", "moment"),
    [
        ("Antarctica/Troll", datetime(2022, 10, 30, 1, 30, tzinfo=UTC)),
        ("Pacific/Chatham", datetime(2022, 4, 2, 14, 10, tzinfo=UTC)),
        ("Pacific/Chatham", datetime(2022, 4, 2, 15, 5, tzinfo=UTC)),
    ],
)
def test_windows_contain_their_moments_where_clocks_go_back_otherwise(zone: str, moment: datetime) -> None:
    windows = sk.patterns.window("since", *ALL[1:], *LENGTHS, zone=zone)
    assert all(moment < windows.end(text) for text in windows.texts(moment))


# ISO weeks begin on Monday; the first one of a year has its first Thursday.
@pytest.mark.parametrize(
    ("day", "week"),
    [
        (date(2026, 8, 23), "2026-W34"),
        (date(2026, 8, 24), "2026-W35"),
        (date(2026, 12, 31), "2026-W53"),
        (date(2027, 1, 3), "2026-W53"),
        (date(2027, 1, 4), "2027-W01"),
        (date(2024, 12, 30), "2025-W01"),
    ],
)
def test_weeks_are_those_of_iso_8601(day: date, week: str) -> None:
    windows = sk.patterns.window("on", "WEEK", zone="Europe/Berlin")
    assert windows.texts(day) == [week]
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    assert windows.texts(noon) == [week]
    assert timedelta(0) < windows.end(week) - noon <= timedelta(days=7)


# Clocks go back on Sunday, 25 October 2026, so that week has 169 hours.
def test_a_week_ends_at_midnight_of_its_zone() -> None:
    windows = sk.patterns.window("since", "WEEK", zone="Europe/Berlin")
    assert windows.end("2026-W43") - windows.end("2026-W42") == timedelta(hours=169)
    assert windows.end("2026-W43") == datetime(2026, 10, 25, 23, tzinfo=UTC)


# New Year's Eve in Berlin is still the old year in UTC.
def test_windows_are_those_of_the_zone() -> None:
    moment = datetime(2026, 12, 31, 23, 30, tzinfo=UTC)
    assert sk.patterns.window("since", "YEAR", "DAY").texts(moment) == ["2026", "2026-12-31"]
    assert sk.patterns.window("since", "YEAR", "DAY", zone="Europe/Berlin").texts(moment) == ["2027", "2027-01-01"]


# Clocks go back at 03:00 on 25 October 2026, so that 02:30 comes twice.
def test_an_hour_that_comes_twice_is_two_windows() -> None:
    windows = sk.patterns.window("since", "HOUR", zone="Europe/Berlin")
    first, second = datetime(2026, 10, 25, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    assert windows.texts(first) == ["2026-10-25T02"]
    assert windows.texts(second) == ["2026-10-25T02+01:00"]
    assert windows.end("2026-10-25T02") == datetime(2026, 10, 25, 1, tzinfo=UTC)
    assert windows.end("2026-10-25T02+01:00") == datetime(2026, 10, 25, 2, tzinfo=UTC)


def test_minutes_that_come_twice_are_two_windows() -> None:
    windows = sk.patterns.window("since", "MINUTE", timedelta(minutes=15), zone="Europe/Berlin")
    first, second = datetime(2026, 10, 25, 0, 35, tzinfo=UTC), datetime(2026, 10, 25, 1, 35, tzinfo=UTC)
    assert windows.texts(first) == ["2026-10-25T02:35", "2026-10-25T02:30/PT15M"]
    assert windows.texts(second) == ["2026-10-25T02:35+01:00", "2026-10-25T02:30+01:00/PT15M"]
    assert windows.end("2026-10-25T02:30/PT15M") == datetime(2026, 10, 25, 0, 45, tzinfo=UTC)
    assert windows.end("2026-10-25T02:30+01:00/PT15M") == datetime(2026, 10, 25, 1, 45, tzinfo=UTC)
    assert windows.end("2026-10-25T02:35+01:00") == datetime(2026, 10, 25, 1, 36, tzinfo=UTC)


# The first six hours of that day have seven.
def test_hours_are_longer_when_clocks_go_back() -> None:
    windows = sk.patterns.window("since", timedelta(hours=6), zone="Europe/Berlin")
    for hour in range(-2, 5):
        moment = datetime(2026, 10, 25, tzinfo=UTC) + timedelta(hours=hour)
        assert windows.texts(moment) == ["2026-10-25T00:00/PT6H"]
    assert windows.end("2026-10-25T00:00/PT6H") == datetime(2026, 10, 25, 5, tzinfo=UTC)


# A day with a change of clocks has 23 or 25 hours.
@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-08-24", 24)])
def test_a_day_ends_at_midnight_of_its_zone(day: str, hours: int) -> None:
    windows = sk.patterns.window("since", "DAY", zone="Europe/Berlin")
    start = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo("Europe/Berlin")).astimezone(UTC)
    assert windows.end(day) - start == timedelta(hours=hours)


def test_a_date_is_in_days_and_wider_windows() -> None:
    assert sk.patterns.window("on", "ALL_TIME", "MONTH", "DAY").texts(date(2026, 8, 24)) == [
        "ALL_TIME",
        "2026-08",
        "2026-08-24",
    ]


def test_nothing_but_all_time_has_no_moment() -> None:
    assert sk.patterns.window("since", "ALL_TIME", "DAY").texts(None) == ["ALL_TIME"]
    assert sk.patterns.window("since", "DAY").texts(None) == []


def test_a_time_without_a_zone_is_rejected() -> None:
    with pytest.raises(ValueError, match="since: 2026-08-24 13:00:00 has no time zone"):
        sk.patterns.window("since", "DAY").texts(datetime(2026, 8, 24, 13))  # noqa: DTZ001


def test_windows_expire_after_their_end() -> None:
    windows = sk.patterns.window("since", "MONTH", "DAY", keep={"DAY": timedelta(days=1)})
    assert windows.expiry("2026-12-31") == datetime(2027, 1, 2, tzinfo=UTC)
    assert windows.expiry("2026-12") is None


def test_weeks_and_minutes_expire_after_their_end() -> None:
    windows = sk.patterns.window(
        "since",
        "WEEK",
        "MINUTE",
        timedelta(minutes=15),
        keep={"WEEK": timedelta(days=1), "MINUTE": timedelta(hours=1), timedelta(minutes=15): timedelta(hours=2)},
    )
    texts = windows.texts(datetime(2026, 12, 31, 23, 59, tzinfo=UTC))
    assert [windows.expiry(text) for text in texts] == [
        datetime(2027, 1, 5, tzinfo=UTC),
        datetime(2027, 1, 1, 1, tzinfo=UTC),
        datetime(2027, 1, 1, 2, tzinfo=UTC),
    ]


def test_the_last_day_of_the_calendar_never_expires() -> None:
    windows = sk.patterns.window("since", "DAY", "YEAR", keep={"DAY": timedelta(days=1), "YEAR": timedelta(0)})
    assert windows.expiry("9999-12-31") == windows.expiry("9999") == datetime.max.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("WEK",), {}, "no window 'WEK'; did you mean 'WEEK'"),
        ((timedelta(minutes=7),), {}, "windows of 0:07:00 do not begin at the same times every day"),
        ((timedelta(minutes=90),), {}, "do not begin at the same times"),
        ((timedelta(minutes=45),), {}, "do not begin at the same times"),
        ((timedelta(hours=5),), {}, "do not begin at the same times"),
        ((timedelta(seconds=30),), {}, "minutes that divide an hour"),
        ((timedelta(0),), {}, "do not begin at the same times"),
        ((timedelta(days=2),), {}, "do not begin at the same times"),
        ((timedelta(minutes=-15),), {}, "do not begin at the same times"),
        ((timedelta(hours=1),), {}, "is named 'HOUR'"),
        ((timedelta(minutes=15), timedelta(minutes=15)), {}, "named twice"),
        (("DAY",), {"keep": {timedelta(minutes=15): timedelta(1)}}, "0:15:00, which is not one of the windows"),
        ((), {}, "name the windows"),
        (("DAY", "DAY"), {}, "named twice"),
        (("DAY",), {"zone": "Europe/Atlantis"}, "no time zone 'Europe/Atlantis'"),
        (("DAY",), {"zone": "../secret"}, "no time zone"),
        (("DAY",), {"keep": {"HOUR": timedelta(1)}}, "HOUR, which is not one of the windows"),
        (("ALL_TIME",), {"keep": {"ALL_TIME": timedelta(1)}}, "ALL_TIME never ends"),
        (("DAY",), {"keep": {"DAY": 400}}, "takes a timedelta for DAY, not 400"),
        (("DAY",), {"keep": {"DAY": timedelta(-1)}}, "takes a timedelta"),
    ],
)
def test_mistakes_are_rejected(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(sk.DeclarationError, match=message):
        sk.patterns.window("since", *arguments, **options)


moments = st.datetimes(datetime(1975, 1, 1), datetime(2080, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(st.lists(moments, min_size=2), st.sampled_from(ZONES))
def test_texts_of_one_kind_sort_as_times_do(times: list[datetime], zone: str) -> None:
    for kind in ALL[:-1]:
        windows = sk.patterns.window("since", kind, zone=zone)
        texts = [windows.texts(moment)[0] for moment in sorted(times)]
        assert all(before <= after for before, after in pairwise(texts))


@given(moments, st.sampled_from(ZONES))
def test_every_window_ends_after_its_moments_and_soon(moment: datetime, zone: str) -> None:
    longest = {4: 367, 7: 32, 8: 8, 10: 2}
    windows = sk.patterns.window("since", *ALL[1:], *LENGTHS, zone=zone)
    for text in windows.texts(moment):
        assert timedelta(0) < windows.end(text) - moment <= timedelta(days=longest.get(len(text), 1))


# A moment is in one window of each kind, and all of a window's moments are between its end and that of the one before.
@given(moments, moments, st.sampled_from(ZONES), st.sampled_from(LENGTHS))
def test_windows_of_one_length_do_not_overlap(one: datetime, other: datetime, zone: str, length: timedelta) -> None:
    windows = sk.patterns.window("since", length, zone=zone)
    before, after = sorted([one, other])
    first, last = windows.texts(before)[0], windows.texts(after)[0]
    assert first == last or windows.end(first) <= windows.end(last)
    assert windows.texts(windows.end(first))[0] != first or zone == "Australia/Lord_Howe"


def test_minutes_sort_as_times_do_within_an_hour() -> None:
    windows = sk.patterns.window("since", "MINUTE", timedelta(minutes=5), zone="Europe/Berlin")
    start = datetime(2026, 10, 24, 23, tzinfo=UTC)
    texts = [windows.texts(start + timedelta(minutes=n)) for n in range(240)]
    for kind in zip(*texts, strict=True):
        hours = [text[:13] for text in kind]
        assert hours == sorted(hours)
        assert list(dict.fromkeys(kind[:60])) == sorted(set(kind[:60]))
    assert len({minute for minute, _ in texts}) == 240
    assert len({five for _, five in texts}) == 48
