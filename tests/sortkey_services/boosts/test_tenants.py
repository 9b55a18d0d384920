"""The service's settings."""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.services.interface import BadSettings
from sortkey_services.boosts.tenants import markets_of, read_settings
from tests.sortkey_services.boosts.campaigns import MONDAY_LUNCH, event


def test_without_settings_there_are_the_demo_s_markets() -> None:
    markets = markets_of(read_settings({}))
    assert {name: market.wildcard for name, market in markets.items()} == {"de": False, "gr": False, "tr": True}


def test_a_market_is_configured() -> None:
    given = {"tenants": {"pt": {"areas": "zoned", "timezone": "Europe/Lisbon", "slots": {"lunch": ["11:30", "11:31"]}}}}
    market = markets_of(read_settings(given))["pt"]
    # Half past eleven in Lisbon; the other slots keep their usual hours.
    assert [slot for _, slot in market.timetable.day_slots(MONDAY_LUNCH).listed] == ["all-day", "lunch"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"design": "v3"}, r"\$.design"),
        ({"desing": "v2"}, "desing"),
        ({"tenants": {}}, "tenants: at least one is required"),
        ({"tenants": {"a": {"areas": "both", "timezone": "UTC"}}}, "areas"),
        ({"tenants": {"a": {"areas": "zoned", "timezone": "Mars/Base"}}}, r"a.timezone: 'Mars/Base'"),
        ({"tenants": {"a": {"areas": "zoned", "timezone": "../etc"}}}, "a.timezone"),
        ({"tenants": {"a": {"areas": "zoned", "timezone": "UTC", "slots": {"tea": ["1", "2"]}}}}, "slots"),
        ({"tenants": {"a": {"areas": "zoned", "timezone": "UTC", "slots": {"lunch": ["1", "2"]}}}}, "slots.lunch"),
        (
            {"tenants": {"a": {"areas": "zoned", "timezone": "UTC", "slots": {"all-day": ["01:00", "02:00"]}}}},
            "all-day",
        ),
        ({"tenants": {"": {"areas": "zoned", "timezone": "UTC"}}}, "empty"),
    ],
)
def test_settings_that_cannot_be_used_are_named(given: dict[str, Any], said: str) -> None:
    with pytest.raises(BadSettings, match=said):
        markets_of(read_settings(given))


def test_a_wildcard_market_has_no_areas() -> None:
    markets = markets_of(read_settings({}))
    assert markets["tr"].error(event(areas=("IST-01",))) is not None
    assert markets["tr"].error(event()) is None
    assert markets["de"].error(event(areas=("BER-01",))) is None
