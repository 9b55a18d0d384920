"""The service's settings.

    [favourites]
    timezone = "Europe/London"

The time zone decides in which day, month and year a favourite counts. It must not change while there are favourites:
those counted before would be taken out of windows that they are not in. `sortkey recount favourites --repair` counts
them anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

import sortkey as sk
from sortkey_services.favourites.counts import counts_of


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    timezone: str = "UTC"

    @property
    def counts(self) -> sk.patterns.Aggregate:
        return counts_of(self.timezone)


def read_settings(given: Mapping[str, Any]) -> Settings:
    """Raises BadSettings."""
    try:
        settings = msgspec.convert(given, Settings)
        counts_of(settings.timezone)
    except msgspec.ValidationError as error:
        raise sk.services.BadSettings(f"favourites: {error}") from None
    except sk.DeclarationError as error:
        raise sk.services.BadSettings(f"favourites: timezone: {error}") from None
    return settings
