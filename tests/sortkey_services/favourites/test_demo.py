"""The demonstration data, and its visitors."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random

import pytest

import sortkey as sk
from sortkey_services.favourites import demo
from sortkey_services.favourites.model import Favourite, FavouriteCount
from sortkey_services.favourites.service import FavouritesService, top_page


def test_it_is_the_same_every_time() -> None:
    assert demo.favourites() == demo.favourites()


def test_nobody_marks_a_restaurant_twice_and_few_restaurants_are_popular() -> None:
    favourites = demo.favourites()
    assert len({(each.user, each.restaurant) for each in favourites}) == len(favourites)
    ranked = Counter(each.restaurant for each in favourites).most_common()
    assert ranked[0][1] > 20 * ranked[len(ranked) // 2][1]
    assert len(ranked) > demo.RESTAURANTS * 0.9


def test_visitors_take_back_only_what_they_marked_and_their_marks_stay_few() -> None:
    visitors = demo.Visitors(Random(1))
    marked: list[tuple[str, str]] = []
    for _ in range(5000):
        visit = visitors.next()
        if visit.marks:
            marked.append((visit.user, visit.restaurant))
        else:
            marked.remove((visit.user, visit.restaurant))
    assert 0 < len(marked) <= demo.MOST_VISITS


@pytest.mark.slow
def test_it_is_loaded_once_and_counted() -> None:
    async def whole() -> None:
        async with sk.async_connect("memory:", tables=[Favourite, FavouriteCount]) as session:
            service = FavouritesService(session)
            await service.start()
            seen: list[tuple[int, int]] = []
            await service.load_demo(lambda done, total: seen.append((done, total)))
            assert seen[-1][0] == seen[-1][1] == len(demo.favourites())
            again: list[tuple[int, int]] = []
            await service.load_demo(lambda done, total: again.append((done, total)))
            assert again == []
            async with sk.feeds.Follower(session, service.feeds) as follower:
                await follower.caught_up()
            expected = Counter(each.restaurant for each in demo.favourites())
            ranked = sorted(expected.items(), key=lambda each: (-each[1], each[0]))
            top = await service.top("ALL_TIME", top_page(1000))
            assert [(each.restaurant, each.count) for each in top] == ranked[:1000]
            assert (await service.since("ada", "r0007")) == demo.EXAMPLES[-1].since

    asyncio.run(whole())
