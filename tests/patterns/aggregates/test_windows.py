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

ALL: tuple[WindowKind, ...] = ("ALL_TIME", "YEAR", "MONTH", "DAY", "HOUR")
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kolkata")


def test_windows_are_texts_that_say_what_they_are() -> None:
    windows = sk.patterns.window("since", *ALL)
    moment = datetime(2026, 8, 24, 13, 59, 59, 999_999, tzinfo=UTC)
    assert windows.texts(moment) == ["ALL_TIME", "2026", "2026-08", "2026-08-24", "2026-08-24T13"]
    assert list(map(kind_of, windows.texts(moment))) == list(ALL)


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


def test_the_last_day_of_the_calendar_never_expires() -> None:
    windows = sk.patterns.window("since", "DAY", "YEAR", keep={"DAY": timedelta(days=1), "YEAR": timedelta(0)})
    assert windows.expiry("9999-12-31") == windows.expiry("9999") == datetime.max.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("WEEK",), {}, "no window 'WEEK'"),
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
    for kind in ALL:
        windows = sk.patterns.window("since", kind, zone=zone)
        texts = [windows.texts(moment)[0] for moment in sorted(times)]
        assert all(before <= after for before, after in pairwise(texts))


@given(moments, st.sampled_from(ZONES))
def test_every_window_ends_after_its_moments_and_soon(moment: datetime, zone: str) -> None:
    longest = {4: 367, 7: 32, 10: 2}
    for text in sk.patterns.window("since", *ALL[1:], zone=zone).texts(moment):
        left = sk.patterns.window("since", *ALL[1:], zone=zone).end(text) - moment
        # Lord Howe's clocks change by half an hour, within an hour.
        assert timedelta(minutes=-30) < left <= timedelta(days=longest.get(len(text), 1))
