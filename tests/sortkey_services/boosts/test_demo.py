"""The demonstration data."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import datetime

import pytest

import sortkey as sk
from sortkey_services.boosts import demo
from sortkey_services.boosts.event import EVERYWHERE, check_events
from sortkey_services.boosts.model import BoostRow
from sortkey_services.boosts.service import BoostsService
from sortkey_services.boosts.tenants import markets_of, read_settings

MONDAY = datetime.fromisoformat("2026-08-24T12:30:00+02:00")
SATURDAY_NIGHT = datetime.fromisoformat("2026-08-30T00:30:00+02:00")


@pytest.fixture(scope="module")
def regions() -> dict[str, demo.Region]:
    return {region.tenant: region for region in demo.REGIONS}


@pytest.mark.slow
def test_it_is_the_same_every_time(regions: dict[str, demo.Region]) -> None:
    assert list(demo.events_of(regions["de"])) == list(demo.events_of(regions["de"]))


@pytest.mark.slow
def test_every_event_is_one_that_the_service_takes(regions: dict[str, demo.Region]) -> None:
    markets = markets_of(read_settings({}))
    for tenant, region in regions.items():
        events = asyncio.run(check_events(list(demo.events_of(region)), tenant))
        assert [event for event in events if markets[tenant].error(event)] == []


@pytest.mark.slow
def test_one_market_is_wildcard_one_zoned_one_mixed(regions: dict[str, demo.Region]) -> None:
    counts = {
        tenant: Counter(event.areas == (EVERYWHERE,) for event in demo.events_of(region))
        for tenant, region in regions.items()
    }
    assert not counts["tr"][False]
    assert not counts["gr"][True]
    assert min(counts["de"].values()) > 1000
    assert len({event.partner_id for event in demo.events_of(regions["tr"])}) == 11_500


@pytest.mark.slow
def test_the_examples_of_the_readme() -> None:
    async def told() -> None:
        async with sk.async_connect("memory:", tables=[BoostRow]) as session:
            service = BoostsService(session, read_settings({}))
            await service.start()
            seen: list[tuple[int, int]] = []
            await service.load_demo(lambda done, total: seen.append((done, total)))
            assert seen == sorted(seen)
            assert seen[-1][0] == seen[-1][1] > 15_000
            partners = ["10740321", "10740322", "10740323", "10740324", "10740325"]
            found = await service.lookup("de", "BER-01", partners, MONDAY)
            assert [(each.partner_id, each.campaign_id, each.area) for each in found] == [
                ("10740321", "lunch-in-mitte", "BER-01"),
                ("10740324", "power-lunch", "*"),
            ]
            found = await service.lookup("de", "BER-01", partners, SATURDAY_NIGHT)
            assert [each.campaign_id for each in found] == ["summer-in-the-city", "late-bites", "every-day"]
            # Loaded once: what has happened since stays.
            seen.clear()
            await service.load_demo(lambda done, total: seen.append((done, total)))
            assert seen == []

    asyncio.run(told())
