"""The boosts service, called by HTTP and feeds, with one of three designs; its routes, and their bodies and answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import msgspec
from litestar import get, post
from litestar.params import FromPath, JSONBody
from litestar.types import ControllerRouterHandler
from msgspec import Meta

import sortkey as sk
from sortkey.clock import Clock, SystemClock
from sortkey_services.boosts import demo
from sortkey_services.boosts.comparison import Comparison, MakeDesign, compare
from sortkey_services.boosts.design import Boost, CampaignInArea, Design, EventResult, LookupQuery
from sortkey_services.boosts.event import (
    MAX_ID_BYTES,
    CampaignEvent,
    Events,
    check_events,
    errors_in_area,
    errors_in_name,
    read_message,
)
from sortkey_services.boosts.moving import TO_MANIFEST, TO_V2, Moving
from sortkey_services.boosts.tenants import DaySlots, DesignName, Market, Settings, markets_of
from sortkey_services.boosts.v1 import V1
from sortkey_services.boosts.v2 import V2, Manifest

MAX_PARTNERS: Final = 1000

DESIGNS: Final[Mapping[DesignName, MakeDesign]] = {"v2": V2, "v1": V1, "manifest": Manifest}
TABLES: Final[Mapping[DesignName, Sequence[type[sk.Item]]]] = {
    "v2": V2.tables,
    "v1": V1.tables,
    "manifest": Manifest.tables,
}


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


class BoostsService:
    name = "boosts"

    def __init__(self, session: sk.AsyncSession, settings: Settings, clock: Clock | None = None) -> None:
        self._session = session
        self._clock = clock or SystemClock()
        self._markets = markets_of(settings)
        self._ahead = sk.services.AheadLimit(self._clock, settings.max_ahead_seconds)
        self._moving = None if settings.moving_to is None else Moving(session, self._clock, settings)
        self.design: Design = self._moving or DESIGNS[settings.design](session, self._clock)
        self.feeds: Sequence[sk.feeds.ChangeFeed[Any]] = (
            () if self._moving is None else sk.feeds.rekey_feeds(self._moving.rekey, session)
        )

    async def start(self) -> None:
        for rekey in (TO_V2, TO_MANIFEST):
            await rekey.enable_streams(self._session)
        if self._moving is not None:
            await self._moving.rekey.create_tables(self._session)
        await self._session.create_tables(*self.design.tables)

    def maintenance(self) -> AbstractAsyncContextManager[object]:
        """Shadow reads end with the server."""
        return nullcontext() if self._moving is None else self._moving.reader

    families = sk.patterns.RekeyReader.families

    async def samples(self) -> dict[str, float]:
        return {} if self._moving is None else self._moving.reader.samples()

    async def load_demo(self, progress: sk.services.Progress) -> None:
        """Loads those of the demo's markets that are configured."""
        examples = [event for event in demo.EXAMPLE_EVENTS if event.tenant in self._markets]
        if not examples or await self._has(examples[-1]):
            return
        markets = [(region, list(demo.events_of(region))) for region in demo.REGIONS if region.tenant in self._markets]
        total = sum(len(events) for _, events in markets) + len(examples)
        before = 0
        for region, events in markets:
            market = self.market(region.tenant)
            partners = dict.fromkeys(event.partner_id for event in events)
            await self.design.set_delivery_areas(
                market, {each: demo.delivery_areas(region, int(each)) for each in partners}
            )
            async for done in self.design.load(market, events):
                progress(before + done, total)
            before += len(events)
        for event in examples:
            market = self.market(event.tenant or "")
            await self.design.set_delivery_areas(market, {event.partner_id: demo.EXAMPLE_AREAS})
            # One by one: if the last one is stored, all are.
            await self.design.apply(market, [event])
        progress(total, total)

    async def run_demo(self) -> None:
        """Campaigns change rarely, so nothing happens."""

    async def _has(self, event: CampaignEvent) -> bool:
        known = await self.campaigns_of(event.tenant or "", event.partner_id)
        return any(found.campaign_id == event.campaign_id for found in known)

    def market(self, tenant: str) -> Market:
        market = self._markets.get(tenant)
        if market is None:
            raise sk.services.NotFound(
                f"there is no tenant {tenant!r}; the tenants are {', '.join(sorted(self._markets))}"
            )
        return market

    async def lookup(
        self, tenant: str, district: str | None, partners: Sequence[str], at: datetime | None = None
    ) -> list[Boost]:
        """The partners that are boosted at an instant, by default now: in the order given, each once."""
        market = self.market(tenant)
        return await self.design.lookup(market, LookupQuery(district, partners, self._day_slots(market, at)))

    def _day_slots(self, market: Market, at: datetime | None) -> DaySlots:
        instant = datetime.fromtimestamp(self._clock.now(), UTC) if at is None else at
        try:
            return market.timetable.day_slots(instant)
        except OverflowError:
            raise sk.services.BadRequest("at: out of range") from None

    async def compare(self, tenant: str, asked: LookupRequest) -> Comparison:
        """What each design would read for a lookup. Reads all campaigns of the market."""
        market = self.market(tenant)
        if asked.district is None:
            raise sk.services.BadRequest("district: required, since the manifest has rows for areas alone")
        for error in errors_in_area("district", asked.district):
            raise sk.services.BadRequest(error)
        query = LookupQuery(asked.district, asked.partner_ids, self._day_slots(market, asked.at))
        campaigns = [each async for each in self.design.all_campaigns(market)]
        # Loading takes a while; other requests go on meanwhile.
        return await asyncio.to_thread(asyncio.run, compare(DESIGNS, market, campaigns, query, self._clock))

    async def campaigns_of(self, tenant: str, partner: str) -> list[CampaignInArea]:
        """All campaigns of a partner."""
        return await self.design.campaigns_of(self.market(tenant), partner)

    async def apply(self, tenant: str, events: Sequence[CampaignEvent]) -> list[EventResult]:
        """Applies events. Raises BadRequest, and applies none, if the market rejects one, or its time is too far
        ahead."""
        market = self.market(tenant)
        rejected = [
            f"[{index}].{error}" if len(events) > 1 else error
            for index, event in enumerate(events)
            if (error := self._error(market, event)) is not None
        ]
        if rejected:
            raise sk.services.BadRequest(rejected[0], rejected)
        return await self.design.apply(market, events)

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
        """Raises BadRequest before any event is applied: for invalid events, and for a partner with too many campaigns.
        Only if others add campaigns of the same partner meanwhile, it is raised after the others are applied."""
        events = await check_events(given, tenant)
        rejected = await self.design.rejections(self.market(tenant), events)
        if rejected:
            raise sk.services.BadRequest(f"none of the {len(events)} events was applied: {rejected[0]}", rejected)
        results = await self.apply(tenant, events)
        late = [result.error for result in results if result.error is not None]
        if late:
            raise sk.services.BadRequest(
                f"{len(events) - len(late)} of {len(events)} events were applied: {late[0]}", late
            )
        stale = sum(result.stale for result in results)
        return EventsAnswer(applied=len(events) - stale, stale=stale)

    async def consume(self, messages: Sequence[sk.feeds.Message]) -> list[sk.feeds.Rejected]:
        rejected: dict[int, sk.feeds.Rejected] = {}
        newest: dict[tuple[str, str, str], tuple[int, CampaignEvent]] = {}
        for index, message in enumerate(messages):
            try:
                tenant, event = self._read(message)
            except (sk.services.BadRequest, sk.services.NotFound) as error:
                rejected[index] = sk.feeds.Rejected(message, str(error))
                continue
            campaign = (tenant, event.partner_id, event.campaign_id)
            # Only the newest event of a campaign has an effect; of equal ones, the first.
            if campaign not in newest or newest[campaign][1].version < event.version:
                newest[campaign] = (index, event)
        for tenant in dict.fromkeys(tenant for tenant, _, _ in newest):
            indexed = [kept for (of, _, _), kept in newest.items() if of == tenant]
            results = await self.design.apply(self.market(tenant), [event for _, event in indexed])
            for (index, _), result in zip(indexed, results, strict=True):
                if result.error is not None:
                    rejected[index] = sk.feeds.Rejected(messages[index], result.error)
        return [rejected[index] for index in sorted(rejected)]

    def _read(self, message: sk.feeds.Message) -> tuple[str, CampaignEvent]:
        event = read_message(message.value)
        market = self.market(event.tenant or "")
        error = self._error(market, event)
        if error is not None:
            raise sk.services.BadRequest(error)
        return market.tenant, event

    def _error(self, market: Market, event: CampaignEvent) -> str | None:
        ahead = self._ahead.error(event.updated_at)
        return market.error(event) if ahead is None else f"{ahead}; event {event.event_id!r}"

    @property
    def routes(self) -> Sequence[ControllerRouterHandler]:
        @post(
            "/boosts/{tenant:str}/lookup",
            status_code=200,
            opt={"fast": True, "scope": "read"},
            summary="Which of these partners are boosted, here and now",
        )
        async def lookup(tenant: FromPath[str], data: JSONBody[LookupRequest]) -> LookupAnswer:
            """Only boosted partners, in the order of the request. A campaign of the district wins over one that runs
            everywhere, then the higher score wins."""
            return LookupAnswer(await self.answer_lookup(tenant, data))

        @post(
            "/boosts/{tenant:str}/campaigns",
            status_code=202,
            opt={"fast": True},
            summary="Create, change or end campaigns",
        )
        async def campaigns(tenant: FromPath[str], data: JSONBody[CampaignEvent | Events]) -> EventsAnswer:
            """One event or a list. If one event of a list is invalid, none is applied. Older and repeated events are
            stale and change nothing."""
            return await self.apply_events(tenant, data)

        @get("/boosts/{tenant:str}/partners/{partner_id:str}", summary="All campaigns of a partner")
        async def partner(tenant: FromPath[str], partner_id: FromPath[str]) -> PartnerAnswer:
            """One for each campaign and area. Ended campaigns are listed for 30 days."""
            invalid = any(errors_in_name("partnerId", partner_id, MAX_ID_BYTES))
            found = [] if invalid else await self.campaigns_of(tenant, partner_id)
            if not found:
                raise sk.services.NotFound(f"the partner {partner_id!r} has no campaign in {tenant}")
            return PartnerAnswer(partner_id, found)

        return [lookup, campaigns, partner]

    @property
    def console_routes(self) -> Sequence[ControllerRouterHandler]:
        @post("/boosts/{tenant:str}/lookup/designs", status_code=200, opt={"scope": "read"})
        async def designs(tenant: FromPath[str], data: JSONBody[LookupRequest]) -> Comparison:
            """What each design would read for a lookup."""
            return await self.compare(tenant, data)

        return [designs]
