"""What the service asks of a design, and what it gets back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

import msgspec

import sortkey as sk
from sortkey.services.boosts.event import EVERYWHERE, CampaignEvent
from sortkey.services.boosts.schedule import DAYS, SLOTS, Opening
from sortkey.services.boosts.tenants import Market


class Boost(msgspec.Struct, frozen=True, rename="camel"):
    """A partner that is boosted now."""

    partner_id: str
    score: float
    campaign_id: str
    area: str
    """The area whose row won: the one asked for, or `*`."""


class Placement(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A campaign of a partner in one area."""

    campaign_id: str
    area: str
    score: float
    days_of_week: tuple[str, ...]
    time_slots: tuple[str, ...]
    status: Literal["ACTIVE", "ENDED"]
    updated_at: str
    event_id: str


class Question(NamedTuple):
    """A lookup: which of these partners are boosted in this district, in the slots that are on."""

    district: str | None
    partners: Sequence[str]
    openings: tuple[Opening, ...]


Rank = tuple[bool, float, str]
"""A campaign that runs: whether everywhere, its score with the sign turned, its id. The least one wins: one of the
district before any that runs everywhere, then the best score, then the first id."""


def boosts_of(question: Question, best: dict[str, Rank]) -> list[Boost]:
    """The answer, from the winner of each partner that has one; it takes them out of `best`, so each comes once."""
    district = question.district or EVERYWHERE
    boosts = []
    for partner in question.partners:
        winner = best.pop(partner, None)
        if winner is not None:
            everywhere, score, campaign_id = winner
            boosts.append(Boost(partner, -score, campaign_id, EVERYWHERE if everywhere else district))
    return boosts


class Applied(NamedTuple):
    """What became of an event."""

    stale: bool = False
    error: str | None = None
    """Why the store cannot take it."""


class Design(Protocol):
    @property
    def tables(self) -> Sequence[type[sk.Item]]: ...

    async def apply(self, market: Market, events: Sequence[CampaignEvent]) -> list[Applied]:
        """What became of each event; those of one partner are applied in their order."""
        ...

    def load(self, market: Market, events: Sequence[CampaignEvent]) -> AsyncIterator[int]:
        """Write all campaigns of a market that has none, fast; tells now and then how many events are done."""
        ...

    async def deliver(self, market: Market, areas: Mapping[str, Sequence[str]]) -> None:
        """Be told where partners deliver, before their campaigns come; not every design cares."""
        ...

    async def lookup(self, market: Market, question: Question) -> list[Boost]:
        """The boosted ones, in the order of the question."""
        ...

    async def campaigns_of(self, market: Market, partner: str) -> list[Placement]:
        """All campaigns of a partner, ended ones as long as they are remembered, by campaign and area."""
        ...


def placements(
    campaign_id: str,
    areas: Sequence[str],
    score: float,
    days: frozenset[str],
    slots: frozenset[str],
    status: Literal["ACTIVE", "ENDED"],
    version: str,
) -> list[Placement]:
    updated_at, _, event_id = version.partition("#")
    return [
        Placement(
            campaign_id=campaign_id,
            area=area,
            score=score,
            days_of_week=tuple(day for day in DAYS if day in days),
            time_slots=tuple(slot for slot in SLOTS if slot in slots),
            status=status,
            updated_at=updated_at,
            event_id=event_id,
        )
        for area in sorted(areas)
    ]
