"""The v2 design, the default: a row for each partner and area, read by its exact key. And manifest, a variant of it.

An event is one write of the partner's main row, and one for each area that the campaign names besides `*`. A lookup is
one batch of exact keys, whatever the size of the market. It reads from the rows' JSON, in C, which campaigns run and
how they rank. See `boosts.model` for the rows.

In manifest, kept for comparison, a campaign that runs everywhere is written to every delivery area. A lookup then reads
only the rows of its district. The cost is one write for each delivery area, and stale answers: when a partner adds a
delivery area, a campaign reaches it with the campaign's next event.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any, Final

import msgspec

import sortkey as sk
from sortkey.clock import Clock
from sortkey_services.boosts.design import (
    Boost,
    CampaignInArea,
    EventResult,
    LookupQuery,
    Rank,
    boosts_of,
    campaigns_in_areas,
)
from sortkey_services.boosts.event import EVERYWHERE, CampaignEvent
from sortkey_services.boosts.model import (
    MAX_CAMPAIGN_AREAS,
    BoostRow,
    Campaign,
    PartnerRow,
    area_entry,
    areas_of,
    campaign_area,
    main_entry,
    pruned,
)
from sortkey_services.boosts.tenants import Market
from sortkey_services.concurrent_map import concurrent_map

CONCURRENT_PARTNERS: Final = 64
CONCURRENT_AREAS: Final = 16
ROWS_AT_ONCE: Final = 1000
"""When a market is loaded."""

MANIFEST: Final = sk.Table("boosts_manifest", ttl="expires")
DELIVERY: Final = sk.Table("boosts_delivery")

_PREFIX_LENGTH: Final = len(PartnerRow.campaigns.prefix)


class _TooManyAreas(Exception):
    """The partner has too many campaigns and areas."""


class V2:
    rows: type[PartnerRow] = BoostRow
    tables: Sequence[type[sk.Item]] = (BoostRow,)

    def __init__(self, session: sk.AsyncSession, clock: Clock) -> None:
        self._session = session
        self._clock = clock

    # The areas that a campaign is written to and a lookup reads

    async def areas_written(self, _market: Market, _partner: str, areas: Iterable[str], /) -> set[str]:
        """The areas besides `*` that get an entry of a campaign that runs in these areas."""
        return set(areas) - {EVERYWHERE}

    def areas_read(self, market: Market, district: str | None, /) -> tuple[str, ...]:
        if market.wildcard or district is None or district == EVERYWHERE:
            return (EVERYWHERE,)
        return (district, EVERYWHERE)

    # Writing

    async def apply(self, market: Market, events: Sequence[CampaignEvent]) -> list[EventResult]:
        partners: dict[str, list[int]] = {}
        for index, event in enumerate(events):
            partners.setdefault(event.partner_id, []).append(index)
        results = [EventResult()] * len(events)

        async def in_order(indexes: list[int]) -> None:
            for index in indexes:
                results[index] = await self._apply(market, events[index])

        await concurrent_map(in_order, list(partners.values()), CONCURRENT_PARTNERS)
        return results

    async def _apply(self, market: Market, event: CampaignEvent) -> EventResult:
        areas = await self.areas_written(market, event.partner_id, event.running)
        try:
            written, main = await self._write_main_entry(market, event, areas)
        except _TooManyAreas as error:
            return EventResult(error=str(error))
        stored = main.campaigns[event.campaign_id]
        if written:
            await self._write_area_entries(market, event, stored, main, areas)
        elif stored.version == event.version:
            # A repeated event, which may have been interrupted after the main row: write the area entries again, from
            # the stored main entry.
            areas = await self.areas_written(market, event.partner_id, stored.running)
            known = areas_of(main.campaign_areas, event.campaign_id)
            await self._write_area_entries(market, event, stored, main, areas & known)
        return EventResult(stale=not written)

    async def _write_main_entry(
        self, market: Market, event: CampaignEvent, areas: Collection[str]
    ) -> sk.PutEntryResult[PartnerRow]:
        """Writes the main entry if it is newer and the partner has room for its areas."""
        new = {campaign_area(area, event.campaign_id) for area in (EVERYWHERE, *areas)}
        entry = main_entry(event, self._clock.now())
        room = MAX_CAMPAIGN_AREAS - len(new)
        while True:
            result = await self._write_entry(market, EVERYWHERE, event, entry, new, room)
            stored = result.item.campaigns.get(event.campaign_id)
            if result.written or (stored is not None and stored.version >= entry.version):
                return result
            # Some of the areas may be there already, which a condition cannot count.
            known = result.item.campaign_areas
            if not new <= known and len(known | new) > MAX_CAMPAIGN_AREAS:
                raise _TooManyAreas(
                    f"partner {event.partner_id} would have {len(known | new)} campaigns and areas, ended ones of the "
                    f"last 30 days included; the limit is {MAX_CAMPAIGN_AREAS}, and a campaign for all areas (`*`) "
                    "counts once"
                )
            room = len(known)

    async def _write_area_entries(
        self, market: Market, event: CampaignEvent, stored: Campaign, main: PartnerRow, running: Collection[str]
    ) -> None:
        """Updates the entries of all areas from the main entry, then removes the areas that the campaign has left."""
        areas = sorted(areas_of(main.campaign_areas, event.campaign_id).union(running))

        async def write(area: str) -> None:
            entry = area_entry(stored, runs=area in running, now=self._clock.now())
            result = await self._write_entry(market, area, event, entry)
            if result.written:
                await self._put_pruned(result.item, pruned(result.item, self._clock.now()))

        if areas:
            await concurrent_map(write, areas, CONCURRENT_AREAS)
        await self._put_pruned(main, pruned(main, self._clock.now(), event.campaign_id, running))

    async def _write_entry(
        self,
        market: Market,
        area: str,
        event: CampaignEvent,
        entry: Campaign,
        new_areas: Collection[str] = (),
        room: int | None = None,
    ) -> sk.PutEntryResult[PartnerRow]:
        changes: list[Mapping[str, Any]] = [sk.F(PartnerRow.revision).add(1), {"expires": None}]
        if new_areas:
            changes.append(sk.F(PartnerRow.campaign_areas).add(set(new_areas)))
        return await self._session.put_entry(
            self.rows.key(tenant=market.tenant, area=area, partner=event.partner_id),
            self.rows.campaigns,
            event.campaign_id,
            entry,
            newer_by="version",
            changes=changes,
            where=None if room is None else sk.F(PartnerRow.campaign_areas).size <= room,
        )

    async def _put_pruned(self, row: PartnerRow, kept: PartnerRow) -> None:
        if kept is row:
            return
        try:
            await self._session.put(kept, if_version="revision")
        except sk.ConditionFailed:
            pass  # another write has changed the row since, and prunes it

    async def load(self, market: Market, events: Sequence[CampaignEvent]) -> AsyncIterator[int]:
        partners: dict[str, list[CampaignEvent]] = {}
        for event in events:
            partners.setdefault(event.partner_id, []).append(event)
        done = 0
        rows: list[PartnerRow] = []
        for of_partner in partners.values():
            rows += [row async for row in self._rows_of_partner(market, of_partner)]
            done += len(of_partner)
            if len(rows) >= ROWS_AT_ONCE or done == len(events):
                await self._session.batch(put=rows)
                rows = []
                yield done

    async def _rows_of_partner(self, market: Market, events: Sequence[CampaignEvent]) -> AsyncIterator[PartnerRow]:
        """The rows of one partner, with all its campaigns."""
        rows: dict[str, dict[str, Campaign]] = {EVERYWHERE: {}}
        campaign_areas: set[str] = set()
        now = self._clock.now()
        for event in events:
            main = rows[EVERYWHERE][event.campaign_id] = main_entry(event, now)
            areas = await self.areas_written(market, event.partner_id, event.running)
            campaign_areas.update(campaign_area(area, event.campaign_id) for area in (EVERYWHERE, *areas))
            for area in areas:
                rows.setdefault(area, {})[event.campaign_id] = area_entry(main, runs=True, now=now)
        for area, campaigns in rows.items():
            row = self.rows(tenant=market.tenant, area=area, partner=events[0].partner_id, revision=1)
            if area == EVERYWHERE:
                row = sk.replace(row, campaign_areas=campaign_areas)
            yield self.rows.campaigns.replaced(row, campaigns)

    async def set_delivery_areas(self, market: Market, areas: Mapping[str, Sequence[str]]) -> None:
        """Not used: lookups name the partners."""

    # Reading

    async def lookup(self, market: Market, query: LookupQuery) -> list[Boost]:
        areas = self.areas_read(market, query.district)
        keys = sk.each(tenant=market.tenant, area=areas, partner=query.partners)
        rows = await self._session.lookup_as(self.rows.key, keys, _read_rows)
        return boosts_of(query, _best_campaigns(query.partners, rows, query.day_slots.bits))

    async def campaigns_of(self, market: Market, partner: str) -> list[CampaignInArea]:
        path = self.rows.key(tenant=market.tenant, area=EVERYWHERE, partner=partner)
        main = await self._session.get(path, consistent=True)
        if main is None:
            return []
        return [
            found
            for campaign_id, campaign in sorted(main.campaigns.items())
            for found in campaigns_in_areas(campaign_id, campaign.areas or (), campaign)
        ]


class _Integer(msgspec.Struct, frozen=True, gc=False, rename={"content": "N"}):
    content: int


class _Float(msgspec.Struct, frozen=True, gc=False, rename={"content": "N"}):
    content: float


class _Skipped(msgspec.Struct, frozen=True, gc=False):
    """A value that only has to be present."""


class _Campaign(msgspec.Struct, frozen=True, gc=False):
    """What a lookup needs of a campaign: decoding fifty rows to items took longer than fetching them. Every field has a
    default: a map that is not a campaign must not stop a lookup."""

    when: _Integer = _Integer(0)
    score: _Float = _Float(0.0)
    areas: _Skipped | None = None


class _Attribute(msgspec.Struct, frozen=True, gc=False, rename={"campaign": "M"}):
    campaign: _Campaign | None = None


_Row = dict[str, _Attribute]

# Not strict: DynamoDB's numbers are strings.
_read_rows: Final = msgspec.json.Decoder(list[_Row | None], strict=False).decode


def _best_campaigns(partners: Sequence[str], rows: Iterable[_Row | None], bits: int) -> dict[str, Rank]:
    """The winning campaign of each partner, in the day slots of these bits. The rows are in the order of the
    partners, once for each area."""
    best: dict[str, Rank] = {}
    for partner, row in zip(cycle(partners), rows, strict=False):
        if row is None:
            continue
        for name, attribute in row.items():
            campaign = attribute.campaign
            if campaign is not None and campaign.when.content & bits:
                found = (campaign.areas is not None, -campaign.score.content, name[_PREFIX_LENGTH:])
                if partner not in best or found < best[partner]:
                    best[partner] = found
    return best


class ManifestRow(PartnerRow, table=MANIFEST):
    """A partner in one of its delivery areas. Lookups do not read the main rows."""


class Delivery(sk.Item, table=DELIVERY):
    """The delivery areas of a partner."""

    tenant: str
    partner: str
    areas: list[str]

    key = sk.Key("{tenant}#{partner}")


class Manifest(V2):
    rows = ManifestRow
    tables = (ManifestRow, Delivery)

    async def areas_written(self, market: Market, partner: str, areas: Iterable[str], /) -> set[str]:
        named = set(areas)
        if EVERYWHERE not in named:
            return named
        known = await self._session.get(Delivery.key(tenant=market.tenant, partner=partner))
        return set() if known is None else set(known.areas)

    def areas_read(self, _market: Market, district: str | None, /) -> tuple[str, ...]:
        return () if district is None else (district,)

    async def set_delivery_areas(self, market: Market, areas: Mapping[str, Sequence[str]]) -> None:
        await self._session.batch(
            put=(
                Delivery(tenant=market.tenant, partner=partner, areas=sorted(there)) for partner, there in areas.items()
            )
        )
