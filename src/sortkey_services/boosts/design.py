"""The interface of a design, and the types of its answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

import msgspec

import sortkey as sk
from sortkey_services.boosts.event import DAYS, EVERYWHERE, SLOTS, CampaignEvent, Day, Slot
from sortkey_services.boosts.tenants import DaySlots, Market


class Boost(msgspec.Struct, frozen=True, rename="camel"):
    """A boosted partner."""

    partner_id: str
    score: float
    campaign_id: str
    area: str
    """The area of the winning campaign: the district of the lookup, or `*`."""


class CampaignInArea(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A campaign of a partner in one area."""

    campaign_id: str
    area: str
    score: float
    days_of_week: tuple[str, ...]
    time_slots: tuple[str, ...]
    status: Literal["ACTIVE", "ENDED"]
    updated_at: str
    event_id: str


class LookupQuery(NamedTuple):
    """Which of these partners are boosted in this district, in one of these day slots?"""

    district: str | None
    partners: Sequence[str]
    day_slots: DaySlots


Rank = tuple[bool, float, str]
"""A running campaign: whether it runs everywhere, its negated score, its id. The smallest wins: a campaign of the
district before one that runs everywhere, then the highest score, then the smallest id."""


def boosts_of(query: LookupQuery, best: dict[str, Rank]) -> list[Boost]:
    """The answer, from the winning campaign of each partner. Removes the winners from `best`, so each comes once."""
    district = query.district or EVERYWHERE
    boosts = []
    for partner in query.partners:
        winner = best.pop(partner, None)
        if winner is not None:
            everywhere, score, campaign_id = winner
            boosts.append(Boost(partner, -score, campaign_id, EVERYWHERE if everywhere else district))
    return boosts


class RowRead(NamedTuple):
    """A row that a lookup reads, and the partners in it."""

    key: str
    partners: Sequence[str]


class EventResult(NamedTuple):
    """What an event did."""

    stale: bool = False
    error: str | None = None
    """Why it was rejected."""


class Design(Protocol):
    @property
    def tables(self) -> Sequence[type[sk.Item]]: ...

    async def rejections(self, market: Market, events: Sequence[CampaignEvent]) -> list[str]:
        """Which events of a list `apply` would reject, and why, as far as that is known before any is applied."""
        ...

    async def apply(self, market: Market, events: Sequence[CampaignEvent]) -> list[EventResult]:
        """Applies events, those of one partner in order."""
        ...

    def load(self, market: Market, events: Sequence[CampaignEvent]) -> AsyncIterator[int]:
        """Bulk-loads the campaigns of an empty market; yields the number of events done, from time to time."""
        ...

    async def set_delivery_areas(self, market: Market, areas: Mapping[str, Sequence[str]]) -> None:
        """Stores where partners deliver, before their campaigns are applied; only manifest uses it."""
        ...

    async def lookup(self, market: Market, query: LookupQuery) -> list[Boost]:
        """The boosted partners, in the order of the query."""
        ...

    async def rows_read(self, market: Market, query: LookupQuery) -> list[RowRead]:
        """The rows that a lookup reads."""
        ...

    async def campaigns_of(self, market: Market, partner: str) -> list[CampaignInArea]:
        """All campaigns of a partner, sorted by campaign and area; ended ones as long as they are kept."""
        ...

    def all_campaigns(self, market: Market) -> AsyncIterator[CampaignEvent]:
        """The newest event of each campaign: another design loads the market from them."""
        ...


class CampaignFields(Protocol):
    """What the designs store of a campaign."""

    @property
    def score(self) -> float: ...
    @property
    def days(self) -> frozenset[Day]: ...
    @property
    def slots(self) -> frozenset[Slot]: ...
    @property
    def status(self) -> Literal["ACTIVE", "ENDED"]: ...
    @property
    def version(self) -> str: ...


def event_of(partner: str, campaign_id: str, areas: Sequence[str], campaign: CampaignFields) -> CampaignEvent:
    """The event that has written a campaign."""
    updated_at, _, event_id = campaign.version.partition("#")
    return CampaignEvent(
        event_id=event_id,
        campaign_id=campaign_id,
        partner_id=partner,
        areas=tuple(areas),
        score=campaign.score,
        days_of_week=campaign.days,
        time_slots=campaign.slots,
        status=campaign.status,
        updated_at=datetime.fromisoformat(updated_at),
    )


def campaigns_in_areas(campaign_id: str, areas: Sequence[str], campaign: CampaignFields) -> list[CampaignInArea]:
    updated_at, _, event_id = campaign.version.partition("#")
    return [
        CampaignInArea(
            campaign_id=campaign_id,
            area=area,
            score=campaign.score,
            days_of_week=tuple(day for day in DAYS if day in campaign.days),
            time_slots=tuple(slot for slot in SLOTS if slot in campaign.slots),
            status=campaign.status,
            updated_at=updated_at,
            event_id=event_id,
        )
        for area in sorted(areas)
    ]
