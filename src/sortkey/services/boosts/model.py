"""The rows: one for each partner and area, with all of the partner's campaigns there.

    key   {tenant}#{area}  {partner}

A campaign is an entry of the row, with its own version, so one conditional write creates or replaces it without
reading, and no campaign gets in another's way. The partner's row of the area `*` is every campaign's *home*, wherever
it runs: it has the newest version, and in `places` the areas that may still have an entry of it. An event that is older
than the home's entry is stale altogether.

Ended campaigns stay for a while, so that an event that comes late finds a newer version and not a gap.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Annotated, Final, Literal

import msgspec

import sortkey as sk
from sortkey.services.boosts.event import ACTIVE, ENDED, EVERYWHERE, CampaignEvent
from sortkey.services.boosts.schedule import Day, Slot, bits

RETENTION_SECONDS: Final = 30 * 24 * 3600
"""How long an ended campaign is remembered."""
MOST_PLACES: Final = 500
"""Of one partner, over all its campaigns: keeps a row below DynamoDB's 400 KB, whatever the ids are."""

BOOSTS: Final = sk.Table("boosts", ttl="expires")


class Campaign(msgspec.Struct, frozen=True, kw_only=True):
    version: str
    score: Annotated[float, sk.inexact]
    days: frozenset[Day]
    slots: frozenset[Slot]
    status: Literal["ACTIVE", "ENDED"]
    when: int = 0
    """The days and slots in which it counts in this row, as `schedule.bits`: all that a lookup has to look at. Nothing
    if it has ended, or in its home if it does not run everywhere."""
    areas: list[str] | None = None
    """Where it runs, in its home; `*` elsewhere, if it is there because it runs everywhere; else nothing."""
    until: int | None = None
    """When an ended one may be forgotten."""

    @property
    def running(self) -> list[str]:
        """Where it runs, of its home's entry."""
        return [] if self.status == ENDED or self.areas is None else self.areas


class PartnerRow(sk.Item):
    tenant: Annotated[str, sk.in_key]
    area: Annotated[str, sk.in_key]
    partner: str
    places: set[str] = sk.field(default_factory=set)
    revision: int = 0
    expires: int | None = None

    campaigns = sk.Entries(Campaign, "c:")
    key = sk.Key("{tenant}#{area}", "{partner}", names=("pk", "partner"))


class BoostRow(PartnerRow, table=BOOSTS):
    """A row of the default design."""


def place(area: str, campaign_id: str) -> str:
    return f"{area}#{campaign_id}"


def areas_of(places: Iterable[str], campaign_id: str) -> set[str]:
    """The areas that may have an entry of this campaign, besides its home."""
    split = (each.partition("#") for each in places)
    return {area for area, _, campaign in split if campaign == campaign_id and area != EVERYWHERE}


def home_entry(event: CampaignEvent, now: float) -> Campaign:
    return Campaign(
        version=event.version,
        score=event.score,
        days=event.days_of_week,
        slots=event.time_slots,
        status=event.status,
        when=bits(product(event.days_of_week, event.time_slots)) if EVERYWHERE in event.running else 0,
        areas=sorted(set(event.areas)),
        until=None if event.status == ACTIVE else int(now) + RETENTION_SECONDS,
    )


def entry_there(home: Campaign, *, runs: bool, now: float) -> Campaign:
    """A campaign's entry in an area that it runs in, or no longer."""
    if not runs:
        return msgspec.structs.replace(home, status=ENDED, when=0, areas=None, until=int(now) + RETENTION_SECONDS)
    everywhere = home.areas is not None and EVERYWHERE in home.areas
    when = bits(product(home.days, home.slots))
    return msgspec.structs.replace(home, when=when, areas=[EVERYWHERE] if everywhere else None)


def tidied(row: PartnerRow, now: float, settled: str | None = None, running: Iterable[str] = ()) -> PartnerRow:
    """The row without what it need not remember; itself if there is nothing to tidy.

    `settled` is a campaign whose entries have all been brought up to date, so that places where it does not run can
    be forgotten. A row in which nothing runs any more expires.
    """
    campaigns = row.campaigns
    gone = set() if settled is None else areas_of(row.places, settled).difference(running)
    places = row.places - {place(area, settled) for area in gone if settled is not None}
    elsewhere = {each.partition("#")[2] for each in places if not each.startswith(f"{EVERYWHERE}#")}
    over = {name: each.until or 0 for name, each in campaigns.items() if _is_over(each) and name not in elsewhere}
    forgotten = {name for name, until in over.items() if until <= now}
    expires = max(over.values(), default=int(now)) if len(over) == len(campaigns) else None
    places -= {place(EVERYWHERE, name) for name in forgotten}
    if not forgotten and places == row.places and expires == row.expires:
        return row
    kept = {name: each for name, each in campaigns.items() if name not in forgotten}
    return type(row).campaigns.replaced(sk.replace(row, places=places, expires=expires), kept)


def _is_over(campaign: Campaign) -> bool:
    return campaign.status == ENDED
