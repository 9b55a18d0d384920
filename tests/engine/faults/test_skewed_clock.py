"""A store whose clock differs from its clients'."""

from __future__ import annotations

import time

import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.engine.faulty_database import FaultyDatabase, store_clock
from tests.engine.faults.conftest import OpenFaulty
from tests.engine.faults.orders import ORDERS

HOUR = 3600


@pytest.mark.parametrize("skew", [HOUR, -HOUR])
def test_the_clock_is_ahead_or_behind(skew: float) -> None:
    clock = ManualClock()
    assert store_clock(sk.testing.Faults(clock_skew=skew), clock).now() == clock.now() + skew
    database = FaultyDatabase(sk.testing.Faults(clock_skew=skew), None, clock)
    assert database.clock.now() == clock.now() + skew
    database.close()


def test_without_skew_it_is_the_same_clock() -> None:
    clock = ManualClock()
    assert store_clock(None, clock) is clock
    assert store_clock(sk.testing.Faults(throttle=1), clock) is clock


def test_times_of_the_store_are_by_its_clock(open_faulty: OpenFaulty) -> None:
    client = open_faulty(f"clock_skew={24 * HOUR}")
    created = client.create_table(**ORDERS)["TableDescription"]["CreationDateTime"]
    assert created.timestamp() > time.time() + 12 * HOUR
