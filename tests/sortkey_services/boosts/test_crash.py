"""Killed in the midst of campaigns that change their areas, and told again what it had not acknowledged, the service is
where it would be had nothing happened."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

import msgspec
import pytest

import sortkey as sk
from sortkey_services.boosts.event import CampaignEvent
from sortkey_services.boosts.model import BoostRow, areas_of
from sortkey_services.boosts.service import TABLES, BoostsService
from tests.faults.processes import killed
from tests.sortkey_services.boosts import killed_writer
from tests.sortkey_services.boosts.campaigns import MONDAY_LUNCH, SETTINGS
from tests.sortkey_services.boosts.killed_writer import AREAS, DONE, PARTNERS

pytestmark = [pytest.mark.faults, pytest.mark.slow]

ROUNDS = 12


def newest() -> dict[tuple[str, str], CampaignEvent]:
    found: dict[tuple[str, str], CampaignEvent] = {}
    for event in killed_writer.events():
        campaign = (event.partner_id, event.campaign_id)
        if campaign not in found or found[campaign].version < event.version:
            found[campaign] = event
    return found


def expected(area: str) -> dict[str, tuple[str, float]]:
    """Partner to campaign and score: what a dictionary of the newest events says."""
    best: dict[str, tuple[bool, float, str]] = {}
    for event in newest().values():
        if event.status == "ACTIVE" and {area, "*"}.intersection(event.areas):
            rank = (area not in event.areas, -event.score, event.campaign_id)
            best[event.partner_id] = min(rank, best.get(event.partner_id, rank))
    return {partner: (campaign, -score) for partner, (_, score, campaign) in best.items()}


async def deliver_the_rest_and_compare(folder: Path, rest: list[CampaignEvent]) -> None:
    async with sk.async_connect(folder, tables=TABLES["v2"]) as session:
        service = BoostsService(session, SETTINGS)
        await service.start()
        await service.apply("de", rest)
        for area in AREAS:
            found = await service.lookup("de", area, PARTNERS, MONDAY_LUNCH)
            assert {each.partner_id: (each.campaign_id, each.score) for each in found} == expected(area), area
        for (partner, campaign), event in newest().items():
            home = await session.get(BoostRow.key(tenant="de", area="*", partner=partner), consistent=True)
            assert home is not None
            # Every area with an entry is listed; areas without one may be listed too.
            assert areas_of(home.campaign_areas, campaign) >= set(event.running) - {"*"}


def test_a_killed_process_leaves_nothing_behind(tmp_path: Path) -> None:
    folder, notes = tmp_path / "data", Path(f"{tmp_path / 'data'}.{DONE}")
    known = killed_writer.events()
    done: set[int] = set()
    for seed in range(ROUNDS):
        notes.write_bytes(msgspec.json.encode(sorted(done)))
        lines = killed(killed_writer.main, folder, seed, after_lines=Random(seed).randint(0, 6))
        done |= {int(number) for line in lines if line != "over" for number in line.split()}
    # Some were killed with work left to do, else this showed nothing.
    assert 0 < len(done) < len(known)
    rest = [event for number, event in enumerate(known) if number not in done]
    Random(99).shuffle(rest)
    asyncio.run(deliver_the_rest_and_compare(folder, rest))
