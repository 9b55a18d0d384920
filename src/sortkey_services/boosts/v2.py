"""The v2 design, the default: a row for each partner and area, read by its exact key. And manifest, a variant of it.

An event is one write of the partner's main row, and one for each area that the campaign names besides `*`. A lookup is
one batch of exact keys, whatever the size of the market. It reads from the rows' JSON, in C, which campaigns run and
how they rank. See `boosts.model` for the rows.

In manifest, kept for comparison, a campaign that runs everywhere is written to every delivery area. A lookup then reads
only the rows of its district. The cost is one write for each delivery area, and stale answers: when a partner adds a
delivery area, a campaign reaches it with the campaign's next event.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any, Final, NamedTuple

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
from sortkey_services.slices import in_slices

CONCURRENT_AREAS: Final = 16
CONCURRENT_READS: Final = 8
"""Of main rows, which may have hundreds of campaigns."""
PARTNERS_AT_ONCE: Final = 64
ROWS_OF_AREAS: Final = 256
"""That are read and written together."""
ROWS_AT_ONCE: Final = 1000
"""When a market is loaded."""

MANIFEST: Final = sk.Table("boosts_manifest", ttl="expires")
DELIVERY: Final = sk.Table("boosts_delivery", stream="KEYS_ONLY")
SPREAD: Final = sk.Table("boosts_manifest_areas")
AREAS_IN_PART: Final = 2000
"""Of a row, which must stay below DynamoDB's 400 KB."""

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

    async def list_areas(self, _market: Market, _event: CampaignEvent, areas: set[str], /) -> set[str]:
        """Notes that these areas may have an entry of the campaign; returns those that the main row has to list."""
        return areas

    async def listed_besides(self, _market: Market, _partner: str, _campaign_id: str, /) -> set[str]:
        """The areas that may have an entry of a campaign and that the main row does not list."""
        return set()

    async def unlist_areas(
        self, _market: Market, _partner: str, _campaign_id: str, _running: Collection[str], /
    ) -> None:
        """All entries of a campaign are up to date: the other areas that are listed besides the main row may be
        forgotten."""

    # Writing

    async def rejections(self, market: Market, events: Sequence[CampaignEvent]) -> list[str]:
        if len(events) == 1:
            return []
        rejected: list[tuple[int, str]] = []
        async for some in in_slices(_by_partner(events).values(), CONCURRENT_READS):
            mains = await self._mains(market, [events[indexes[0]].partner_id for indexes in some])
            for main, indexes in zip(mains, some, strict=True):
                folded = _folded(main, [(events[at], _named(events[at])) for at in indexes], self._clock.now())
                rejected += [
                    (at, result.error)
                    for at, result in zip(indexes, folded.results, strict=True)
                    if result.error is not None
                ]
        return [f"[{index}]: {error}" for index, error in sorted(rejected)]

    async def apply(self, market: Market, events: Sequence[CampaignEvent]) -> list[EventResult]:
        if len(events) == 1:
            return [await self._apply(market, events[0])]
        results = [EventResult()] * len(events)
        async for some in in_slices(_by_partner(events).values(), PARTNERS_AT_ONCE):
            await self._apply_together(market, events, some, results)
        return results

    async def _apply_together(
        self,
        market: Market,
        events: Sequence[CampaignEvent],
        partners: Sequence[Sequence[int]],
        results: list[EventResult],
    ) -> None:
        """Applies the events of some partners: one write of each main row, and one of each row of an area."""
        listed: dict[int, set[str]] = {}
        async for some in in_slices([index for indexes in partners for index in indexes]):
            for index in some:
                event = events[index]
                areas = await self.areas_written(market, event.partner_id, event.running)
                listed[index] = await self.list_areas(market, event, areas)
        settled: list[tuple[PartnerRow, set[str]]] = []
        while partners:
            mains = await self._mains(market, [events[indexes[0]].partner_id for indexes in partners])
            made: list[tuple[Sequence[int], _Folded]] = []
            async for some_rows in in_slices(zip(partners, mains, strict=True), 1):
                for indexes, main in some_rows:
                    folded = _folded(main, [(events[at], listed[at]) for at in indexes], self._clock.now())
                    made.append((indexes, folded))
            changed = [folded.row for _, folded in made if folded.is_changed]
            left = {row.partner for row in await self._session.put_many(changed, if_version="revision")}
            for indexes, folded in made:
                if folded.row.partner not in left:
                    settled.append((folded.row, folded.touched))
                    for index, result in zip(indexes, folded.results, strict=True):
                        results[index] = result
            partners = [indexes for indexes, folded in made if folded.row.partner in left]
        await self._write_areas_together(market, settled)

    async def _mains(self, market: Market, partners: Sequence[str]) -> list[PartnerRow]:
        async def read(partner: str) -> PartnerRow:
            path = self.rows.key(tenant=market.tenant, area=EVERYWHERE, partner=partner)
            found = await self._session.get(path, consistent=True)
            return found or self.rows(tenant=market.tenant, area=EVERYWHERE, partner=partner)

        return await concurrent_map(read, partners, CONCURRENT_READS)

    async def _write_areas_together(self, market: Market, settled: Sequence[tuple[PartnerRow, set[str]]]) -> None:
        """Updates the entries of all areas from the main entries, then removes the areas that campaigns have left."""
        running: list[dict[str, set[str]]] = []
        entries: dict[tuple[str, str], dict[str, Campaign]] = {}
        for main, touched in settled:
            # After each partner, which has up to 500 areas, others have their turn.
            await asyncio.sleep(0)
            now, campaigns = self._clock.now(), main.campaigns
            known = _listed_areas(main.campaign_areas)
            running.append({})
            for name in sorted(touched):
                stored = campaigns[name]
                runs = await self.areas_written(market, main.partner, stored.running)
                running[-1][name] = runs
                besides = await self.listed_besides(market, main.partner, name)
                there, away = area_entry(stored, runs=True, now=now), area_entry(stored, runs=False, now=now)
                for area in sorted(known.get(name, set()) | runs | besides):
                    entries.setdefault((area, main.partner), {})[name] = there if area in runs else away
        async for some in in_slices(entries, ROWS_OF_AREAS):
            await self._put_entries(market, {each: entries[each] for each in some})
        kept: list[PartnerRow] = []
        async for pairs in in_slices(zip(settled, running, strict=True), 1):
            for (main, _), of_partner in pairs:
                made = pruned(main, self._clock.now(), of_partner)
                if made is not main:
                    kept.append(made)
                for name, runs in of_partner.items():
                    await self.unlist_areas(market, main.partner, name, runs)
        # Another write may have changed a row since, and prunes it.
        await self._session.put_many(kept, if_version="revision")

    async def _put_entries(self, market: Market, entries: Mapping[tuple[str, str], Mapping[str, Campaign]]) -> None:
        """Puts entries into the rows of areas and partners; not those that the row has in a newer version."""
        wanted = list(entries)
        while wanted:
            paths = [self.rows.key(tenant=market.tenant, area=area, partner=partner) for area, partner in wanted]
            found = await self._session.get_many(paths, consistent=True)
            made: list[PartnerRow] = []
            async for some in in_slices(zip(wanted, found, strict=True)):
                for (area, partner), stored in some:
                    row = stored or self.rows(tenant=market.tenant, area=area, partner=partner)
                    newer = _newer(row.campaigns, entries[area, partner])
                    if newer:
                        row = self.rows.campaigns.replaced(sk.replace(row, expires=None), {**row.campaigns, **newer})
                        made.append(pruned(row, self._clock.now()))
            left = await self._session.put_many(made, if_version="revision")
            wanted = [(row.area, row.partner) for row in left]

    async def _apply(self, market: Market, event: CampaignEvent) -> EventResult:
        areas = await self.areas_written(market, event.partner_id, event.running)
        listed = await self.list_areas(market, event, areas)
        try:
            written, main = await self._write_main_entry(market, event, listed)
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
            known |= await self.listed_besides(market, event.partner_id, event.campaign_id)
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
                raise _TooManyAreas(_too_many(event, len(known | new)))
            room = len(known)

    async def _write_area_entries(
        self, market: Market, event: CampaignEvent, stored: Campaign, main: PartnerRow, running: Collection[str]
    ) -> None:
        """Updates the entries of all areas from the main entry, then removes the areas that the campaign has left."""
        besides = await self.listed_besides(market, event.partner_id, event.campaign_id)
        areas = sorted(areas_of(main.campaign_areas, event.campaign_id).union(running, besides))

        async def write(area: str) -> None:
            entry = area_entry(stored, runs=area in running, now=self._clock.now())
            result = await self._write_entry(market, area, event, entry)
            if result.written:
                await self._put_pruned(result.item, pruned(result.item, self._clock.now()))

        if areas:
            await concurrent_map(write, areas, CONCURRENT_AREAS)
        await self._put_pruned(main, pruned(main, self._clock.now(), {event.campaign_id: running}))
        await self.unlist_areas(market, event.partner_id, event.campaign_id, running)

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
            listed = await self.list_areas(market, event, areas)
            campaign_areas.update(campaign_area(area, event.campaign_id) for area in (EVERYWHERE, *listed))
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

    async def rows_read(self, market: Market, query: LookupQuery) -> list[RowRead]:
        areas = self.areas_read(market, query.district)
        paths = [
            self.rows.key(tenant=market.tenant, area=area, partner=each) for area in areas for each in query.partners
        ]
        found = await self._session.get_many(paths)
        return [RowRead(f"{row.area} {row.partner}", [row.partner]) for row in found if row is not None]

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

    async def all_campaigns(self, market: Market) -> AsyncIterator[CampaignEvent]:
        # The main rows of all partners are one partition.
        path = self.rows.key(tenant=market.tenant, area=EVERYWHERE)
        async for row in self._session.iterate(path):
            for name, campaign in row.campaigns.items():
                yield event_of(row.partner, name, campaign.areas or (), campaign)


