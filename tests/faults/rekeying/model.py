"""What the campaigns of the test are, and which versions of them an answer may show.

A campaign has versions 1, 2, 3, …; its score tells its number and its version, so an answer tells what it was made of.
Writers note in a file that all processes map when they begin a version, and when it is acknowledged.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

import msgspec

from sortkey_services.boosts.design import Boost
from sortkey_services.boosts.event import ENDED, EVERYWHERE, CampaignEvent
from sortkey_services.boosts.tenants import Settings, TenantSettings

TENANT: Final = "de"
DISTRICTS: Final = ("BER-01", "BER-02", "BER-03")
PARTNERS: Final = 60
CAMPAIGNS: Final = 2
"""Of each partner."""
VERSIONS: Final = 4000
"""At most, of each campaign."""
MONDAY: Final = datetime(2026, 8, 24, 10, 30, tzinfo=UTC)
_AREAS: Final = ((EVERYWHERE,), DISTRICTS[:1], DISTRICTS[1:], (), DISTRICTS)
_EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)


def settings(to: str, compared: float = 0.02) -> Settings:
    given = {"design": "v1", "moving_to": to, "compared": compared}
    tenants = {TENANT: TenantSettings("zoned", "Europe/Berlin")}
    return msgspec.convert({**given, "tenants": msgspec.to_builtins(tenants)}, Settings)


def config(to: str) -> str:
    return (
        f'[boosts]\ndesign = "v1"\nmoving_to = "{to}"\ncompared = 0.02\n'
        f'[boosts.tenants.{TENANT}]\nareas = "zoned"\ntimezone = "Europe/Berlin"\n'
    )


def partner_id(partner: int) -> str:
    return f"p{partner:04}"


def areas_of(partner: int, campaign: int, version: int) -> tuple[str, ...]:
    """Where it runs; nowhere if it has ended."""
    return () if version == 0 else _AREAS[(partner * 7 + campaign * 3 + version * (version + 1) // 2) % len(_AREAS)]


def event_of(partner: int, campaign: int, version: int) -> CampaignEvent:
    areas = areas_of(partner, campaign, version)
    return CampaignEvent(
        event_id=f"e{version}",
        campaign_id=f"c{campaign}",
        partner_id=partner_id(partner),
        areas=areas or (EVERYWHERE,),
        score=float(1 + CAMPAIGNS * version + campaign),
        days_of_week=frozenset({"Monday"}),
        time_slots=frozenset({"all-day"}),
        status="ACTIVE" if areas else ENDED,
        updated_at=_EPOCH + timedelta(seconds=version),
        tenant=TENANT,
    )


class Board:
    """The file that all processes map."""

    def __init__(self, path: Path) -> None:
        words = 1 + PARTNERS * CAMPAIGNS * (2 + VERSIONS)
        if not path.exists():
            with path.open("wb") as made:
                made.truncate(8 * words)
        with path.open("r+b") as opened:
            self._bytes = mmap.mmap(opened.fileno(), 8 * words)
        self._numbers = memoryview(self._bytes).cast("q")
        self._times = memoryview(self._bytes).cast("d")

    @property
    def handing_over(self) -> bool:
        """Whether programs may write the new design: its writes are several rows, one after the other."""
        return bool(self._numbers[0])

    def hand_over(self) -> None:
        self._numbers[0] = 1

    def begin(self, partner: int, campaign: int) -> int:
        """The next version."""
        at = self._at(partner, campaign)
        self._numbers[at] += 1
        return self._numbers[at]

    def acknowledged(self, partner: int, campaign: int, version: int) -> None:
        at = self._at(partner, campaign)
        self._times[at + 2 + version] = monotonic()
        self._numbers[at + 1] = version

    def begun(self, partner: int, campaign: int) -> int:
        return self._numbers[self._at(partner, campaign)]

    def acknowledged_before(self, partner: int, campaign: int, moment: float) -> int:
        at = self._at(partner, campaign)
        version = self._numbers[at + 1]
        while version and self._times[at + 2 + version] > moment:
            version -= 1
        return version

    def at(self, partner: int, campaign: int, version: int) -> float:
        """When the version was acknowledged; 0 if it was not yet."""
        return self._times[self._at(partner, campaign) + 2 + version]

    def _at(self, partner: int, campaign: int) -> int:
        return 1 + (partner * CAMPAIGNS + campaign) * (2 + VERSIONS)


class Seen(NamedTuple):
    """The versions of a partner's campaigns that an answer may show: from the first, to the second."""

    partner: int
    ranges: tuple[tuple[int, int], ...]


def seen_in(boost: Boost | None) -> tuple[int, int] | None:
    """The campaign and the version that an answer shows."""
    if boost is None:
        return None
    version, campaign = divmod(round(boost.score) - 1, CAMPAIGNS)
    return campaign, version


def why_wrong(seen: Seen, district: str, boost: Boost | None, *, torn: bool) -> str:
    """Why an answer cannot be that of any moment; empty if it can. `torn` allows for writes under way that are in some
    of their rows."""
    shown = seen_in(boost)
    if boost is None or shown is None:
        for campaign, (low, high) in enumerate(seen.ranges):
            if not (torn and low < high) and all(
                _runs(seen.partner, campaign, version, district) for version in range(low, high + 1)
            ):
                return f"nothing of c{campaign}, which runs in the versions {low} to {high}"
        return ""
    campaign, version = shown
    low, high = seen.ranges[campaign]
    if not low <= version <= high:
        return f"version {version} of c{campaign}, not one from {low} to {high}"
    area = _runs(seen.partner, campaign, version, district)
    if area != boost.area and not torn:
        return f"version {version} of c{campaign} in {boost.area}, which runs in {area or 'no area here'}"
    rank = (boost.area == EVERYWHERE, -boost.score)
    for other, (first, last) in enumerate(seen.ranges):
        if other == campaign or (torn and first < last):
            continue
        ranks = [_rank(seen.partner, other, each, district) for each in range(first, last + 1)]
        if all(each is not None and each < rank for each in ranks):
            return f"version {version} of c{campaign}, although c{other} wins in the versions {first} to {last}"
    return ""


def _runs(partner: int, campaign: int, version: int, district: str) -> str:
    """The area by which it runs in the district; empty if it does not."""
    areas = areas_of(partner, campaign, version)
    return district if district in areas else EVERYWHERE if EVERYWHERE in areas else ""


def _rank(partner: int, campaign: int, version: int, district: str) -> tuple[bool, float] | None:
    area = _runs(partner, campaign, version, district)
    return (area == EVERYWHERE, -float(1 + CAMPAIGNS * version + campaign)) if area else None


def all_campaigns() -> Iterator[tuple[int, int]]:
    return ((partner, campaign) for partner in range(PARTNERS) for campaign in range(CAMPAIGNS))
