"""The service's settings."""

from __future__ import annotations

import pytest

import sortkey as sk
from sortkey_services.pricing.service import read_settings


def test_prices_are_in_euros_unless_configured() -> None:
    assert read_settings({}).currency == "EUR"
    assert read_settings({"currency": "CHF"}).currency == "CHF"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"currency": "euro"}, "pricing: currency: must be three capital letters, as EUR, not 'euro'"),
        ({"currency": 5}, r"pricing: Expected `str`, got `int` - at `\$.currency`"),
        ({"time_zone": "Mars"}, "pricing: time_zone: 'Mars' is not a time zone such as Europe/Berlin"),
        ({"kafka": 5}, r"pricing: Expected `str \| object \| null`, got `int` - at `\$.kafka`"),
        ({"kafak": "x"}, "pricing: Object contains unknown field `kafak`"),
    ],
)
def test_wrong_settings_are_named(given: dict[str, object], message: str) -> None:
    with pytest.raises(sk.services.BadSettings, match=message):
        read_settings(given)