class _Folded(NamedTuple):
    """A main row after some events of its partner."""

    row: PartnerRow
    results: list[EventResult]
    touched: set[str]
    """The campaigns whose entries in areas must be up to date: those that were written, and those whose event came
    again, which may have been interrupted after the main row."""
    is_changed: bool


def _folded(main: PartnerRow, events: Sequence[tuple[CampaignEvent, set[str]]], now: float) -> _Folded:
    """Each event has the areas that the main row has to list."""
    campaigns, listed = dict(main.campaigns), set(main.campaign_areas)
    results: list[EventResult] = []
    touched: set[str] = set()
    is_changed = False
    for event, areas in events:
        name, version = event.campaign_id, event.version
        stored = campaigns.get(name)
        if stored is not None and stored.version >= version:
            results.append(EventResult(stale=True))
            if stored.version == version:
                touched.add(name)
            continue
        new = {campaign_area(area, name) for area in (EVERYWHERE, *areas)} - listed
        if new and len(listed) + len(new) > MAX_CAMPAIGN_AREAS:
            results.append(EventResult(error=_too_many(event, len(listed) + len(new))))
            continue
        campaigns[name] = main_entry(event, now)
        listed |= new
        touched.add(name)
        is_changed = True
        results.append(EventResult())
    if not is_changed:
        return _Folded(main, results, touched, is_changed)
    row = sk.replace(main, campaign_areas=listed, expires=None)
    return _Folded(type(row).campaigns.replaced(row, campaigns), results, touched, is_changed)


