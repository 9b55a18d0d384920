"""All designs answer as a dictionary of the newest events does, whatever order events come in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey_services.boosts.design import Boost
from sortkey_services.boosts.event import DAYS, SLOTS, CampaignEvent, Slot
from sortkey_services.boosts.service import TABLES, BoostsService
from sortkey_services.boosts.tenants import Settings, TenantSettings
from tests.sortkey_services.boosts.campaigns import DISTRICTS, NOW

PARTNERS: Final = ("p1", "p2")
ZONES: Final = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu")
# Clocks change on the last Sundays of March and October in Berlin, on other Sundays and by half an hour elsewhere.
CHANGES: Final = (
    *(datetime(2026, 3, 29, 1, tzinfo=UTC), datetime(2026, 10, 25, 1, tzinfo=UTC)),
    *(datetime(2026, 3, 8, 7, tzinfo=UTC), datetime(2026, 11, 1, 6, tzinfo=UTC)),
    *(datetime(2026, 4, 4, 15, tzinfo=UTC), datetime(2026, 10, 3, 15, 30, tzinfo=UTC)),
)

MINUTE: Final = timedelta(minutes=1)

Hours = Mapping[Slot, tuple[str, str]]


class Oracle:
    """The newest event of each campaign, and nothing else."""

    def __init__(self, zone: str, hours: Hours) -> None:
        self._zone = ZoneInfo(zone)
        self._hours = hours
        self._newest: dict[tuple[str, str], CampaignEvent] = {}

    def take(self, event: CampaignEvent) -> None:
        campaign = (event.partner_id, event.campaign_id)
        known = self._newest.get(campaign)
        if known is None or (known.updated_at, known.event_id) < (event.updated_at, event.event_id):
            self._newest[campaign] = event

    def lookup(self, district: str, partners: Iterable[str], at: datetime) -> list[Boost]:
        found = []
        for partner in partners:
            running = [
                (0 if district in event.areas else 1, -event.score, event.campaign_id)
                for event in self._newest.values()
                if event.partner_id == partner and event.status == "ACTIVE" and self._runs(event, at)
                if {district, "*"}.intersection(event.areas)
            ]
            if running:
                everywhere, score, campaign = min(running)
                found.append(Boost(partner, -score, campaign, "*" if everywhere else district))
        return found

    def _runs(self, event: CampaignEvent, at: datetime) -> bool:
        """Slot by slot, as intervals on the wall's clock, of today and of yesterday."""
        wall = at.astimezone(self._zone).replace(tzinfo=None)
        for slot in event.time_slots:
            for date in (wall.date(), wall.date() - timedelta(days=1)):
                if DAYS[date.weekday()] in event.days_of_week:
                    midnight = datetime.combine(date, time())
                    start, end = self._hours.get(slot, ("00:00", "24:00"))
                    begins, ends = midnight + _since_midnight(start), midnight + _since_midnight(end)
                    if begins <= wall < (ends if begins < ends else ends + timedelta(days=1)):
                        return True
        return False


def _since_midnight(text: str) -> timedelta:
    hours, minutes = map(int, text.split(":"))
    return timedelta(hours=hours, minutes=minutes)


@st.composite
def hours(draw: st.DrawFn) -> Hours:
    """Slots that overlap, lie apart and cross midnight."""
    minutes = st.integers(0, 47).map(lambda half: f"{half // 2:02}:{half % 2 * 30:02}")
    chosen: dict[Slot, tuple[str, str]] = {}
    for slot in SLOTS:
        if slot != "all-day":
            start, end = draw(st.lists(minutes, min_size=2, max_size=2, unique=True))
            chosen[slot] = (start, end)
    return chosen


def events() -> st.SearchStrategy[list[CampaignEvent]]:
    """Of few campaigns, many at the same instant; no two different events of a campaign have one version."""
    made = st.builds(
        CampaignEvent,
        event_id=st.sampled_from("abc"),
        campaign_id=st.sampled_from(("c1", "c2", "c#3")),
        partner_id=st.sampled_from(PARTNERS),
        areas=st.one_of(
            st.just(("*",)), st.lists(st.sampled_from(DISTRICTS), min_size=1, max_size=3, unique=True).map(tuple)
        ),
        score=st.sampled_from((1.1, 2.5, 3.0)),
        days_of_week=st.one_of(st.just(frozenset(DAYS)), st.frozensets(st.sampled_from(DAYS), min_size=1, max_size=3)),
        time_slots=st.frozensets(st.sampled_from(SLOTS), min_size=1, max_size=2),
        status=st.sampled_from(("ACTIVE", "ACTIVE", "ACTIVE", "ENDED")),
        updated_at=st.integers(0, 4).map(lambda minute: datetime(2026, 8, 1, 0, minute, tzinfo=UTC)),
    )
    return st.lists(made, max_size=10, unique_by=lambda event: (event.partner_id, event.campaign_id, event.version))


def instants() -> st.SearchStrategy[datetime]:
    near = st.tuples(st.sampled_from(CHANGES), st.integers(-36 * 60, 36 * 60)).map(
        lambda chosen: chosen[0] + chosen[1] * MINUTE
    )
    any_minute = st.integers(0, 365 * 24 * 60).map(lambda minute: datetime(2026, 1, 1, tzinfo=UTC) + minute * MINUTE)
    return st.one_of(near, any_minute)


@st.composite
def deliveries(draw: st.DrawFn) -> list[list[CampaignEvent]]:
    """The events in some order, some of them again, in batches."""
    once = draw(events())
    again = draw(st.lists(st.sampled_from(once), max_size=4)) if once else []
    order = draw(st.permutations([*once, *again]))
    cuts = sorted(draw(st.sets(st.integers(1, len(order) - 1), max_size=3))) if len(order) > 1 else []
    return [order[start:end] for start, end in zip([0, *cuts], [*cuts, len(order)], strict=True)]


async def answers(
    settings: Settings, batches: Sequence[Sequence[CampaignEvent]], asked: Sequence[tuple[str, datetime]], racing: bool
) -> list[list[Boost]]:
    async with sk.async_connect("memory:", tables=TABLES[settings.design]) as session:
        service = BoostsService(session, settings, ManualClock(NOW))
        await service.start()
        market = service.market("xx")
        await service.design.set_delivery_areas(market, dict.fromkeys(PARTNERS, DISTRICTS))
        if racing:
            await asyncio.gather(*(service.apply("xx", batch) for batch in batches))
        else:
            for batch in batches:
                await service.apply("xx", batch)
        return [await service.lookup("xx", district, PARTNERS, at) for district, at in asked]


@pytest.mark.slow
@given(
    batches=deliveries(),
    asked=st.lists(st.tuples(st.sampled_from(DISTRICTS), instants()), min_size=1, max_size=4),
    zone=st.sampled_from(ZONES),
    chosen=hours(),
    racing=st.booleans(),
)
def test_all_designs_answer_as_the_newest_events_say(
    batches: list[list[CampaignEvent]], asked: list[tuple[str, datetime]], zone: str, chosen: Hours, racing: bool
) -> None:
    oracle = Oracle(zone, chosen)
    for batch in batches:
        for event in batch:
            oracle.take(event)
    expected = [oracle.lookup(district, PARTNERS, at) for district, at in asked]
    for design in TABLES:
        settings = Settings(design=design, tenants={"xx": TenantSettings("zoned", zone, dict(chosen))})
        assert asyncio.run(answers(settings, batches, asked, racing)) == expected, design
