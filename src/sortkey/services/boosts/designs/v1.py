"""The first design: lists of partners, sorted by when they are boosted.

    key   {tenant}#{area}  {day}#{slot}#{shard}

A document lists up to a thousand partners; a slot that has more has further shards. An event is written to the lists
of every day and slot in every area, each read, changed and put back under its version. A lookup reads all lists of the
slots that are on, and throws away whom it was not asked for. That is fine where an area has fifty partners. It is kept
to be measured: see docs/boosts.md.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Annotated, Final, Literal

import msgspec

import sortkey as sk
from sortkey.services.boosts.designs.design import Applied, Boost, Placement, Question, Rank, boosts_of, placements
from sortkey.services.boosts.event import ENDED, EVERYWHERE, CampaignEvent
from sortkey.services.boosts.model import RETENTION_SECONDS
from sortkey.services.boosts.parallel import in_parallel
from sortkey.services.boosts.tenants import Market

PARTNERS_PER_SHARD: Final = 1000
MOST_LISTS: Final = 5000
"""Of one campaign; its record names them all, and has to stay below DynamoDB's 400 KB."""
REQUESTS_AT_ONCE: Final = 16

LISTS: Final = sk.Table("boosts_v1")
RECORDS: Final = sk.Table("boosts_v1_campaigns", ttl="expires")


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """A partner in a list, with the campaign that put it there."""

    partner: str
    campaign: str
    score: Annotated[float, sk.inexact]
    version: str
    until: int | None = None
    """When one that is over may be forgotten; until then it keeps older events out."""


class Shard(sk.Item, table=LISTS):
    tenant: str
    area: str
    day: str
    slot: str
    shard: int
    revision: int = 0
    listings: list[Listing] = sk.field(default_factory=list)

    key = sk.Key("{tenant}#{area}", "{day}#{slot}#{shard:04}")


class CampaignRecord(sk.Item, table=RECORDS):
    """What makes events idempotent, and finds the lists that a campaign is to leave."""

    tenant: str
    partner: str
    campaign: str
    version: str
    score: Annotated[float, sk.inexact]
    days: frozenset[str]
    slots: frozenset[str]
    status: Literal["ACTIVE", "ENDED"]
    areas: list[str]
    lists: set[str] = sk.field(default_factory=set)
    revision: int = 0
    expires: int | None = None

    key = sk.Key("{tenant}#{partner}", "{campaign}")

    @property
    def wanted(self) -> set[str]:
        """The lists that it belongs into."""
        if self.status == ENDED:
            return set()
        return {"#".join(each) for each in product(self.areas, self.days, self.slots)}


