"""The service's settings, and the markets that they define, one for each tenant.

    [boosts]
    design = "v2"

    [boosts.tenants.de]
    areas = "zoned"
    timezone = "Europe/Berlin"
    slots.late-night = ["22:00", "02:00"]

In a wildcard market every campaign runs everywhere, so a lookup reads one row per partner. In a zoned market a campaign
runs everywhere or in the areas that it names, and a lookup reads two rows. Slots that are not set have default hours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

import sortkey as sk
from sortkey_services.boosts.event import EVERYWHERE, MAX_ID_BYTES, CampaignEvent, errors_in_name
from sortkey_services.boosts.schedule import ALL_DAY, Hours, Slot, Timetable

DesignName = Literal["v2", "v1", "manifest"]

DEFAULT_HOURS: Final[Mapping[Slot, tuple[str, str]]] = {
    "breakfast": ("06:00", "11:00"),
    "lunch": ("11:00", "15:00"),
    "dinner": ("17:00", "22:00"),
    "late-night": ("22:00", "02:00"),
}


class TenantSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    areas: Literal["wildcard", "zoned"]
    timezone: str
    slots: dict[Slot, tuple[str, str]] = {}


def _demo_tenants() -> dict[str, TenantSettings]:
    return {
        "de": TenantSettings("zoned", "Europe/Berlin"),
        "gr": TenantSettings("zoned", "Europe/Athens", {"lunch": ("12:00", "16:30"), "dinner": ("19:00", "23:30")}),
        "tr": TenantSettings("wildcard", "Europe/Istanbul"),
    }


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    design: DesignName = "v2"
    tenants: dict[str, TenantSettings] = msgspec.field(default_factory=_demo_tenants)


@dataclass(frozen=True, slots=True)
class Market:
    """One tenant."""

    tenant: str
    wildcard: bool
    timetable: Timetable

    def error(self, event: CampaignEvent) -> str | None:
        """Why this market rejects the event; None if it accepts it."""
        if self.wildcard and EVERYWHERE not in event.areas:
            return f'areas: {self.tenant} is a wildcard market, whose campaigns have the areas ["*"]'
        return None


def read_settings(given: Mapping[str, Any]) -> Settings:
    try:
        settings = msgspec.convert(given, Settings)
    except msgspec.ValidationError as error:
        raise sk.services.BadSettings(f"boosts: {error}") from None
    if not settings.tenants:
        raise sk.services.BadSettings("boosts: tenants: at least one is required")
    return settings


def markets_of(settings: Settings) -> dict[str, Market]:
    """The markets by tenant. Raises BadSettings."""
    return {tenant: _market(tenant, chosen) for tenant, chosen in settings.tenants.items()}


def _market(tenant: str, chosen: TenantSettings) -> Market:
    where = f"boosts: tenants.{tenant}"
    for error in errors_in_name(where, tenant, MAX_ID_BYTES):
        raise sk.services.BadSettings(error)
    try:
        zone = ZoneInfo(chosen.timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise sk.services.BadSettings(
            f"{where}.timezone: {chosen.timezone!r} is not a time zone such as Europe/Berlin"
        ) from None
    hours: dict[Slot, Hours] = {}
    for slot, (start, end) in {**DEFAULT_HOURS, **chosen.slots}.items():
        if slot == ALL_DAY:
            raise sk.services.BadSettings(f"{where}.slots: the hours of all-day cannot be set")
        try:
            hours[slot] = Hours.read(start, end)
        except ValueError as error:
            raise sk.services.BadSettings(f"{where}.slots.{slot}: {error}") from None
    return Market(tenant, chosen.areas == "wildcard", Timetable(zone, hours))
