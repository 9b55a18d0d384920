"""What the table of docs/guides/regions.md says of each pattern between regions, under random writes and cuts."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sortkey as sk

EU, US = REGIONS = ("eu-west-1", "us-east-1")
TABLE = sk.Table("stock", replicas=REGIONS, home=EU)
COUNTS = sk.Table("stock-counts")


class Stock(sk.Item, table=TABLE):
    shop: str
    product: str
    number: int = 0
    version: Annotated[int, sk.version] = 0

    key = sk.Key("SHOP#{shop}", "{product}")


class ShopCount(sk.Item, table=COUNTS):
    shop: str
    products: int = 0

    key = sk.Key("SHOP#{shop}", "COUNT")


products = st.sampled_from(("tea", "milk", "bread"))
steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(REGIONS), products, st.integers(1, 9)),
        st.sampled_from(("cut", "heal", "settle")),
    ),
    max_size=30,
)


def disturb(world: sk.testing.RegionsOfTest, what: str) -> None:
    if what == "cut":
        world.cut(*REGIONS)
    elif what == "heal":
        world.heal()
    else:
        world.settle()


def unite(world: sk.testing.RegionsOfTest) -> None:
    world.heal()
    world.settle()


def shown(world: sk.testing.RegionsOfTest, region: str, shop: str) -> dict[str, int]:
    return {each.product: each.number for each in world[region].iterate(Stock.key(shop=shop))}


# The home is in the key: a region writes the items of its own shop, so that nobody else does.
@settings(max_examples=15)
@given(steps)
def test_nothing_is_lost_of_items_that_one_region_writes(life: list[Any]) -> None:
    written: dict[str, dict[str, int]] = {region: {} for region in REGIONS}
    with sk.testing.regions(*REGIONS, tables=[TABLE]) as world:
        for step in life:
            if isinstance(step, str):
                disturb(world, step)
                continue
            region, product, number = step
            before = world[region].get(Stock.key(shop=region, product=product)) or Stock(shop=region, product=product)
            # Under a condition on its version, which never fails in the home.
            world[region].put(sk.replace(before, number=number))
            written[region][product] = number
        unite(world)
        for region in REGIONS:
            assert [shown(world, each, region) for each in REGIONS] == [written[region]] * 2


# A counter for each region adds up to what was added. One counter for both never has more.
@settings(max_examples=15)
@given(steps)
def test_counters_of_each_region_add_up(life: list[Any]) -> None:
    added = 0
    with sk.testing.regions(*REGIONS, tables=[TABLE]) as world:
        for step in life:
            if isinstance(step, str):
                disturb(world, step)
                continue
            region, product, number = step
            for shop in (region, "both"):
                path = Stock.key(shop=shop, product=product)
                if world[region].get(path) is None:
                    world[region].put(Stock(shop=shop, product=product))
                world[region].update(path, [sk.F(Stock.number).add(number)])
            added += number
        unite(world)
        for region in REGIONS:
            assert sum(sum(shown(world, region, shop).values()) for shop in REGIONS) == added
            assert sum(shown(world, region, "both").values()) <= added


# An aggregate that is followed in the home counts the items of all regions, each once.
@settings(max_examples=8)
@given(steps)
def test_an_aggregate_in_the_home_counts_all_regions(life: list[Any]) -> None:
    counted = sk.patterns.aggregate(
        Stock,
        into=ShopCount,
        by=("shop",),
        values={"products": sk.patterns.count()},
    )
    with sk.testing.regions(*REGIONS, tables=[TABLE]) as world:
        world[EU].create_tables(COUNTS)

        async def count() -> None:
            async with sk.async_connect(world.url(EU)) as db:
                feed = sk.feeds.ChangeFeed("stock-counts", Stock, counted.aggregator(db).on_changes)
                async with sk.feeds.Follower(db, [feed]) as follower:
                    await follower.caught_up()

        for step in life:
            if isinstance(step, str):
                disturb(world, step)
            else:
                region, product, number = step
                stock = Stock(shop="both", product=f"{product} {number}")
                if world[region].get(Stock.key(shop=stock.shop, product=stock.product)) is None:
                    world[region].put(stock)
        unite(world)
        asyncio.run(count())
        found = world[EU].get(ShopCount.key(shop="both"))
        assert (0 if found is None else found.products) == len(shown(world, US, "both"))


# Two regions that do not see each other both meet a condition; one of the items is lost.
def test_conditions_hold_in_a_region_alone() -> None:
    with sk.testing.regions(*REGIONS, tables=[TABLE]) as world:
        world.cut(*REGIONS)
        for number, region in enumerate(REGIONS):
            world[region].put(Stock(shop="both", product="tea", number=number))
        unite(world)
        stale = world[US].get(Stock.key(shop="both", product="tea"))
        assert stale is not None
        assert [shown(world, region, "both") for region in REGIONS] == [{"tea": 1}] * 2
        # Who has seen the item that remains is told when it changes.
        world[EU].put(sk.replace(stale, number=5))
        world.settle()
        with pytest.raises(sk.ConditionFailed):
            world[US].put(sk.replace(stale, number=6))
