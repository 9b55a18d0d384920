"""The market of the boosts benchmarks: every partner is boosted everywhere, all day, all week."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Final

import msgspec

from sortkey.model.sessions.async_session import AsyncSession
from sortkey_services.boosts.event import DAYS, CampaignEvent, Slot
from sortkey_services.boosts.service import BoostsService
from sortkey_services.boosts.tenants import DesignName, Settings, TenantSettings

TENANT: Final = "tr"
DISTRICT: Final = "IST-07"
DELIVERY: Final = tuple(f"IST-{number:02}" for number in range(1, 16))
"""Fifteen districts; each partner delivers to all of them."""
PAGE: Final = 50
AT: Final = datetime(2026, 8, 24, 9, 30, tzinfo=UTC)
"""Monday at lunch, in Istanbul."""
FOUR_SLOTS: Final[frozenset[Slot]] = frozenset({"breakfast", "lunch", "dinner", "late-night"})
FIRST_PARTNER: Final = 20_100_000


def event(partner: int, slots: frozenset[Slot] = frozenset({"all-day"})) -> CampaignEvent:
    return CampaignEvent(
        event_id=f"event-{partner}",
        campaign_id=f"campaign-{partner}",
        partner_id=str(partner),
        areas=("*",),
        score=1.8,
        days_of_week=frozenset(DAYS),
        time_slots=slots,
        status="ACTIVE",
        updated_at=datetime(2026, 8, 1, tzinfo=UTC),
    )


def service(session: AsyncSession, design: DesignName) -> BoostsService:
    settings = Settings(design=design, tenants={TENANT: TenantSettings("wildcard", "Europe/Istanbul")})
    return BoostsService(session, settings)


async def load(boosts: BoostsService, partners: int) -> None:
    await boosts.start()
    market = boosts.market(TENANT)
    events = [event(FIRST_PARTNER + number) for number in range(partners)]
    await boosts.design.set_delivery_areas(market, {each.partner_id: DELIVERY for each in events})
    async for _ in boosts.design.load(market, events):
        pass


def pages(partners: int, seed: int) -> Iterator[tuple[str, ...]]:
    """Yields search results endlessly."""
    draw = Random(seed)
    while True:
        yield tuple(str(FIRST_PARTNER + number) for number in draw.sample(range(partners), PAGE))


def body(partners: Sequence[str]) -> bytes:
    """A lookup over HTTP."""
    return msgspec.json.encode({"district": DISTRICT, "partnerIds": partners, "at": AT})
