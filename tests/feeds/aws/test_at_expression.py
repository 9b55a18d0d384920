"""`at(…)`: every instant has an expression that means it and nothing else, in every time zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sortkey.feeds.aws.eventbridge import AtExpression, at_expression, fires_at, instant_of, whole_minute

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia"]
NOON = datetime(2026, 8, 24, 12, tzinfo=UTC)


def test_an_instant_in_its_zone() -> None:
    assert at_expression(NOON, BERLIN) == ("at(2026-08-24T14:00:00)", "Europe/Berlin")
    assert at_expression(NOON, ZoneInfo("UTC")) == ("at(2026-08-24T12:00:00)", "UTC")


# At 3:00 on 25 October 2026 the clocks of Berlin are set back to 2:00: 2:30 comes twice.
@pytest.mark.parametrize("hour", [0, 1])
def test_an_instant_whose_local_time_comes_twice_is_written_in_utc(hour: int) -> None:
    instant = datetime(2026, 10, 25, hour, 30, tzinfo=UTC)
    assert at_expression(instant, BERLIN) == (f"at(2026-10-25T0{hour}:30:00)", "UTC")


# At 2:00 on 29 March 2026 they are set forward to 3:00: 2:30 does not come. What is written so means an hour later.
def test_a_local_time_that_does_not_exist_is_moved_forward() -> None:
    skipped = datetime(2026, 3, 29, 2, 30, tzinfo=BERLIN)
    assert at_expression(skipped.astimezone(UTC), BERLIN) == ("at(2026-03-29T03:30:00)", "Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "zone", "message"),
    [
        ("at(2026-03-29T02:30:00)", "Europe/Berlin", "does not exist in Europe/Berlin: the clocks are set forward"),
        ("at(2026-10-25T02:30:00)", "Europe/Berlin", "means two instants in Europe/Berlin: the clocks are set back"),
        ("at(2026-02-30T00:00:00)", "UTC", "has no such time: day"),
        ("at(2026-08-24T24:00:00)", "UTC", "has no such time: hour"),
        ("at(2026-08-24 12:00:00)", "UTC", "is not of the form at"),
        ("at(2026-08-24T12:00:00Z)", "UTC", "is not of the form at"),
        ("at(2026-08-24T12:00)", "UTC", "is not of the form at"),
        ("rate(1 minute)", "UTC", "is not of the form at"),
        ("at(٢٠٢٦-08-24T12:00:00)", "UTC", "is not of the form at"),
    ],
)
def test_expressions_that_mean_no_instant(text: str, zone: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        instant_of(AtExpression(text, zone))


@given(
    # In seconds since 1970: from 2020 to 2037.
    st.integers(1_577_836_800, 2_114_380_800),
    st.sampled_from(ZONES).map(ZoneInfo),
)
def test_an_expression_means_its_instant(seconds: int, zone: ZoneInfo) -> None:
    instant = datetime.fromtimestamp(seconds, UTC)
    assert instant_of(at_expression(instant, zone)) == instant


# Around the changes of the clocks, minute by minute.
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("day", [datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 10, 25, tzinfo=UTC)])
def test_an_expression_means_its_instant_when_clocks_change(zone: str, day: datetime) -> None:
    for minutes in range(0, 24 * 60, 10):
        instant = day + timedelta(minutes=minutes)
        assert instant_of(at_expression(instant, ZoneInfo(zone))) == instant


@pytest.mark.parametrize(
    ("at", "fires"),
    [
        (NOON, NOON),
        (NOON + timedelta(microseconds=1), NOON + timedelta(minutes=1)),
        (NOON + timedelta(seconds=59), NOON + timedelta(minutes=1)),
    ],
)
def test_a_schedule_is_never_called_before_its_instant(at: datetime, fires: datetime) -> None:
    assert fires_at(at, NOON - timedelta(days=1)) == fires == whole_minute(at)


# EventBridge may reject what is past, and its clock may be ahead of ours.
@pytest.mark.parametrize("ago", [timedelta(), timedelta(days=400), -timedelta(seconds=30)])
def test_what_is_past_is_called_in_the_next_minutes(ago: timedelta) -> None:
    now = NOON + timedelta(seconds=20)
    assert fires_at(now - ago, now) == NOON + timedelta(minutes=2)
