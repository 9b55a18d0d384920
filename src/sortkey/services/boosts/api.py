"""The service over HTTP: its routes, and the shapes of their bodies and answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final

import msgspec
from litestar import get, post
from litestar.params import FromPath, JSONBody
from litestar.types import ControllerRouterHandler
from msgspec import Meta

import sortkey as sk
from sortkey.services.boosts.designs.design import Boost, Placement
from sortkey.services.boosts.event import LONGEST_ID, CampaignEvent, Events, checked, errors_in_area, errors_in_name
from sortkey.services.boosts.service import Boosts

MOST_PARTNERS: Final = 1000


class LookupRequest(msgspec.Struct, frozen=True, rename="camel"):
    partner_ids: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=64)], ...], Meta(min_length=1, max_length=MOST_PARTNERS)
    ]
    district: Annotated[str, Meta(min_length=1, max_length=32)] | None = None
    """The area of the search; a market whose campaigns all run everywhere needs none."""
    at: Annotated[datetime, Meta(tz=True)] | None = None
    """The instant; now, if it is left out."""


class LookupAnswer(msgspec.Struct, frozen=True):
    boosts: list[Boost]


class EventsAnswer(msgspec.Struct, frozen=True):
    applied: int
    stale: int


class PartnerAnswer(msgspec.Struct, frozen=True, rename="camel"):
    partner_id: str
    campaigns: list[Placement]


class BoostsService(Boosts):
    """The service as the server has it."""

    @property
    def routes(self) -> Sequence[ControllerRouterHandler]:
        boosts = self

        @post(
            "/boosts/{tenant:str}/lookup",
            status_code=200,
            opt={"fast": True, "scope": "read"},
            summary="Which of these partners are boosted, here and now",
        )
        async def lookup(tenant: FromPath[str], data: JSONBody[LookupRequest]) -> LookupAnswer:
            """Only those that are, in the order asked. A campaign of the district wins over one that runs everywhere,
            then the best score."""
            return LookupAnswer(await boosts.answer(tenant, data))

        @post(
            "/boosts/{tenant:str}/campaigns",
            status_code=202,
            opt={"fast": True},
            summary="Create, change or end campaigns",
        )
        async def campaigns(tenant: FromPath[str], data: JSONBody[CampaignEvent | Events]) -> EventsAnswer:
            """One event or a list, which is taken as a whole or not at all. Older and repeated events are stale and
            change nothing."""
            return await boosts.take(tenant, data)

        @get("/boosts/{tenant:str}/partners/{partner_id:str}", summary="All campaigns of a partner")
        async def partner(tenant: FromPath[str], partner_id: FromPath[str]) -> PartnerAnswer:
            """One for each campaign and area, ended ones as long as they are remembered."""
            impossible = any(errors_in_name("partnerId", partner_id, LONGEST_ID))
            found = [] if impossible else await boosts.campaigns_of(tenant, partner_id)
            if not found:
                raise sk.NotFound(f"the partner {partner_id!r} has no campaign in {tenant}")
            return PartnerAnswer(partner_id, found)

        return [lookup, campaigns, partner]

    async def answer(self, tenant: str, asked: LookupRequest) -> list[Boost]:
        """Raises BadRequest for a district that is none."""
        if asked.district is None:
            if not self.market(tenant).wildcard:
                raise sk.BadRequest(f"district: it is missing, and {tenant} is a zoned market")
        else:
            for error in errors_in_area("district", asked.district):
                raise sk.BadRequest(error)
        return await self.lookup(tenant, asked.district, asked.partner_ids, asked.at)

    async def take(self, tenant: str, given: CampaignEvent | Sequence[CampaignEvent]) -> EventsAnswer:
        """Raises BadRequest; if a partner has too many campaigns, after all other events have been applied."""
        events = checked(given, tenant)
        outcomes = await self.apply(tenant, events)
        rejected = [outcome.error for outcome in outcomes if outcome.error is not None]
        if rejected:
            raise sk.BadRequest(
                f"{len(events) - len(rejected)} of {len(events)} events were taken: {rejected[0]}", rejected
            )
        stale = sum(outcome.stale for outcome in outcomes)
        return EventsAnswer(applied=len(events) - stale, stale=stale)
