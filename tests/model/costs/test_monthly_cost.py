"""The bill of a month, by hand."""

from __future__ import annotations

import pytest

from sortkey.model.costs.monthly_cost import Usage, monthly_cost

USED = Usage(
    read_units=8_000_000,
    write_units=2_000_000,
    later_write_units=4_000_000,
    schedules=500_000,
    stored_bytes=10 * 1024**3,
    recoverable_bytes=5 * 1024**3,
)


def test_list_prices() -> None:
    dollars = {line.what: line.dollars for line in monthly_cost(USED)}
    assert dollars == pytest.approx(
        {
            "reads": 1.00,
            "writes": 1.25,
            "writes of feeds and timers": 2.50,
            "schedules of timers": 0.50,
            "storage": 2.50,
            "point-in-time recovery": 1.00,
        }
    )


# A write is repeated in each region; a read and a schedule happen once.
def test_each_region_stores_and_writes() -> None:
    one = {line.what: line.dollars for line in monthly_cost(USED)}
    three = {line.what: line.dollars for line in monthly_cost(USED, regions=3)}
    once = {"reads", "schedules of timers"}
    assert three == pytest.approx({what: dollars * (1 if what in once else 3) for what, dollars in one.items()})
