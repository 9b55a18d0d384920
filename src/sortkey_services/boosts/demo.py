"""Demonstration data: three markets, the same on every run.

    tr   wildcard   11,500 partners, all boosted everywhere: the market that was too large for v1
    gr   zoned       1,500 partners, each in one to three districts of Athens or Thessaloniki
    de   zoned       2,500 partners, half of them everywhere and half in districts

The last few campaigns are written out, not random, for the examples in the README. They are stored last: if the last
one is there, all data is.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final, NamedTuple

from sortkey_services.boosts.event import ACTIVE, DAYS, EVERYWHERE, CampaignEvent, Day, Slot

SEED: Final = 740_321
BEGINNING: Final = datetime(2026, 1, 5, 8, tzinfo=UTC)

_ALL_WEEK: Final = frozenset(DAYS)
_WORKDAYS: Final = frozenset(DAYS[:5])
_WEEKEND: Final[frozenset[Day]] = frozenset({"Friday", "Saturday", "Sunday"})


class Habit(NamedTuple):
    """A common schedule, and its share in percent."""

    share: int
    days: frozenset[Day]
    slots: frozenset[Slot]


HABITS: Final = (
    Habit(44, _ALL_WEEK, frozenset({"all-day"})),
    Habit(16, _WORKDAYS, frozenset({"lunch"})),
    Habit(14, _ALL_WEEK, frozenset({"dinner"})),
    Habit(10, _WEEKEND, frozenset({"dinner", "late-night"})),
    Habit(8, _ALL_WEEK, frozenset({"lunch", "dinner"})),
    Habit(5, _WEEKEND, frozenset({"breakfast"})),
    Habit(3, frozenset({"Monday", "Tuesday"}), frozenset({"all-day"})),
)


class Region(NamedTuple):
    """The partners of a market, and their delivery areas."""

    tenant: str
    partners: int
    first_partner: int
    districts: tuple[str, ...]
    everywhere: float
    """The share of campaigns that run in the whole market."""


def _districts(**cities: int) -> tuple[str, ...]:
    return tuple(f"{city}-{number:02}" for city, count in cities.items() for number in range(1, count + 1))


REGIONS: Final = (
    Region("tr", 11_500, 20_100_000, _districts(IST=39, ANK=25, IZM=30), 1.0),
    Region("gr", 1_500, 30_500_000, _districts(ATH=21, THE=9), 0.0),
    Region("de", 2_500, 10_740_400, _districts(BER=12, HAM=7, MUC=25), 0.5),
)


def delivery_areas(region: Region, partner: int) -> tuple[str, ...]:
    """The districts that a partner delivers to: consecutive ones of a city, drawn with the partner's id as seed."""
    draw = Random(f"{SEED}/{region.tenant}/{partner}")
    city = draw.choice(sorted({district.partition("-")[0] for district in region.districts}))
    near = [district for district in region.districts if district.startswith(f"{city}-")]
    count = min(len(near), draw.randint(2, 7))
    start = draw.randrange(len(near) - count + 1)
    return tuple(near[start : start + count])


def events_of(region: Region, partners: int | None = None) -> Iterator[CampaignEvent]:
    """The campaigns of a market, partner by partner; one in seven partners has two."""
    draw = Random(f"{SEED}/{region.tenant}")
    for index in range(region.partners if partners is None else partners):
        partner = region.first_partner + index * 3
        for number in range(2 if draw.random() < 1 / 7 else 1):
            yield _random_event(draw, region, partner, number)


def _random_event(draw: Random, region: Region, partner: int, number: int) -> CampaignEvent:
    habit = draw.choices(HABITS, weights=[habit.share for habit in HABITS])[0]
    areas: tuple[str, ...] = (EVERYWHERE,)
    if draw.random() >= region.everywhere:
        delivered = delivery_areas(region, partner)
        areas = delivered[: draw.randint(1, min(3, len(delivered)))]
    campaign = f"{region.tenant}-{partner}-{number + 1}"
    score = round(1.05 + draw.betavariate(2, 5) * 2.4, 2)
    updated = BEGINNING + timedelta(minutes=draw.randrange(200_000))
    return _event(region.tenant, str(partner), campaign, areas, score, habit.days, *habit.slots, updated=updated)


def _event(
    tenant: str,
    partner: str,
    campaign: str,
    areas: tuple[str, ...],
    score: float,
    days: frozenset[Day],
    *slots: Slot,
    updated: datetime = BEGINNING,
) -> CampaignEvent:
    return CampaignEvent(
        event_id=f"demo-{campaign}",
        campaign_id=campaign,
        partner_id=partner,
        areas=areas,
        score=score,
        days_of_week=days,
        time_slots=frozenset(slots),
        status=ACTIVE,
        updated_at=updated,
        tenant=tenant,
    )


EXAMPLE_EVENTS: Final = (
    _event("de", "10740321", "summer-in-the-city", (EVERYWHERE,), 1.8, _ALL_WEEK, "all-day"),
    _event("de", "10740321", "lunch-in-mitte", ("BER-01", "BER-02"), 1.4, _WORKDAYS, "lunch"),
    _event("de", "10740322", "late-bites", (EVERYWHERE,), 2.25, _WEEKEND, "late-night"),
    _event("de", "10740323", "kreuzberg-lunch", ("BER-02",), 1.6, _WORKDAYS, "lunch"),
    _event("de", "10740324", "every-day", (EVERYWHERE,), 1.2, _ALL_WEEK, "all-day"),
    _event("de", "10740324", "power-lunch", (EVERYWHERE,), 1.9, _WORKDAYS, "lunch"),
    _event("de", "10740325", "sunday-brunch", ("BER-01",), 2.5, frozenset({"Sunday"}), "breakfast"),
)
EXAMPLE_AREAS: Final = ("BER-01", "BER-02", "BER-03")
"""The delivery areas of their partners."""
