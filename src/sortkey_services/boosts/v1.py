"""The v1 design: lists of partners, by the day and slot in which they are boosted.

    key   {tenant}#{area}  {day}#{slot}#{shard}

A shard lists up to a thousand partners; a longer list has several shards. An event is written to the lists of every day
and slot in every area: each is read, changed and put back under its version. A lookup reads all lists of the current
day slots and discards the partners that it does not need. That is good enough for an area with fifty partners. The
design is kept for comparison: see docs/services/boosts.md.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from itertools import product
from typing import Annotated, Final, Literal

import msgspec

import sortkey as sk
from sortkey.clock import Clock
from sortkey_services.boosts.design import (
    Boost,
    CampaignInArea,
    EventResult,
    LookupQuery,
    Rank,
    RowRead,
    boosts_of,
    campaigns_in_areas,
    event_of,
)
from sortkey_services.boosts.event import ENDED, EVERYWHERE, CampaignEvent, Day, Slot
from sortkey_services.boosts.model import RETENTION_SECONDS
from sortkey_services.boosts.tenants import Market
from sortkey_services.concurrent_map import concurrent_map
from sortkey_services.slices import mapped

PARTNERS_PER_SHARD: Final = 1000
MAX_LISTS: Final = 5000
"""Per campaign; its row names them all and must stay below DynamoDB's 400 KB."""
CONCURRENT_REQUESTS: Final = 16

LISTS: Final = sk.Table("boosts_v1")
CAMPAIGNS: Final = sk.Table("boosts_v1_campaigns", ttl="expires", stream="KEYS_ONLY")


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """A partner in a list, with its campaign."""

    partner: str
    campaign: str
    score: Annotated[float, sk.inexact]
    version: str
    until: int | None = None
    """When the listing of an ended campaign may be deleted; until then it rejects older events."""


class Shard(sk.Item, table=LISTS):
    tenant: str
    area: str
    day: str
    slot: str
    shard: int
    revision: int = 0
    listings: list[Listing] = sk.field(default_factory=list)

    key = sk.Key("{tenant}#{area}", "{day}#{slot}#{shard:04}")


class V1Campaign(sk.Item, table=CAMPAIGNS):
    """The newest version of a campaign, which makes events idempotent, and the lists that may contain it."""

    tenant: str
    partner: str
    campaign: str
    version: str
    score: Annotated[float, sk.inexact]
    days: frozenset[Day]
    slots: frozenset[Slot]
    status: Literal["ACTIVE", "ENDED"]
    areas: list[str]
    lists: set[str] = sk.field(default_factory=set)
    revision: int = 0
    expires: int | None = None

    key = sk.Key("{tenant}#{partner}", "{campaign}")

    @property
    def wanted(self) -> set[str]:
        """The lists that the campaign belongs in."""
        if self.status == ENDED:
            return set()
        return {"#".join(each) for each in product(self.areas, self.days, self.slots)}


