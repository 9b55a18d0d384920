"""The service's settings."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import sortkey as sk
from sortkey_services.favourites.service import read_settings
from tests.sortkey_services.favourites.conftest import Service


def test_days_are_in_utc_by_default() -> None:
    assert read_settings({}).timezone == "UTC"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"timezone": "Mars/Olympus"}, "favourites: timezone: .*Mars/Olympus"),
        ({"timezone": 2}, "favourites: "),
        ({"zone": "UTC"}, "favourites: .*zone"),
    ],
)
def test_wrong_settings_are_rejected(given: dict[str, Any], said: str) -> None:
    with pytest.raises(sk.services.BadSettings, match=said):
        read_settings(given)


def test_a_favourite_counts_in_the_day_of_the_configured_zone(service: Service) -> None:
    service.restart(read_settings({"timezone": "Pacific/Auckland"}))
    service.clock.advance(3600)
    # 13:00 in UTC is 01:00 of the next day there.
    service.mark(("ada", "r1"))
    service.count()
    assert datetime.fromtimestamp(service.clock.now(), UTC).hour == 13
    assert (service.counted("r1", "2026-08-24"), service.counted("r1", "2026-08-25")) == (0, 1)