def _by_partner(events: Sequence[CampaignEvent]) -> dict[str, list[int]]:
    """The places of each partner's events."""
    partners: dict[str, list[int]] = {}
    for index, event in enumerate(events):
        partners.setdefault(event.partner_id, []).append(index)
    return partners


def _named(event: CampaignEvent) -> set[str]:
    return set(event.running) - {EVERYWHERE}


def _listed_areas(campaign_areas: Iterable[str]) -> dict[str, set[str]]:
    """The areas besides `*`, by campaign."""
    found: dict[str, set[str]] = {}
    for each in campaign_areas:
        area, _, campaign = each.partition("#")
        if area != EVERYWHERE:
            found.setdefault(campaign, set()).add(area)
    return found


def _newer(stored: Mapping[str, Campaign], entries: Mapping[str, Campaign]) -> dict[str, Campaign]:
    return {
        name: entry
        for name, entry in entries.items()
        if (known := stored.get(name)) is None or known.version < entry.version
    }


def _too_many(event: CampaignEvent, count: int) -> str:
    return (
        f"partner {event.partner_id} would have {count} campaigns and areas, ended ones of the last 30 days included; "
        f"the limit is {MAX_CAMPAIGN_AREAS}, and a campaign for all areas (`*`) counts once"
    )


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


