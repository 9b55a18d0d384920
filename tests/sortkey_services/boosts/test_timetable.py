"""Which slots are on at an instant, by the market's own clock."""

from __future__ import annotations

from datetime import datetime
from itertools import product
from zoneinfo import ZoneInfo

import pytest

from sortkey_services.boosts.event import DAYS, SLOTS, DaySlot, Slot, day_slot_bits
from sortkey_services.boosts.tenants import Hours, Timetable

BERLIN = Timetable(
    ZoneInfo("Europe/Berlin"),
    {
        "breakfast": Hours.read("06:00", "11:00"),
        "lunch": Hours.read("10:30", "15:00"),
        "dinner": Hours.read("17:00", "24:00"),
        "late-night": Hours.read("22:00", "02:30"),
    },
)


def on(instant: str) -> set[tuple[str, str]]:
    day_slots = BERLIN.day_slots(datetime.fromisoformat(instant)).listed
    assert len(set(day_slots)) == len(day_slots)
    return set(day_slots)


def test_a_slot_holds_its_first_minute_and_not_its_last() -> None:
    assert on("2026-08-24T05:59:59+02:00") == {("Monday", "all-day")}
    assert on("2026-08-24T06:00:00+02:00") == {("Monday", "all-day"), ("Monday", "breakfast")}
    assert on("2026-08-24T14:59:59+02:00") == {("Monday", "all-day"), ("Monday", "lunch")}
    assert on("2026-08-24T15:00:00+02:00") == {("Monday", "all-day")}


def test_slots_may_overlap() -> None:
    assert on("2026-08-24T10:45:00+02:00") == {("Monday", "all-day"), ("Monday", "breakfast"), ("Monday", "lunch")}


# A night out begins on Friday and is still Friday's at one o'clock; the day itself is Saturday by then.
def test_after_midnight_a_slot_belongs_to_the_day_it_began_on() -> None:
    assert on("2026-08-28T23:00:00+02:00") == {("Friday", "all-day"), ("Friday", "dinner"), ("Friday", "late-night")}
    assert on("2026-08-29T01:00:00+02:00") == {("Saturday", "all-day"), ("Friday", "late-night")}
    assert on("2026-08-31T00:00:00+02:00") == {("Monday", "all-day"), ("Sunday", "late-night")}


def test_the_day_is_the_market_s_not_the_caller_s() -> None:
    # 22:30 on Sunday in London is 23:30 in Berlin; half past one in Istanbul on Monday is half past midnight there.
    assert ("Sunday", "dinner") in on("2026-08-23T22:30:00+01:00")
    assert ("Monday", "all-day") in on("2026-08-24T01:30:00+03:00")


# In March 02:00 is followed by 03:00, in October 02:00 to 02:59 come twice: both times it is what the wall says.
def test_clocks_that_change() -> None:
    assert on("2026-03-29T00:59:00+00:00") == {("Sunday", "all-day"), ("Saturday", "late-night")}
    assert on("2026-03-29T01:00:00+00:00") == {("Sunday", "all-day")}
    for instant in ("2026-10-25T00:15:00+00:00", "2026-10-25T01:15:00+00:00"):
        assert on(instant) == {("Sunday", "all-day"), ("Saturday", "late-night")}
    assert on("2026-10-25T01:30:00+00:00") == {("Sunday", "all-day")}


@pytest.mark.parametrize(
    ("start", "end"),
    [("9:00", "11:00"), ("09:00", "25:00"), ("09:00", "24:30"), ("10:00", "10:00"), ("24:00", "02:00")],
)
def test_hours_that_are_none_are_rejected(start: str, end: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        Hours.read(start, end)


def test_all_day_needs_no_hours() -> None:
    none: dict[Slot, Hours] = {}
    assert Timetable(ZoneInfo("UTC"), none).day_slots(datetime.fromisoformat("2026-08-24T12:00Z")).listed == (
        DaySlot("Monday", "all-day"),
    )


def test_bits_overlap_where_day_slots_do() -> None:
    every = list(product(DAYS, SLOTS))
    assert day_slot_bits(every) == 2 ** len(every) - 1
    assert day_slot_bits([]) == 0
    for one, other in product(every, every):
        assert bool(day_slot_bits([one]) & day_slot_bits([other])) == (one == other)