class V1:
    tables = (Shard, CampaignRecord)

    def __init__(self, session: sk.AsyncSession, now: Callable[[], float]) -> None:
        self._session = session
        self._now = now

    # Writing

    async def apply(self, market: Market, events: Sequence[CampaignEvent]) -> list[Applied]:
        # One after the other: all of them write the same lists, and would only get in each other's way.
        return [await self._apply(market, event) for event in events]

    async def _apply(self, market: Market, event: CampaignEvent) -> Applied:
        count = len(_record(market, event).wanted)
        if count > MOST_LISTS:
            return Applied(
                error=f"campaign {event.campaign_id} would be in {count:,} lists; {MOST_LISTS:,} is the limit"
            )
        written, record = await self._write_record(market, event)
        if written or record.version == event.version:
            # An equal version came before, and may not have got further than the record: the rest is done again.
            await self._settle(market, record)
        return Applied(stale=not written)

    async def _write_record(self, market: Market, event: CampaignEvent) -> tuple[bool, CampaignRecord]:
        record = _record(market, event)
        while True:
            known = await self._session.get(record.key, consistent=True)
            if known is not None and known.version >= record.version:
                return False, known
            lists = record.wanted | (set() if known is None else known.lists)
            newer = sk.replace(record, lists=lists, revision=0 if known is None else known.revision)
            if await self._replaced(newer):
                return True, newer

    async def _settle(self, market: Market, record: CampaignRecord) -> None:
        """Bring all lists to the record, and forget those that the campaign has left."""
        wanted, until = record.wanted, int(self._now()) + RETENTION_SECONDS

        async def enlist(name: str) -> None:
            listing = Listing(
                partner=record.partner,
                campaign=record.campaign,
                score=record.score,
                version=record.version,
                until=None if name in wanted else until,
            )
            await self._enlist(market, name, listing)

        await in_parallel(enlist, sorted(record.lists), REQUESTS_AT_ONCE)
        expires = None if wanted else until
        if record.lists != wanted or (record.expires is None) != (expires is None):
            await self._replaced(sk.replace(record, lists=wanted, expires=expires))

    async def _enlist(self, market: Market, name: str, listing: Listing) -> None:
        """Read, change, put back, and begin anew if somebody else was faster."""
        while True:
            shards = await self._shards(market, name)
            shard = next((each for each in shards if _listed(each, listing) is not None), None)
            known = None if shard is None else _listed(shard, listing)
            if known is not None and known.version >= listing.version:
                return
            if shard is None:
                shard = next((each for each in shards if len(each.listings) < PARTNERS_PER_SHARD), None)
            if shard is None:
                shard = _shard(market, name, len(shards) + 1)
            if await self._replaced(sk.replace(shard, listings=self._with(shard.listings, listing))):
                return

    def _with(self, listings: Iterable[Listing], new: Listing) -> list[Listing]:
        """The list with a new entry instead of the campaign's old one, and without what need not be remembered."""
        now = self._now()
        kept = [each for each in listings if each.until is None or each.until > now]
        return [*(each for each in kept if (each.partner, each.campaign) != (new.partner, new.campaign)), new]

    async def _replaced(self, item: Shard | CampaignRecord) -> bool:
        """Whether it was still as it was read."""
        try:
            return await self._session.put(item, if_version="revision")
        except sk.ConditionFailed:
            return False

    async def load(self, market: Market, events: Sequence[CampaignEvent]) -> AsyncIterator[int]:
        records = [_record(market, event) for event in events]
        lists: dict[str, list[Listing]] = {}
        for record in records:
            listing = Listing(
                partner=record.partner, campaign=record.campaign, score=record.score, version=record.version
            )
            for name in record.wanted:
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
        await self._session.batch(put=(sk.replace(each, lists=each.wanted, revision=1) for each in records))
        yield len(events)

    async def deliver(self, market: Market, areas: Mapping[str, Sequence[str]]) -> None:
        """Where they deliver is not asked."""

    # Reading

    async def lookup(self, market: Market, question: Question) -> list[Boost]:
        areas = {question.district or EVERYWHERE, EVERYWHERE}
        names = ["#".join((area, *opening)) for area in sorted(areas) for opening in question.openings]

        async def read(name: str) -> list[Shard]:
            return await self._shards(market, name, consistent=False)

        asked = set(question.partners)
        best: dict[str, Rank] = {}
        for shard in (shard for shards in await in_parallel(read, names, REQUESTS_AT_ONCE) for shard in shards):
            everywhere = shard.area == EVERYWHERE
            for each in shard.listings:
                if each.partner in asked and each.until is None:
                    found = (everywhere, -each.score, each.campaign)
                    best[each.partner] = min(found, best.get(each.partner, found))
        return boosts_of(question, best)

    async def _shards(self, market: Market, name: str, *, consistent: bool = True) -> list[Shard]:
        area, day, slot = name.split("#")
        path = Shard.key(tenant=market.tenant, area=area, day=day, slot=slot)
        return [shard async for shard in self._session.iterate(path, consistent=consistent)]

    async def campaigns_of(self, market: Market, partner: str) -> list[Placement]:
        path = CampaignRecord.key(tenant=market.tenant, partner=partner)
        return [
            placement
            async for each in self._session.iterate(path, consistent=True)
            for placement in placements(
                each.campaign, each.areas, each.score, each.days, each.slots, each.status, each.version
            )
        ]


def _record(market: Market, event: CampaignEvent) -> CampaignRecord:
    return CampaignRecord(
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


def _shard(market: Market, name: str, number: int) -> Shard:
    area, day, slot = name.split("#")
    return Shard(tenant=market.tenant, area=area, day=day, slot=slot, shard=number)


def _listed(shard: Shard, listing: Listing) -> Listing | None:
    same = (listing.partner, listing.campaign)
    return next((each for each in shard.listings if (each.partner, each.campaign) == same), None)
