"""The windows of time that requests name."""

from __future__ import annotations

import pytest

import sortkey as sk
from sortkey_services.favourites.service import check_window


@pytest.mark.parametrize("window", ["ALL_TIME", "2026", "2026-08", "2026-08-24", "2024-02-29", "0001-01-01"])
def test_all_time_years_months_and_days_are_windows(window: str) -> None:
    check_window(window)


@pytest.mark.parametrize(
    "window",
    ["", "all_time", "26", "0000", "2026-", "2026-13", "2026-00", "2026-8", "2026-02-29", "2026-08-24T10", "20260824",
     "٢٠٢٦", "2026\n", "2026-W01"],
)  # fmt: skip
def test_anything_else_is_not(window: str) -> None:
    with pytest.raises(sk.services.BadRequest, match="window: must be ALL_TIME, or a year, month or day"):
        check_window(window)
