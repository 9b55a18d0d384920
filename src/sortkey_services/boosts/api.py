"""The HTTP API: the routes, and the types of their bodies and answers."""

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
from sortkey_services.boosts.designs.design import Boost, CampaignInArea
from sortkey_services.boosts.event import (
    MAX_ID_BYTES,
    CampaignEvent,
    Events,
    check_events,
    errors_in_area,
    errors_in_name,
)
from sortkey_services.boosts.service import Boosts

MAX_PARTNERS: Final = 1000


class LookupRequest(msgspec.Struct, frozen=True, rename="camel"):
    partner_ids: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=64)], ...], Meta(min_length=1, max_length=MAX_PARTNERS)
    ]
    district: Annotated[str, Meta(min_length=1, max_length=32)] | None = None
    """The area of the search; optional in a wildcard market."""
    at: Annotated[datetime, Meta(tz=True)] | None = None
    """The instant; the current time by default."""


class LookupAnswer(msgspec.Struct, frozen=True):
    boosts: list[Boost]


class EventsAnswer(msgspec.Struct, frozen=True):
    applied: int
    stale: int


class PartnerAnswer(msgspec.Struct, frozen=True, rename="camel"):
    partner_id: str
    campaigns: list[CampaignInArea]


class BoostsService(Boosts):
    """The service with its routes."""

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
            """Only boosted partners, in the order of the request. A campaign of the district wins over one that runs
            everywhere, then the higher score wins."""
            return LookupAnswer(await boosts.answer_lookup(tenant, data))

        @post(
            "/boosts/{tenant:str}/campaigns",
            status_code=202,
            opt={"fast": True},
            summary="Create, change or end campaigns",
        )
        async def campaigns(tenant: FromPath[str], data: JSONBody[CampaignEvent | Events]) -> EventsAnswer:
            """One event or a list. If one event of a list is invalid, none is applied. Older and repeated events are
            stale and change nothing."""
            return await boosts.apply_events(tenant, data)

        @get("/boosts/{tenant:str}/partners/{partner_id:str}", summary="All campaigns of a partner")
        async def partner(tenant: FromPath[str], partner_id: FromPath[str]) -> PartnerAnswer:
            """One for each campaign and area. Ended campaigns are listed for 30 days."""
            invalid = any(errors_in_name("partnerId", partner_id, MAX_ID_BYTES))
            found = [] if invalid else await boosts.campaigns_of(tenant, partner_id)
            if not found:
                raise sk.services.NotFound(f"the partner {partner_id!r} has no campaign in {tenant}")
            return PartnerAnswer(partner_id, found)

        return [lookup, campaigns, partner]

    async def answer_lookup(self, tenant: str, asked: LookupRequest) -> list[Boost]:
        """Raises BadRequest for a missing or invalid district."""
        if asked.district is None:
            if not self.market(tenant).wildcard:
                raise sk.services.BadRequest(f"district: required, since {tenant} is a zoned market")
        else:
            for error in errors_in_area("district", asked.district):
                raise sk.services.BadRequest(error)
        return await self.lookup(tenant, asked.district, asked.partner_ids, asked.at)

    async def apply_events(self, tenant: str, given: CampaignEvent | Sequence[CampaignEvent]) -> EventsAnswer:
        """Raises BadRequest: for invalid events before any is applied, for a partner with too many campaigns after all
        others are applied."""
        events = check_events(given, tenant)
        results = await self.apply(tenant, events)
        rejected = [result.error for result in results if result.error is not None]
        if rejected:
            raise sk.services.BadRequest(
                f"{len(events) - len(rejected)} of {len(events)} events were applied: {rejected[0]}", rejected
            )
        stale = sum(result.stale for result in results)
        return EventsAnswer(applied=len(events) - stale, stale=stale)
