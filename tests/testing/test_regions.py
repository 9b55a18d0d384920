"""`sk.testing.regions`, and what the patterns do between regions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime

import pytest

import sortkey as sk

EU, US = "eu-west-1", "us-east-1"
BOTH = (EU, US)
ORDERS = sk.Table("orders-of-regions", replicas=BOTH, home=EU)
HOMELESS = sk.Table("homeless", replicas=BOTH)


class Order(sk.Item, table=ORDERS):
    number: int
    customer: str = ""
    remind: datetime | None = None

    key = sk.Key("ORDER#{number}")


class Wanderer(sk.Item, table=HOMELESS):
    name: str

    key = sk.Key("W#{name}")


@pytest.fixture
def world() -> Iterator[sk.testing.RegionsOfTest]:
    with sk.testing.regions(EU, US, tables=[Order, Wanderer]) as regions:
        yield regions


def test_a_region_is_cut_off_and_back(world: sk.testing.RegionsOfTest) -> None:
    eu, us = world[EU], world[US]
    eu.put(Order(number=1, customer="ada"))
    world.settle()
    assert us.get(Order.key(number=1)) is not None
    world.cut(EU, US)
    eu.put(Order(number=1, customer="bob"))
    us.put(Order(number=1, customer="cleo"))
    world.settle()
    found = [session.get(Order.key(number=1)) for session in (eu, us)]
    assert [each and each.customer for each in found] == ["bob", "cleo"]
    world.heal()
    world.settle()
    found = [session.get(Order.key(number=1)) for session in (eu, us)]
    assert [each and each.customer for each in found] == ["cleo", "cleo"]


def test_the_lag_is_by_the_clock_of_the_test() -> None:
    clock = sk.testing.ManualClock()
    with sk.testing.regions(EU, US, tables=[Order], lag=5, clock=clock) as world:
        world[EU].put(Order(number=1))
        assert world[US].get(Order.key(number=1)) is None
        world.settle()
        assert world[US].get(Order.key(number=1)) is not None


async def handled(changes: Sequence[sk.Change[Order]]) -> None:
    numbers.extend(change.new.number for change in changes if change.new is not None)


numbers: list[int] = []
FEED = sk.feeds.ChangeFeed("numbers", Order, handled)


def test_a_feed_runs_in_the_home_of_its_table_and_sees_the_writes_of_all_regions(
    world: sk.testing.RegionsOfTest,
) -> None:
    async def run() -> None:
        numbers.clear()
        world[US].put(Order(number=2))
        world.settle()
        async with sk.async_connect(world.url(EU)) as db, sk.feeds.Follower(db, [FEED]) as follower:
            await follower.caught_up()
        assert numbers == [2]

    asyncio.run(run())


def test_a_feed_does_not_run_elsewhere(world: sk.testing.RegionsOfTest) -> None:
    async def run() -> None:
        async with sk.async_connect(world.url(US)) as db:
            with pytest.raises(sk.WrongRegion, match="in its home eu-west-1, and this session is in us-east-1"):
                async with sk.feeds.Follower(db, [FEED]):
                    pass

    asyncio.run(run())


def test_timers_do_not_run_elsewhere(world: sk.testing.RegionsOfTest) -> None:
    async def run() -> None:
        async def on_due(due: sk.patterns.Due[Order]) -> None:
            raise AssertionError(due)

        reminders = sk.patterns.schedule("reminders", Order, at="remind")
        async with sk.async_connect(world.url(US)) as db:
            with pytest.raises(sk.WrongRegion, match="run the follower there"):
                async with sk.feeds.Follower(db, [sk.feeds.Timers(reminders, on_due)]):
                    pass

    asyncio.run(run())


def test_a_table_with_replicas_and_no_home_is_followed_nowhere(world: sk.testing.RegionsOfTest) -> None:
    async def nothing(changes: Sequence[sk.Change[Wanderer]]) -> None:
        raise AssertionError(changes)

    feed = sk.feeds.ChangeFeed("wanderers", Wanderer, nothing)

    async def run() -> None:
        async with sk.async_connect(world.url(EU)) as db:
            with pytest.raises(sk.WrongRegion, match=r'sk.Table\("homeless", replicas=…, home="eu-west-1"\)'):
                async with sk.feeds.Follower(db, [feed]):
                    pass

    asyncio.run(run())


def test_a_follower_may_say_where_the_home_is(world: sk.testing.RegionsOfTest) -> None:
    names: list[str] = []

    async def noted(changes: Sequence[sk.Change[Wanderer]]) -> None:
        names.extend(change.new.name for change in changes if change.new is not None)

    feed = sk.feeds.ChangeFeed("wanderers", Wanderer, noted)

    async def run() -> None:
        async with sk.async_connect(world.url(US)) as db, sk.feeds.Follower(db, [feed], home=US) as follower:
            await db.put(Wanderer(name="ada"))
            await follower.caught_up()

    asyncio.run(run())
    assert names == ["ada"]


# The embedded engine has one region: there the declaration changes nothing.
def test_a_store_without_regions_is_followed_as_ever() -> None:
    async def run() -> None:
        numbers.clear()
        async with sk.async_connect("memory:", tables=[Order]) as db:
            await db.create_tables()
            async with sk.feeds.Follower(db, [FEED]) as follower:
                await db.put(Order(number=3))
                await follower.caught_up()
        assert numbers == [3]

    def test_what_regions_are_needed() -> None:
        with pytest.raises(ValueError, match="two regions or more"):
            sk.testing.regions(EU)
        with pytest.raises(sk.DeclarationError, match="home= is one of replicas="):
            sk.Table("wrong-home", replicas=BOTH, home="ap-south-1")

    def test_sessions_end_with_the_regions() -> None:
        with sk.testing.regions(EU, US) as other:
            session = sk.connect(other.url(EU))
        with pytest.raises(RuntimeError, match="belongs to regions that are closed"):
            session.create_tables(Order)
        session.close()

    asyncio.run(run())