class CampaignAreas(sk.Item, table=SPREAD):
    """Areas that may have an entry of a campaign that runs everywhere: a part of them, since there may be thousands."""

    tenant: str
    partner: str
    campaign: str
    part: int
    areas: set[str] = sk.field(default_factory=set)
    revision: int = 0

    key = sk.Key("{tenant}#{partner}", "{campaign}#{part:06}")


class Manifest(V2):
    rows = ManifestRow
    tables = (ManifestRow, Delivery, CampaignAreas)

    async def areas_written(self, market: Market, partner: str, areas: Iterable[str], /) -> set[str]:
        named = set(areas)
        if EVERYWHERE not in named:
            return named
        known = await self._session.get(Delivery.key(tenant=market.tenant, partner=partner))
        return set() if known is None else set(known.areas)

    def areas_read(self, _market: Market, district: str | None, /) -> tuple[str, ...]:
        return () if district is None else (district,)

    async def list_areas(self, market: Market, event: CampaignEvent, areas: set[str], /) -> set[str]:
        if EVERYWHERE not in event.running:
            return areas
        # Before the main row, whose event may be the last one for long.
        while not await self._list_besides(market, event, areas):
            pass
        return set()

    async def _list_besides(self, market: Market, event: CampaignEvent, areas: set[str]) -> bool:
        """False if another writer was faster."""
        parts = await self._parts(market, event.partner_id, event.campaign_id)
        missing = sorted(areas.difference(*(part.areas for part in parts)))
        changed: list[CampaignAreas] = []
        for number in range(len(parts) + len(missing) // AREAS_IN_PART + 1):
            part = (
                parts[number]
                if number < len(parts)
                else CampaignAreas(
                    tenant=market.tenant, partner=event.partner_id, campaign=event.campaign_id, part=number
                )
            )
            some = missing[: max(0, AREAS_IN_PART - len(part.areas))]
            if some:
                missing = missing[len(some) :]
                changed.append(sk.replace(part, areas=part.areas.union(some)))
        return not await self._session.put_many(changed, if_version="revision")

    async def listed_besides(self, market: Market, partner: str, campaign_id: str, /) -> set[str]:
        return set().union(*(part.areas for part in await self._parts(market, partner, campaign_id)))

    async def unlist_areas(self, market: Market, partner: str, campaign_id: str, running: Collection[str], /) -> None:
        parts = await self._parts(market, partner, campaign_id)
        kept = [sk.replace(part, areas=part.areas.intersection(running)) for part in parts if part.areas - set(running)]
        # Another event may have added areas since: it removes those that are left.
        await self._session.put_many(kept, if_version="revision")

    async def _parts(self, market: Market, partner: str, campaign_id: str) -> list[CampaignAreas]:
        path = CampaignAreas.key(tenant=market.tenant, partner=partner, campaign=campaign_id)
        return [part async for part in self._session.iterate(path, consistent=True)]

    async def set_delivery_areas(self, market: Market, areas: Mapping[str, Sequence[str]]) -> None:
        await self._session.batch(
            put=(
                Delivery(tenant=market.tenant, partner=partner, areas=sorted(there)) for partner, there in areas.items()
            )
        )
