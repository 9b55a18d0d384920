"""The windows of time that favourites are counted in, as requests name them."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

import sortkey as sk

ALL_TIME: Final = "ALL_TIME"
_CALENDAR: Final = re.compile(r"(?a)\d{4}(-\d\d(-\d\d)?)?")


def check_window(window: str) -> None:
    """Raises BadRequest unless it is ALL_TIME, a year, a month or a day of the calendar."""
    if window == ALL_TIME:
        return
    if _CALENDAR.fullmatch(window):
        try:
            date.fromisoformat(window + "-01-01"[len(window) - 4 :])
        except ValueError:
            pass
        else:
            return
    raise sk.services.BadRequest(f"window: must be {ALL_TIME}, or a year, month or day as 2026, 2026-08 or 2026-08-24")