class V1:
    tables = (Shard, V1Campaign)

    def __init__(self, session: sk.AsyncSession, clock: Clock) -> None:
        self._session = session
        self._clock = clock

    # Writing

    async def rejections(self, market: Market, events: Sequence[CampaignEvent]) -> list[str]:
        if len(events) == 1:
            return []
        found = await mapped(lambda event: _too_many_lists(_campaign_of(market, event)), events)
        return [f"[{index}]: {error}" for index, error in enumerate(found) if error is not None]

    async def apply(self, market: Market, events: Sequence[CampaignEvent]) -> list[EventResult]:
        # One by one: they write the same lists, so concurrent writes would conflict.
        return [await self._apply(market, event) for event in events]

    async def _apply(self, market: Market, event: CampaignEvent) -> EventResult:
        error = _too_many_lists(_campaign_of(market, event))
        if error is not None:
            return EventResult(error=error)
        written, campaign = await self._write_campaign(market, event)
        if written or campaign.version == event.version:
            # A repeated event may have been interrupted after the campaign's row: write the lists again.
            await self._write_lists(market, campaign)
        return EventResult(stale=not written)

    async def _write_campaign(self, market: Market, event: CampaignEvent) -> tuple[bool, V1Campaign]:
        campaign = _campaign_of(market, event)
        while True:
            known = await self._session.get(campaign.key, consistent=True)
            if known is not None and known.version >= campaign.version:
                return False, known
            lists = campaign.wanted | (set() if known is None else known.lists)
            newer = sk.replace(campaign, lists=lists, revision=0 if known is None else known.revision)
            if await self._put_if_unchanged(newer):
                return True, newer

    async def _write_lists(self, market: Market, campaign: V1Campaign) -> None:
        """Updates all lists from the campaign, then removes those that it has left."""
        wanted, until = campaign.wanted, int(self._clock.now()) + RETENTION_SECONDS

        async def write_listing(name: str) -> None:
            listing = Listing(
                partner=campaign.partner,
                campaign=campaign.campaign,
                score=campaign.score,
                version=campaign.version,
                until=None if name in wanted else until,
            )
            await self._write_listing(market, name, listing)

        await concurrent_map(write_listing, sorted(campaign.lists), CONCURRENT_REQUESTS)
        expires = None if wanted else until
        if campaign.lists != wanted or (campaign.expires is None) != (expires is None):
            await self._put_if_unchanged(sk.replace(campaign, lists=wanted, expires=expires))

    async def _write_listing(self, market: Market, name: str, listing: Listing) -> None:
        """Reads the list, changes it and puts it back; starts again if it was changed in between."""
        while True:
            shards = await self._shards(market, name)
            shard = next((each for each in shards if _find_listing(each, listing) is not None), None)
            known = None if shard is None else _find_listing(shard, listing)
            if known is not None and known.version >= listing.version:
                return
            if shard is None:
                shard = next((each for each in shards if len(each.listings) < PARTNERS_PER_SHARD), None)
            if shard is None:
                shard = _shard(market, name, len(shards) + 1)
            if await self._put_if_unchanged(sk.replace(shard, listings=self._with_listing(shard.listings, listing))):
                return

    def _with_listing(self, listings: Iterable[Listing], new: Listing) -> list[Listing]:
        """The list with this listing in place of the campaign's old one, and without outdated ones."""
        now = self._clock.now()
        kept = [each for each in listings if each.until is None or each.until > now]
        return [*(each for each in kept if (each.partner, each.campaign) != (new.partner, new.campaign)), new]

    async def _put_if_unchanged(self, item: Shard | V1Campaign) -> bool:
        """Whether the item was put; False if it was changed since it was read."""
        try:
            return await self._session.put(item, if_version="revision")
        except sk.ConditionFailed:
            return False

    async def load(self, market: Market, events: Sequence[CampaignEvent]) -> AsyncIterator[int]:
        campaigns = await self.load_lists(market, events)
        await self._session.batch(put=(sk.replace(each, lists=each.wanted, revision=1) for each in campaigns))
        yield len(events)

    async def load_lists(self, market: Market, events: Sequence[CampaignEvent]) -> list[V1Campaign]:
        """The rows that lookups read; returns those that make events idempotent, which are not stored yet."""
        campaigns = [_campaign_of(market, event) for event in events]
        lists: dict[str, list[Listing]] = {}
        for campaign in campaigns:
            listing = Listing(
                partner=campaign.partner, campaign=campaign.campaign, score=campaign.score, version=campaign.version
            )
            for name in campaign.wanted:
                lists.setdefault(name, []).append(listing)
        for name, listings in lists.items():
            starts = range(0, len(listings), PARTNERS_PER_SHARD)
            await self._session.batch(
                put=(
                    sk.replace(
                        _shard(market, name, number), revision=1, listings=listings[start : start + PARTNERS_PER_SHARD]
                    )
                    for number, start in enumerate(starts, 1)
                )
            )
        return campaigns

    async def set_delivery_areas(self, market: Market, areas: Mapping[str, Sequence[str]]) -> None:
        """Not used."""

    # Reading

    async def lookup(self, market: Market, query: LookupQuery) -> list[Boost]:
        asked = set(query.partners)
        best: dict[str, Rank] = {}
        for shard in await self._lists(market, query):
            everywhere = shard.area == EVERYWHERE
            for each in shard.listings:
                if each.partner in asked and each.until is None:
                    found = (everywhere, -each.score, each.campaign)
                    best[each.partner] = min(found, best.get(each.partner, found))
        return boosts_of(query, best)

    async def rows_read(self, market: Market, query: LookupQuery) -> list[RowRead]:
        return [
            RowRead(
                f"{each.area} {each.day}#{each.slot}#{each.shard:04}", [listing.partner for listing in each.listings]
            )
            for each in await self._lists(market, query)
        ]

    async def _lists(self, market: Market, query: LookupQuery) -> list[Shard]:
        areas = {query.district or EVERYWHERE, EVERYWHERE}
        names = ["#".join((area, *day_slot)) for area in sorted(areas) for day_slot in query.day_slots.listed]

        async def read(name: str) -> list[Shard]:
            return await self._shards(market, name, consistent=False)

        return [shard for shards in await concurrent_map(read, names, CONCURRENT_REQUESTS) for shard in shards]

    async def _shards(self, market: Market, name: str, *, consistent: bool = True) -> list[Shard]:
        area, day, slot = name.split("#")
        path = Shard.key(tenant=market.tenant, area=area, day=day, slot=slot)
        return [shard async for shard in self._session.iterate(path, consistent=consistent)]

    async def campaigns_of(self, market: Market, partner: str) -> list[CampaignInArea]:
        path = V1Campaign.key(tenant=market.tenant, partner=partner)
        return [
            found
            async for each in self._session.iterate(path, consistent=True)
            for found in campaigns_in_areas(each.campaign, each.areas, each)
        ]

    async def all_campaigns(self, market: Market) -> AsyncIterator[CampaignEvent]:
        # Each partner is a partition, and nothing lists them.
        async for each in self._session.scan(V1Campaign):
            if each.tenant == market.tenant:
                yield event_of(each.partner, each.campaign, each.areas, each)


def _campaign_of(market: Market, event: CampaignEvent) -> V1Campaign:
    return V1Campaign(
        tenant=market.tenant,
        partner=event.partner_id,
        campaign=event.campaign_id,
        version=event.version,
        score=event.score,
        days=event.days_of_week,
        slots=event.time_slots,
        status=event.status,
        areas=sorted(set(event.areas)),
    )


def _too_many_lists(campaign: V1Campaign) -> str | None:
    count = len(campaign.wanted)
    if count <= MAX_LISTS:
        return None
    return f"campaign {campaign.campaign} would be in {count:,} lists; {MAX_LISTS:,} is the limit"


def _shard(market: Market, name: str, number: int) -> Shard:
    area, day, slot = name.split("#")
    return Shard(tenant=market.tenant, area=area, day=day, slot=slot, shard=number)


def _find_listing(shard: Shard, listing: Listing) -> Listing | None:
    same = (listing.partner, listing.campaign)
    return next((each for each in shard.listings if (each.partner, each.campaign) == same), None)
