"""The service's settings, and the markets that they define, one for each tenant.

    [boosts]
    design = "v2"               # or "v1", "manifest"
    moving_to = "manifest"      # with design = "v1": see boosts.moving
    compared = 0.01
    max_ahead_seconds = 300

    [boosts.tenants.de]
    areas = "zoned"
    timezone = "Europe/Berlin"
    slots.late-night = ["22:00", "02:00"]

In a wildcard market every campaign runs everywhere, so a lookup reads one row per partner. In a zoned market a campaign
runs everywhere or in the areas that it names, and a lookup reads two rows. Slots that are not set have default hours.

A slot has hours, such as lunch from 11:00 to 15:00, in the market's local time. A slot that ends before it starts
crosses midnight; the part after midnight belongs to the day on which it started, so Friday's late-night ends on
Saturday morning. On a day when clocks change, a slot is shorter or longer, and none is skipped or doubled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from msgspec import Meta

import sortkey as sk
from sortkey_services.boosts.event import (
    DAYS,
    EVERYWHERE,
    MAX_ID_BYTES,
    CampaignEvent,
    DaySlot,
    Slot,
    day_slot_bits,
    errors_in_name,
)

ALL_DAY: Final[Slot] = "all-day"
CACHED_MINUTES: Final = 128
"""How many minutes of the week are cached, with their day slots."""
_MIDNIGHT: Final = 24 * 60
_TIME_OF_DAY: Final = re.compile(r"([01]\d|2[0-4]):([0-5]\d)", re.ASCII)

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
    moving_to: Literal["v2", "manifest"] | None = None
    """The design that v1 is moving to."""
    compared: Annotated[float, Meta(ge=0, le=1)] = 0.0
    """The share of lookups that are compared with the other design, while v1 is moving."""
    tenants: dict[str, TenantSettings] = msgspec.field(default_factory=_demo_tenants)
    max_ahead_seconds: sk.services.MaxAheadSeconds = sk.services.MAX_AHEAD_SECONDS
    """How far ahead of the clock an event's `updatedAt` may be."""


class Hours(NamedTuple):
    """Minutes of the day: the first, and the one after the last. 24:00 is the end of the day."""

    start: int
    end: int

    @classmethod
    def read(cls, start: str, end: str) -> Hours:
        """Parses two times such as 18:00. Raises ValueError."""
        hours = cls(_minute(start), _minute(end))
        if hours.start == _MIDNIGHT or hours.start == hours.end:
            raise ValueError(f"from {start} to {end} is not a part of a day; for a whole day use the slot all-day")
        return hours


def _minute(text: str) -> int:
    matched = _TIME_OF_DAY.fullmatch(text)
    minute = -1 if matched is None else int(matched[1]) * 60 + int(matched[2])
    if not 0 <= minute <= _MIDNIGHT:
        raise ValueError(f"{text!r} is not a time of day such as 18:00")
    return minute


class DaySlots(NamedTuple):
    """The day slots that contain an instant, as a list and as bits."""

    listed: tuple[DaySlot, ...]
    bits: int


class Timetable:
    """The slots of one market."""

    def __init__(self, zone: ZoneInfo, hours: Mapping[Slot, Hours]) -> None:
        self._zone = zone
        self._hours = tuple(hours.items())
        # Almost all lookups are for the current minute.
        self._at = lru_cache(CACHED_MINUTES)(self._day_slots)

    def day_slots(self, at: datetime) -> DaySlots:
        """The slots that contain this instant; they may overlap."""
        local = at.astimezone(self._zone)
        return self._at(local.weekday(), local.hour * 60 + local.minute)

    def _day_slots(self, today: int, minute: int) -> DaySlots:
        found = [DaySlot(DAYS[today], ALL_DAY)]
        for slot, (start, end) in self._hours:
            if start < end:
                if start <= minute < end:
                    found.append(DaySlot(DAYS[today], slot))
            elif minute >= start:
                found.append(DaySlot(DAYS[today], slot))
            elif minute < end:
                found.append(DaySlot(DAYS[today - 1], slot))
        return DaySlots(tuple(found), day_slot_bits(found))


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
    if settings.moving_to is not None and settings.design != "v1":
        raise sk.services.BadSettings(
            f'boosts: moving_to: only design = "v1" can move to another one, not {settings.design!r}'
        )
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
