"""When a campaign runs: days of the week and slots of the day, by a market's own clock.

A slot has hours, such as lunch from 11:00 to 15:00. One that ends before it begins crosses midnight, and the part after
midnight belongs to the day on which it began: Friday's late-night is over on Saturday morning. Hours are those on the
wall, so on the days when clocks change a slot is shorter or longer and none is skipped or doubled.
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

MINUTES: Final = 128
"""Of the week, whose openings are remembered."""

_MIDNIGHT: Final = 24 * 60
_CLOCK: Final = re.compile(r"([01]\d|2[0-4]):([0-5]\d)", re.ASCII)


class Hours(NamedTuple):
    """From the first minute of the day up to, not including, the second; 24:00 is the end of the day."""

    start: int
    end: int

    @classmethod
    def read(cls, start: str, end: str) -> Hours:
        """From two texts such as 18:00. Raises ValueError."""
        hours = cls(_minute(start), _minute(end))
        if hours.start == _MIDNIGHT or hours.start == hours.end:
            raise ValueError(f"from {start} to {end} is no part of a day; use the slot all-day for a whole one")
        return hours


def _minute(text: str) -> int:
    matched = _CLOCK.fullmatch(text)
    minute = -1 if matched is None else int(matched[1]) * 60 + int(matched[2])
    if not 0 <= minute <= _MIDNIGHT:
        raise ValueError(f"{text!r} is no time of day such as 18:00")
    return minute


class Opening(NamedTuple):
    """A slot of a day; those of one instant are what campaigns are matched with."""

    day: Day
    slot: Slot


_BITS: Final = {Opening(day, slot): 1 << bit for bit, (day, slot) in enumerate(product(DAYS, SLOTS))}


def bits(openings: Iterable[tuple[Day, Slot]]) -> int:
    """The openings as a number, one bit each: two such numbers have a bit in common if they have an opening."""
    return sum(_BITS[Opening(day, slot)] for day, slot in openings)


class Timetable:
    """The slots of one market."""

    def __init__(self, zone: ZoneInfo, hours: Mapping[Slot, Hours]) -> None:
        self._zone = zone
        self._hours = tuple(hours.items())
        # Whoever asks asks for now, and now is the same for a minute.
        self._at = lru_cache(MINUTES)(self._openings)

    def openings(self, at: datetime) -> tuple[Opening, ...]:
        """The slots that are on at this instant; they may overlap."""
        local = at.astimezone(self._zone)
        return self._at(local.weekday(), local.hour * 60 + local.minute)

    def _openings(self, today: int, minute: int) -> tuple[Opening, ...]:
        found = [Opening(DAYS[today], ALL_DAY)]
        for slot, (start, end) in self._hours:
            if start < end:
                if start <= minute < end:
                    found.append(Opening(DAYS[today], slot))
            elif minute >= start:
                found.append(Opening(DAYS[today], slot))
            elif minute < end:
                found.append(Opening(DAYS[today - 1], slot))
        return tuple(found)
