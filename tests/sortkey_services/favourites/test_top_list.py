"""The top list: what a page reads, which ties it has, and where its cursors lead while counts change."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

import pytest

import sortkey as sk
from sortkey_services.favourites.model import TOP_SHARDS, FavouriteCount
from sortkey_services.favourites.service import FavouritesService, top_page
from sortkey_services.favourites.service_definition import FAVOURITES
from tests.sortkey_services.favourites.conftest import Service, shown

ROWS_OF_A_SHARD: Final = 6
"""Of a page of 10: its share of 11, and a little more."""


class Read(NamedTuple):
    units: float
    rows: int
    calls: int
    restaurants: list[str]


def read_of(restaurants: int, limit: int, pages: int = 1) -> list[Read]:
    """What each of the first pages reads, if every restaurant has one mark."""

    async def whole() -> list[Read]:
        async with sk.async_connect("memory:", tables=FAVOURITES.tables({})) as session:
            service = FavouritesService(session)
            await service.start()
            await session.load(
                FavouriteCount(restaurant=f"r{number:06}", window="ALL_TIME", count=1) for number in range(restaurants)
            )
            reads, cursor = [], None
            for _ in range(pages):
                before = session.meter.reading("FavouriteCount.top")
                page = await service.top("ALL_TIME", top_page(limit, cursor))
                after = session.meter.reading("FavouriteCount.top")
                reads.append(
                    Read(
                        after.units - before.units,
                        after.rows_read - before.rows_read,
                        after.calls - before.calls,
                        [each.restaurant for each in page],
                    )
                )
                cursor = page.end_cursor
            return reads

    return asyncio.run(whole())


# It read every restaurant with the count at the end of the list: 379 units for 10 of 30,000.
@pytest.mark.slow
def test_a_page_reads_as_much_of_30_000_ties_as_of_1_000() -> None:
    few, many = read_of(1000, 10, pages=3), read_of(30_000, 10, pages=3)
    assert many == few
    assert many[0].restaurants == [f"r{number:06}" for number in range(10)]
    assert many[2].restaurants == [f"r{number:06}" for number in range(20, 30)]
    assert max(each.rows for each in many) <= TOP_SHARDS * ROWS_OF_A_SHARD
    assert {each.units for each in many} == {TOP_SHARDS * 0.5}


@pytest.mark.parametrize("limit", [1, 10, 100])
def test_a_page_reads_what_it_has_and_a_little_of_each_shard(limit: int) -> None:
    (read,) = read_of(1000, limit)
    assert len(read.restaurants) == limit
    assert read.rows <= 2 * limit + TOP_SHARDS * ROWS_OF_A_SHARD


def test_a_restaurant_that_nobody_marks_any_more_is_in_no_page_and_costs_none(service: Service) -> None:
    service.mark(*(("ada", f"r{number:02}") for number in range(40)))
    service.count()
    for number in range(1, 40):
        service.unmark("ada", f"r{number:02}")
    service.count()
    page = service.top_page(limit=10)
    assert (shown(page), page.has_next) == ([("r00", 1)], False)
    assert service.session.meter.reading("FavouriteCount.top").rows_read == 1


def test_a_mark_moves_a_restaurant_up_and_unmarking_moves_it_down(service: Service) -> None:
    service.mark(("ada", "r1"), ("ada", "r2"), ("bob", "r2"), ("ada", "r3"))
    service.count()
    assert service.top() == [("r2", 2), ("r1", 1), ("r3", 1)]
    service.mark(("bob", "r3"), ("eve", "r3"))
    service.unmark("bob", "r2")
    service.count()
    assert service.top() == [("r3", 3), ("r1", 1), ("r2", 1)]


# A cursor is a place in the order, so it needs no row: neither one that has moved nor one that is gone.
def test_a_cursor_goes_on_from_its_place_while_counts_change(service: Service) -> None:
    service.mark(*(("ada", f"r{number}") for number in range(6)), ("bob", "r5"))
    service.count()
    first = service.top_page(limit=3)
    assert shown(first) == [("r5", 2), ("r0", 1), ("r1", 1)]
    service.unmark("ada", "r1")
    service.mark(("bob", "r3"), ("eve", "r6"))
    service.count()
    # r3 has risen above the cursor, so it is in no page; r1, where the cursor was, is no longer in the list.
    assert shown(service.top_page(limit=10, after=first.end_cursor)) == [("r2", 1), ("r4", 1), ("r6", 1)]
    service.unmark("bob", "r5")
    service.count()
    # r5 has fallen below the cursor, so it is in both.
    assert shown(service.top_page(limit=10, after=first.end_cursor)) == [("r2", 1), ("r4", 1), ("r5", 1), ("r6", 1)]


def test_ties_are_in_the_order_of_their_ids_whatever_these_contain(service: Service) -> None:
    ids = ["a", "a#", "a#b", "a$", "b", "z", "Z", "0", "#", "$", "ü", "日本", " "]
    service.mark(*(("ada", each) for each in ids))
    service.count()
    assert [restaurant for restaurant, _ in service.top(limit=20)] == sorted(ids)
