"""What each of the three designs reads for a lookup: measured, on the campaigns that the service has now.

The campaigns of the market are read from the service's own design, and those that the lookup can meet are loaded into a
store in memory, once in each design. Then the lookup runs there. What it cannot meet is left out, so that a market of
thousands of partners takes less than a second:

    V1                  campaigns in other areas, days and slots: they are in other lists
    manifest and V2     campaigns of other partners: they are in other rows

The manifest writes a campaign that runs everywhere to each area that its partner delivers to. All partners of a search
deliver to its district, or they would not be found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

import sortkey as sk
from sortkey.clock import Clock
from sortkey_services.boosts.design import Design, LookupQuery
from sortkey_services.boosts.event import EVERYWHERE, CampaignEvent
from sortkey_services.boosts.tenants import DaySlots, DesignName, Market
from sortkey_services.boosts.v1 import V1

MakeDesign = Callable[[sk.AsyncSession, Clock], Design]


class RowShown(msgspec.Struct, frozen=True):
    """A row that a lookup has read."""

    key: str
    partners: int
    asked: list[int]
    """The places of the partners that were asked for."""


class DesignReads(msgspec.Struct, frozen=True, rename="camel"):
    design: DesignName
    requests: int
    rows_read: int
    partners_read: int
    units: float
    rows: list[RowShown]


class Comparison(msgspec.Struct, frozen=True, rename="camel"):
    partners: int
    """Of the market, that have campaigns."""
    campaigns: int
    agree: bool
    """Whether all designs find the same boosts."""
    designs: list[DesignReads]


async def compare(
    designs: Mapping[DesignName, MakeDesign],
    market: Market,
    campaigns: Sequence[CampaignEvent],
    query: LookupQuery,
    clock: Clock,
) -> Comparison:
    """`campaigns` are all of the market."""
    district = query.district or EVERYWHERE
    asked = set(query.partners)
    listed = _listed_with(campaigns, district, query.day_slots)
    own = [each for each in campaigns if each.partner_id in asked]
    reads, answers = [], []
    for name, make in designs.items():
        async with sk.async_connect("memory:") as session:
            design = make(session, clock)
            await session.create_tables(*design.tables)
            if isinstance(design, V1):
                await design.load_lists(market, listed)
            else:
                await design.set_delivery_areas(market, dict.fromkeys(asked, (district,)))
                async for _ in design.load(market, own):
                    pass
            before = _totals(session)
            answers.append(await design.lookup(market, query))
            requests, rows, units = (now - then for now, then in zip(_totals(session), before, strict=True))
            shown = [
                RowShown(row.key, len(row.partners), [at for at, each in enumerate(row.partners) if each in asked])
                for row in await design.rows_read(market, query)
            ]
        reads.append(DesignReads(name, int(requests), int(rows), sum(each.partners for each in shown), units, shown))
    agree = all(answer == answers[0] for answer in answers)
    return Comparison(len({each.partner_id for each in campaigns}), len(campaigns), agree, reads)


def _listed_with(campaigns: Iterable[CampaignEvent], district: str, at: DaySlots) -> list[CampaignEvent]:
    """The campaigns in the lists that V1 reads, without the lists that it does not."""
    areas = {district, EVERYWHERE}
    days, slots = ({each[place] for each in at.listed} for place in (0, 1))
    return [
        msgspec.structs.replace(each, days_of_week=each.days_of_week & days, time_slots=each.time_slots & slots)
        for each in campaigns
        if not areas.isdisjoint(each.areas) and each.days_of_week & days and each.time_slots & slots
    ]


def _totals(session: sk.AsyncSession) -> tuple[float, float, float]:
    """Requests, rows read and units."""
    readings = session.meter.readings()
    return (
        sum(each.calls for each in readings),
        sum(each.rows_read for each in readings),
        sum(each.units for each in readings),
    )
