"""Names of schedules: allowed, short, the same for the same, different for others."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from sortkey.feeds.aws.eventbridge import schedule_name
from sortkey.patterns.schedules import Occurrence

# As the API's reference has it.
ALLOWED = re.compile(r"[0-9a-zA-Z-_.]{1,64}", re.ASCII)
NOON = datetime(2026, 8, 24, 12, tzinfo=UTC)


def test_a_name_can_be_read() -> None:
    name = schedule_name("prices", Occurrence('["12345"]', NOON))
    assert re.fullmatch(r"prices_12345_20260824T120000Z\.[a-z2-7]{26}", name)


@given(
    st.text("abcXYZ019._-", min_size=1, max_size=100),
    st.lists(st.one_of(st.text(max_size=300), st.integers()), min_size=1, max_size=3),
    st.datetimes(timezones=st.just(UTC)),
)
def test_every_name_is_allowed_and_the_same_again(schedule: str, group: list[str | int], at: datetime) -> None:
    occurrence = Occurrence(msgspec.json.encode(group).decode(), at)
    name = schedule_name(schedule, occurrence)
    assert ALLOWED.fullmatch(name)
    assert name == schedule_name(schedule, Occurrence(occurrence.group, at))


def test_no_two_have_the_same_name() -> None:
    long = "x" * 300
    groups = ['["a"]', '["a-"]', '["a","b"]', '["a_b"]', f'["{long}"]', f'["{long}x"]', '["\\u00e4"]', '["\\u00f6"]']
    times = [NOON, NOON + timedelta(microseconds=1), NOON + timedelta(days=1)]
    late = [None, NOON, NOON + timedelta(minutes=1)]
    names = {
        schedule_name(schedule, Occurrence(group, at), fires)
        for schedule in ("prices", "prices_", "y" * 100)
        for group in groups
        for at in times
        for fires in late
    }
    assert len(names) == 3 * len(groups) * len(times) * len(late)
