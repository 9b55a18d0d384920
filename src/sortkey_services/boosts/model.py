"""The rows of v2 and manifest: one for each partner and area, with all of the partner's campaigns in that area.

    key   {tenant}#{area}  {partner}

A campaign is an entry of the row, with its own version. One conditional write creates or replaces it without a read,
and writes of different campaigns do not conflict. The row of the area `*` is the partner's *main row*: it has an entry
for every campaign, wherever that runs. The main entry has the newest version, and `campaign_areas` of the main row
lists the areas that may still have an entry of the campaign. An event older than the main entry is stale everywhere.

Ended campaigns stay for RETENTION_SECONDS, so that a late event is compared with the newer version.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import product
from types import MappingProxyType
from typing import Annotated, Final, Literal

import msgspec

import sortkey as sk
from sortkey_services.boosts.event import ACTIVE, ENDED, EVERYWHERE, CampaignEvent, Day, Slot, day_slot_bits

RETENTION_SECONDS: Final = 30 * 24 * 3600
"""How long an ended campaign is kept."""
MAX_CAMPAIGN_AREAS: Final = 500
"""Per partner, over all its campaigns: keeps a row below DynamoDB's 400 KB, whatever the ids are."""

BOOSTS: Final = sk.Table("boosts", ttl="expires")


class Campaign(msgspec.Struct, frozen=True, kw_only=True):
    version: str
    score: Annotated[float, sk.inexact]
    days: frozenset[Day]
    slots: frozenset[Slot]
    status: Literal["ACTIVE", "ENDED"]
    when: int = 0
    """The days and slots in which it counts in this row, as `day_slot_bits`: a lookup tests nothing else. 0 if the
    campaign has ended, and in the main row if it does not run everywhere."""
    areas: list[str] | None = None
    """In the main row: where the campaign runs. In another row: `*` if it runs everywhere, else None."""
    until: int | None = None
    """When an ended campaign may be deleted."""

    @property
    def running(self) -> list[str]:
        """The areas where the campaign runs; for a main entry."""
        return [] if self.status == ENDED or self.areas is None else self.areas


class PartnerRow(sk.Item):
    tenant: Annotated[str, sk.in_key]
    area: Annotated[str, sk.in_key]
    partner: str
    campaign_areas: set[str] = sk.field(default_factory=set, name="places")
    revision: int = 0
    expires: int | None = None

    campaigns = sk.Entries(Campaign, "c:")
    key = sk.Key("{tenant}#{area}", "{partner}", names=("pk", "partner"))


class BoostRow(PartnerRow, table=BOOSTS):
    """A row of v2."""


def campaign_area(area: str, campaign_id: str) -> str:
    """An element of `campaign_areas`."""
    return f"{area}#{campaign_id}"


def areas_of(campaign_areas: Iterable[str], campaign_id: str) -> set[str]:
    """The areas besides `*` that may have an entry of this campaign."""
    split = (each.partition("#") for each in campaign_areas)
    return {area for area, _, campaign in split if campaign == campaign_id and area != EVERYWHERE}


def main_entry(event: CampaignEvent, now: float) -> Campaign:
    return Campaign(
        version=event.version,
        score=event.score,
        days=event.days_of_week,
        slots=event.time_slots,
        status=event.status,
        when=day_slot_bits(product(event.days_of_week, event.time_slots)) if EVERYWHERE in event.running else 0,
        areas=sorted(set(event.areas)),
        until=None if event.status == ACTIVE else int(now) + RETENTION_SECONDS,
    )


def area_entry(main: Campaign, *, runs: bool, now: float) -> Campaign:
    """A campaign's entry in an area; `runs` is False for an area that the campaign has left."""
    if not runs:
        return msgspec.structs.replace(main, status=ENDED, when=0, areas=None, until=int(now) + RETENTION_SECONDS)
    everywhere = main.areas is not None and EVERYWHERE in main.areas
    when = day_slot_bits(product(main.days, main.slots))
    return msgspec.structs.replace(main, when=when, areas=[EVERYWHERE] if everywhere else None)


def pruned(row: PartnerRow, now: float, settled: Mapping[str, Collection[str]] = MappingProxyType({})) -> PartnerRow:
    """The row without outdated entries and areas; the same object if there is nothing to remove.

    `settled` are campaigns whose entries are all up to date, each with the areas that it runs in: others are removed. A
    row without running campaigns expires.
    """
    campaigns = row.campaigns
    kept_areas = {each for each in row.campaign_areas if not _is_left(each, settled)} if settled else row.campaign_areas
    elsewhere = {each.partition("#")[2] for each in kept_areas if not each.startswith(f"{EVERYWHERE}#")}
    over = {name: each.until or 0 for name, each in campaigns.items() if _is_over(each) and name not in elsewhere}
    outdated = {name for name, until in over.items() if until <= now}
    expires = max(over.values(), default=int(now)) if len(over) == len(campaigns) else None
    kept_areas = kept_areas - {campaign_area(EVERYWHERE, name) for name in outdated}
    if not outdated and kept_areas == row.campaign_areas and expires == row.expires:
        return row
    kept = {name: each for name, each in campaigns.items() if name not in outdated}
    return type(row).campaigns.replaced(sk.replace(row, campaign_areas=kept_areas, expires=expires), kept)


def _is_left(campaign_area: str, settled: Mapping[str, Collection[str]]) -> bool:
    area, _, campaign = campaign_area.partition("#")
    return area != EVERYWHERE and campaign in settled and area not in settled[campaign]


def _is_over(campaign: Campaign) -> bool:
    return campaign.status == ENDED
