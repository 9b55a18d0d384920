"""Prices in two regions: each store's prices are changed in its home, and read in both, and one is cut off."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

import pytest

import sortkey as sk
from sortkey_services.pricing.model import CHANGES, PRICES
from tests.sortkey_services.pricing.conftest import NOON, Service

EU, US = "eu-west-1", "us-east-1"


class Shops(NamedTuple):
    world: sk.testing.RegionsOfTest
    eu: Service
    us: Service


@pytest.fixture
def shops() -> Iterator[Shops]:
    """The service in both regions, on tables with replicas."""
    clock = sk.testing.ManualClock(NOON.timestamp())
    with sk.testing.regions(EU, US, clock=clock) as world, asyncio.Runner() as runner:

        async def opened(region: str) -> sk.AsyncSession:
            return await sk.async_connect(world.url(region), tables=[PRICES, CHANGES], clock=clock)

        eu_session, us_session = (runner.run(opened(region)) for region in (EU, US))
        eu = Service(runner, eu_session, clock)
        for table in (PRICES, CHANGES):
            update = [{"Create": {"RegionName": US}}]
            eu.wait(eu_session.client.update_table(TableName=table.name, ReplicaUpdates=update))
        world.settle()
        yield Shops(world, eu, Service(runner, us_session, clock))
        for session in (eu_session, us_session):
            runner.run(session.close())


def test_a_price_is_read_where_it_was_not_set(shops: Shops) -> None:
    shops.eu.change("P1", "10")
    shops.world.settle()
    assert shops.us.prices() == {"P1": "10.00"}
    assert shops.us.history("P1") == [(None, "10.00")]


# Both go on while they are cut off: with old prices of the other region's stores, and scheduled changes on time.
def test_a_region_is_cut_off_and_back(shops: Shops) -> None:
    world, eu, us = shops
    eu.change("P1", "10", store="munich")
    eu.change("P1", "12", minutes=5, store="munich")
    us.change("P1", "20", store="boston")
    world.settle()
    world.cut(EU, US)
    eu.change("P2", "30", store="munich")
    us.change("P2", "40", store="boston")
    eu.pass_minutes(5)
    assert (eu.prices(store="munich"), us.prices(store="munich")) == ({"P1": "12.00", "P2": "30.00"}, {"P1": "12.00"})
    assert (eu.prices(store="boston"), us.prices(store="boston")) == ({"P1": "20.00"}, {"P1": "20.00", "P2": "40.00"})
    world.heal()
    world.settle()
    for service in (eu, us):
        assert service.prices(store="munich") == {"P1": "12.00", "P2": "30.00"}
        assert service.prices(store="boston") == {"P1": "20.00", "P2": "40.00"}


# What the guide warns of: the price of the last writer stays, while the history has both changes.
def test_a_price_that_both_change_has_the_last_change(shops: Shops) -> None:
    world, eu, us = shops
    eu.change("P1", "10")
    world.settle()
    world.cut(EU, US)
    eu.change("P1", "11")
    eu.clock.advance(1)
    us.change("P1", "12")
    world.heal()
    world.settle()
    assert [service.prices() for service in (eu, us)] == [{"P1": "12.00"}] * 2
    assert sorted(str(amount) for _, amount in eu.history("P1")) == ["10.00", "11.00", "12.00"]
    assert eu.history("P1") == us.history("P1")


# The transition is a timer, and runs in one region. The other one gets what it makes permanent.
def test_the_transition_runs_in_the_home(shops: Shops) -> None:
    world, eu, us = shops
    eu.change("P1", "10")
    us.change("P2", "20", minutes=1)
    world.settle()

    async def follow(service: Service) -> None:
        async with sk.feeds.Follower(service.session, service.pricing.feeds, home=EU) as follower:
            await follower.caught_up()

    with pytest.raises(sk.WrongRegion, match=f"in its home {EU}, and this session is in {US}"):
        us.wait(follow(us))
    eu.wait(follow(eu))
    eu.pass_minutes(2)
    eu.wait(follow(eu))
    world.settle()
    assert [service.prices() for service in (eu, us)] == [{"P1": "10.00", "P2": "20.00"}] * 2
    assert us.upcoming() == eu.upcoming()
