"""The service's settings.

    [pricing]
    currency = "EUR"
    kafka = "localhost:9092"           # events of changes that took effect; none without it
    topic = "price-changes"
    legacy_topic = "price-updated"     # one event for each store and instant

The currency must not change while there are prices: amounts are stored without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

import sortkey as sk
from sortkey_services.pricing.checks import is_currency


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    currency: str = "EUR"
    kafka: str | None = None
    topic: str = "price-changes"
    legacy_topic: str = "price-updated"


DEFAULTS: Final = Settings()


def read_settings(given: Mapping[str, Any]) -> Settings:
    """Raises BadSettings."""
    try:
        settings = msgspec.convert(given, Settings)
    except msgspec.ValidationError as error:
        raise sk.services.BadSettings(f"pricing: {error}") from None
    if not is_currency(settings.currency):
        raise sk.services.BadSettings(
            f"pricing: currency: must be three capital letters, as EUR, not {settings.currency!r}"
        )
    return settings
