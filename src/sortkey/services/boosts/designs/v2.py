"""The second design, and the default: a row for each partner and area, read by its exact key.

An event is one write of the campaign's home row, and one for each area that it names; `*` names none. A lookup is one
batch of exact keys, whatever the size of the market. See `boosts.model` for the rows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

import sortkey as sk
from sortkey.services.boosts.designs import v2_row_reader
from sortkey.services.boosts.designs.design import Applied, Boost, Placement, Question, boosts_of, placements
from sortkey.services.boosts.event import EVERYWHERE, CampaignEvent
from sortkey.services.boosts.model import (
    MOST_PLACES,
    BoostRow,
    Campaign,
    PartnerRow,
    areas_of,
    entry_there,
    home_entry,
    place,
    tidied,
)
from sortkey.services.boosts.parallel import in_parallel
from sortkey.services.boosts.tenants import Market

PARTNERS_AT_ONCE: Final = 64
AREAS_AT_ONCE: Final = 16
LOADED_AT_ONCE: Final = 1000
"""Rows, where many are loaded."""


class _Rejected(Exception):
    """The store cannot take the event."""


class V2:
    rows: type[PartnerRow] = BoostRow
    tables: Sequence[type[sk.Item]] = (BoostRow,)

    def __init__(self, session: sk.AsyncSession, now: Callable[[], float]) -> None:
        self._session = session
        self._now = now

    # Which areas a campaign is written to and a lookup reads

    async def spread(self, _market: Market, _partner: str, areas: Iterable[str], /) -> set[str]:
        """The areas besides `*` that get an entry of a campaign that runs in these."""
        return set(areas) - {EVERYWHERE}

    def areas_read(self, market: Market, district: str | None, /) -> tuple[str, ...]:
        if market.wildcard or district is None or district == EVERYWHERE:
            return (EVERYWHERE,)
        return (district, EVERYWHERE)

    # Writing

    async def apply(self, market: Market, events: Sequence[CampaignEvent]) -> list[Applied]:
        partners: dict[str, list[int]] = {}
        for index, event in enumerate(events):
            partners.setdefault(event.partner_id, []).append(index)
        outcomes = [Applied()] * len(events)

        async def in_order(indexes: list[int]) -> None:
            for index in indexes:
                outcomes[index] = await self._apply(market, events[index])

        await in_parallel(in_order, list(partners.values()), PARTNERS_AT_ONCE)
        return outcomes

    async def _apply(self, market: Market, event: CampaignEvent) -> Applied:
        spread = await self.spread(market, event.partner_id, event.running)
        try:
            written, home = await self._enter_home(market, event, spread)
        except _Rejected as rejected:
            return Applied(error=str(rejected))
        stored = home.campaigns[event.campaign_id]
        if written:
            await self._settle(market, event, stored, home, spread)
        elif stored.version == event.version:
            # It came before, and may not have got further than the home: the rest is done again, as stored there.
            spread = await self.spread(market, event.partner_id, stored.running)
            known = areas_of(home.places, event.campaign_id)
            await self._settle(market, event, stored, home, spread & known)
        return Applied(stale=not written)

    async def _enter_home(
        self, market: Market, event: CampaignEvent, spread: Collection[str]
    ) -> sk.PutEntryResult[PartnerRow]:
        """Write the home row's entry, if it is newer and there is room for its places."""
        new = {place(area, event.campaign_id) for area in (EVERYWHERE, *spread)}
        entry = home_entry(event, self._now())
        room = MOST_PLACES - len(new)
        while True:
            entered = await self._enter(market, EVERYWHERE, event, entry, places=new, room=room)
            stored = entered.item.campaigns.get(event.campaign_id)
            if entered.written or (stored is not None and stored.version >= entry.version):
                return entered
            # Most of the places may be there already, which no condition can count.
            places = entered.item.places
            if not new <= places and len(places | new) > MOST_PLACES:
                raise _Rejected(
                    f"partner {event.partner_id} would have {len(places | new)} campaigns and areas, ended ones of the "
                    f"last 30 days included; {MOST_PLACES} is the limit, and a campaign for all areas (`*`) counts once"
                )
            room = len(places)

    async def _settle(
        self, market: Market, event: CampaignEvent, stored: Campaign, home: PartnerRow, spread: Collection[str]
    ) -> None:
        """Bring the entries in all areas to the home's, and forget the places that it has left."""
        areas = sorted(areas_of(home.places, event.campaign_id).union(spread))

        async def enter(area: str) -> None:
            entry = entry_there(stored, runs=area in spread, now=self._now())
            entered = await self._enter(market, area, event, entry)
            if entered.written:
                await self._put(entered.item, tidied(entered.item, self._now()))

        if areas:
            await in_parallel(enter, areas, AREAS_AT_ONCE)
        await self._put(home, tidied(home, self._now(), event.campaign_id, spread))

    async def _enter(
        self,
        market: Market,
        area: str,
        event: CampaignEvent,
        entry: Campaign,
        *,
        places: Collection[str] = (),
        room: int | None = None,
    ) -> sk.PutEntryResult[PartnerRow]:
        return await self._session.put_entry(
            self.rows.key(tenant=market.tenant, area=area, partner=event.partner_id),
            self.rows.campaigns,
            event.campaign_id,
            entry,
            newer_by="version",
            changes={"revision": sk.add(1), "expires": None} | ({"places": sk.add(set(places))} if places else {}),
            where=None if room is None else {"places": sk.sized(at_most=room)},
        )

    async def _put(self, row: PartnerRow, tidy: PartnerRow) -> None:
        if tidy is row:
            return
        try:
            await self._session.put(tidy, if_version="revision")
        except sk.ConditionFailed:
            pass  # somebody else has written the row since, and tidies it as well

    async def load(self, market: Market, events: Sequence[CampaignEvent]) -> AsyncIterator[int]:
        partners: dict[str, list[CampaignEvent]] = {}
        for event in events:
            partners.setdefault(event.partner_id, []).append(event)
        done = 0
        rows: list[PartnerRow] = []
        for of_partner in partners.values():
            rows += [row async for row in self._loaded(market, of_partner)]
            done += len(of_partner)
            if len(rows) >= LOADED_AT_ONCE or done == len(events):
                await self._session.batch(put=rows)
                rows = []
                yield done

    async def _loaded(self, market: Market, events: Sequence[CampaignEvent]) -> AsyncIterator[PartnerRow]:
        """The rows of one partner."""
        areas: dict[str, dict[str, Campaign]] = {EVERYWHERE: {}}
        places: set[str] = set()
        now = self._now()
        for event in events:
            home = areas[EVERYWHERE][event.campaign_id] = home_entry(event, now)
            spread = await self.spread(market, event.partner_id, event.running)
            places.update(place(area, event.campaign_id) for area in (EVERYWHERE, *spread))
            for area in spread:
                areas.setdefault(area, {})[event.campaign_id] = entry_there(home, runs=True, now=now)
        for area, campaigns in areas.items():
            known = places if area == EVERYWHERE else set()
            yield self._row(market, area, events[0].partner_id, campaigns, known)

    async def deliver(self, market: Market, areas: Mapping[str, Sequence[str]]) -> None:
        """Where they deliver is not asked: the partner's id is enough."""

    def _row(
        self, market: Market, area: str, partner: str, campaigns: dict[str, Campaign], places: set[str]
    ) -> PartnerRow:
        row = self.rows(tenant=market.tenant, area=area, partner=partner, places=places, revision=1)
        return self.rows.campaigns.replaced(row, campaigns)

    # Reading

    async def lookup(self, market: Market, question: Question) -> list[Boost]:
        areas = self.areas_read(market, question.district)
        keys = sk.each(tenant=market.tenant, area=areas, partner=question.partners)
        rows = await self._session.lookup_as(self.rows.key, keys, v2_row_reader.read)
        return boosts_of(question, v2_row_reader.best_of(question.partners, rows, question.openings))

    async def campaigns_of(self, market: Market, partner: str) -> list[Placement]:
        path = self.rows.key(tenant=market.tenant, area=EVERYWHERE, partner=partner)
        home = await self._session.get(path, consistent=True)
        if home is None:
            return []
        return [
            placement
            for campaign_id, campaign in sorted(home.campaigns.items())
            for placement in placements(
                campaign_id,
                campaign.areas or (),
                campaign.score,
                campaign.days,
                campaign.slots,
                campaign.status,
                campaign.version,
            )
        ]
