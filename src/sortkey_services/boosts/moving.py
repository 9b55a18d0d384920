"""From v1 to another design while it is used: the re-keyings, and `Moving`, the design of a service on its way.

The old items are the rows of v1's campaigns, all those of a partner together. They have all that the rows of the other
designs need; v1's lists follow from them, too, and go at the end. For manifest, the partner's delivery areas are an
input: when they change, so do the rows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import sortkey as sk
from sortkey.clock import Clock
from sortkey_services.boosts.design import (
    Boost,
    CampaignInArea,
    Design,
    EventResult,
    LookupQuery,
    RowRead,
    event_of,
)
from sortkey_services.boosts.event import EVERYWHERE, CampaignEvent
from sortkey_services.boosts.model import (
    RETENTION_SECONDS,
    BoostRow,
    Campaign,
    PartnerRow,
    area_entry,
    campaign_area,
    main_entry,
)
from sortkey_services.boosts.tenants import Market, Settings
from sortkey_services.boosts.v1 import V1, Shard, V1Campaign
from sortkey_services.boosts.v2 import AREAS_IN_PART, V2, CampaignAreas, Delivery, Manifest, ManifestRow


def main_entry_of(campaign: V1Campaign) -> Campaign:
    """A campaign of v1 as an entry of its partner's main row."""
    event = event_of(campaign.partner, campaign.campaign, campaign.areas, campaign)
    # When it was applied, as far as its row tells: the new rows must follow from the old ones alone.
    applied = event.updated_at.timestamp() if campaign.expires is None else campaign.expires - RETENTION_SECONDS
    return main_entry(event, applied)


class AreasOfCampaign(NamedTuple):
    written: set[str]
    """Those that have an entry of it, besides `*`."""
    listed: set[str]
    """Those of them that the main row lists."""


def partner_rows(
    empty: PartnerRow, main: Mapping[str, Campaign], areas: Mapping[str, AreasOfCampaign]
) -> Iterator[PartnerRow]:
    """The rows of a partner: the main row, and one for each area. `empty` has its class and its key."""
    entries: dict[str, dict[str, Campaign]] = {EVERYWHERE: dict(main)}
    for name, of_campaign in areas.items():
        for area in of_campaign.written:
            entries.setdefault(area, {})[name] = area_entry(main[name], runs=True, now=0)
    listed = {campaign_area(area, name) for name in main for area in (EVERYWHERE, *areas[name].listed)}
    has_ended = not any(each.running for each in main.values())
    expires = max(each.until or 0 for each in main.values()) if has_ended else None
    for area, campaigns in entries.items():
        row = sk.replace(empty, area=area)
        if area == EVERYWHERE:
            row = sk.replace(row, campaign_areas=listed, expires=expires)
        yield type(row).campaigns.replaced(row, campaigns)


def v2_rows(campaigns: Sequence[V1Campaign]) -> Iterator[PartnerRow]:
    main = {each.campaign: main_entry_of(each) for each in campaigns}
    named = {name: set(each.running) - {EVERYWHERE} for name, each in main.items()}
    empty = BoostRow(tenant=campaigns[0].tenant, area=EVERYWHERE, partner=campaigns[0].partner, revision=1)
    yield from partner_rows(empty, main, {name: AreasOfCampaign(areas, areas) for name, areas in named.items()})


def manifest_rows(found: Sequence[V1Campaign | Delivery]) -> Iterator[sk.Item]:
    campaigns = [each for each in found if isinstance(each, V1Campaign)]
    if not campaigns:
        return
    delivered = {area for each in found if isinstance(each, Delivery) for area in each.areas}
    tenant, partner = campaigns[0].tenant, campaigns[0].partner
    main = {each.campaign: main_entry_of(each) for each in campaigns}
    everywhere = {name for name, each in main.items() if EVERYWHERE in each.running}
    areas = {
        name: AreasOfCampaign(delivered, set())
        if name in everywhere
        else AreasOfCampaign(set(each.running), set(each.running))
        for name, each in main.items()
    }
    yield from partner_rows(ManifestRow(tenant=tenant, area=EVERYWHERE, partner=partner, revision=1), main, areas)
    in_order = sorted(delivered)
    for name in sorted(everywhere):
        for part, start in enumerate(range(0, len(in_order), AREAS_IN_PART)):
            some = set(in_order[start : start + AREAS_IN_PART])
            yield CampaignAreas(tenant=tenant, partner=partner, campaign=name, part=part, areas=some, revision=1)


PARTNER: Final = ("tenant", "partner")
TO_V2: Final = sk.patterns.rekey("boosts-v2", V1Campaign, v2_rows, to=BoostRow, by=PARTNER, retired=[Shard])
TO_MANIFEST: Final = sk.patterns.rekey(
    "boosts-manifest",
    V1Campaign,
    manifest_rows,
    to=[ManifestRow, CampaignAreas],
    by=PARTNER,
    inputs=[Delivery],
    retired=[Shard],
)


class Moving:
    """v1 on its way to another design: the flag of the re-keying says which one answers, and which one is written."""

    def __init__(self, session: sk.AsyncSession, clock: Clock, settings: Settings) -> None:
        self.rekey = TO_MANIFEST if settings.moving_to == "manifest" else TO_V2
        self.tables: Sequence[type[sk.Item]] = (*V1.tables, *V2.tables, *Manifest.tables)
        self.reader = self.rekey.reader(session, shadow=settings.compared)
        self._old: Design = V1(session, clock)
        self._new: Design = (Manifest if settings.moving_to == "manifest" else V2)(session, clock)

    async def rejections(self, market: Market, events: Sequence[CampaignEvent]) -> list[str]:
        async with self.reader.writing() as design:
            return await (self._old if design == "old" else self._new).rejections(market, events)

    async def apply(self, market: Market, events: Sequence[CampaignEvent]) -> list[EventResult]:
        results: list[EventResult] = []
        # The design may change from one event to the next, but never back.
        for at, event in enumerate(events):
            async with self.reader.writing() as design:
                if design == "new":
                    return [*results, *await self._new.apply(market, events[at:])]
                results += await self._old.apply(market, [event])
        return results

    async def load(self, market: Market, events: Sequence[CampaignEvent]) -> AsyncIterator[int]:
        async with self.reader.writing() as design:
            async for done in (self._old if design == "old" else self._new).load(market, events):
                yield done

    async def set_delivery_areas(self, market: Market, areas: Mapping[str, Sequence[str]]) -> None:
        await self._new.set_delivery_areas(market, areas)

    async def lookup(self, market: Market, query: LookupQuery) -> list[Boost]:
        return await self.reader.read(lambda: self._old.lookup(market, query), lambda: self._new.lookup(market, query))

    async def rows_read(self, market: Market, query: LookupQuery) -> list[RowRead]:
        return await (await self._present()).rows_read(market, query)

    async def all_campaigns(self, market: Market) -> AsyncIterator[CampaignEvent]:
        async for event in (await self._present()).all_campaigns(market):
            yield event

    async def _present(self) -> Design:
        """The design that answers."""
        return self._old if await self.reader.design() == "old" else self._new

    async def campaigns_of(self, market: Market, partner: str) -> list[CampaignInArea]:
        return await self.reader.read(
            lambda: self._old.campaigns_of(market, partner), lambda: self._new.campaigns_of(market, partner)
        )
