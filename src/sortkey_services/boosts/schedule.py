"""When a campaign runs: days of the week and slots of the day, in a market's local time.

A slot has hours, such as lunch from 11:00 to 15:00. A slot that ends before it starts crosses midnight; the part after
midnight belongs to the day on which it started, so Friday's late-night ends on Saturday morning. Hours are local times:
on a day when clocks change, a slot is shorter or longer, and none is skipped or doubled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from itertools import product
from typing import Final, Literal, NamedTuple, get_args
from zoneinfo import ZoneInfo

Day = Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
Slot = Literal["breakfast", "lunch", "dinner", "late-night", "all-day"]

DAYS: Final[tuple[Day, ...]] = get_args(Day)
SLOTS: Final[tuple[Slot, ...]] = get_args(Slot)
ALL_DAY: Final[Slot] = "all-day"

CACHED_MINUTES: Final = 128
"""How many minutes of the week are cached, with their day slots."""

_MIDNIGHT: Final = 24 * 60
_CLOCK: Final = re.compile(r"([01]\d|2[0-4]):([0-5]\d)", re.ASCII)


class Hours(NamedTuple):
    """Minutes of the day: the first, and the one after the last. 24:00 is the end of the day."""

    start: int
    end: int

    @classmethod
    def read(cls, start: str, end: str) -> Hours:
        """Parses two times such as 18:00. Raises ValueError."""
        hours = cls(_minute(start), _minute(end))
        if hours.start == _MIDNIGHT or hours.start == hours.end:
            raise ValueError(f"from {start} to {end} is not a part of a day; for a whole day use the slot all-day")
        return hours


def _minute(text: str) -> int:
    matched = _CLOCK.fullmatch(text)
    minute = -1 if matched is None else int(matched[1]) * 60 + int(matched[2])
    if not 0 <= minute <= _MIDNIGHT:
        raise ValueError(f"{text!r} is not a time of day such as 18:00")
    return minute


class DaySlot(NamedTuple):
    """A slot on a day of the week."""

    day: Day
    slot: Slot


_BITS: Final = {DaySlot(day, slot): 1 << bit for bit, (day, slot) in enumerate(product(DAYS, SLOTS))}


def day_slot_bits(day_slots: Iterable[tuple[Day, Slot]]) -> int:
    """One bit for each day slot: two sets of day slots overlap if their numbers have a bit in common."""
    return sum(_BITS[DaySlot(day, slot)] for day, slot in day_slots)


class DaySlots(NamedTuple):
    """The day slots that contain an instant, as a list and as bits."""

    listed: tuple[DaySlot, ...]
    bits: int


class Timetable:
    """The slots of one market."""

    def __init__(self, zone: ZoneInfo, hours: Mapping[Slot, Hours]) -> None:
        self._zone = zone
        self._hours = tuple(hours.items())
        # Almost all lookups are for the current minute.
        self._at = lru_cache(CACHED_MINUTES)(self._day_slots)

    def day_slots(self, at: datetime) -> DaySlots:
        """The slots that contain this instant; they may overlap."""
        local = at.astimezone(self._zone)
        return self._at(local.weekday(), local.hour * 60 + local.minute)

    def _day_slots(self, today: int, minute: int) -> DaySlots:
        found = [DaySlot(DAYS[today], ALL_DAY)]
        for slot, (start, end) in self._hours:
            if start < end:
                if start <= minute < end:
                    found.append(DaySlot(DAYS[today], slot))
            elif minute >= start:
                found.append(DaySlot(DAYS[today], slot))
            elif minute < end:
                found.append(DaySlot(DAYS[today - 1], slot))
        return DaySlots(tuple(found), day_slot_bits(found))
