"""Tables that an earlier version of the service has made: their counts get their places in the list of today."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated

import pytest

import sortkey as sk
from sortkey_services.favourites.model import COUNTS, FAVOURITES, TOP_SHARDS, Favourite, FavouriteCount
from sortkey_services.favourites.service import DEFAULTS, FavouritesService, top_page
from tests.sortkey_services.favourites.conftest import shown

pytestmark = pytest.mark.usefixtures("brief_polls")

SINCE = datetime(2026, 8, 24, 12, tzinfo=UTC)
MARKS = [(user, f"r{number:02}") for number in range(20) for user in ("ada", "bob", "eve")[: 1 + number % 3]]


class FormerCount(sk.Item, table=sk.Table("favourite-counts")):
    """As it was: the list is by the count alone."""

    restaurant: Annotated[str, sk.in_key]
    window: Annotated[str, sk.in_key]
    count: int = 0
    updated: Annotated[datetime | None, sk.updated] = None

    key = sk.Key("{restaurant}", "{window}")
    top = sk.Index(
        "top", "{window}", "{count}", names=("toppk", "count"), shards=sk.Shards(TOP_SHARDS, by="restaurant")
    )


FORMER_COUNTS = sk.patterns.aggregate(
    Favourite,
    into=FormerCount,
    by=("restaurant",),
    window=sk.patterns.window("since", "ALL_TIME", "YEAR", "MONTH", "DAY", zone="UTC"),
    values={"count": sk.patterns.count()},
)


async def follow(session: sk.AsyncSession, aggregate: sk.patterns.Aggregate) -> None:
    feed = sk.feeds.ChangeFeed("favourite-counts", Favourite, aggregate.aggregator(session).on_changes)
    async with sk.feeds.Follower(session, [feed]) as follower:
        await follower.caught_up()


async def mark(session: sk.AsyncSession, *marks: tuple[str, str]) -> None:
    await session.batch(put=[Favourite(user=user, restaurant=each, since=SINCE) for user, each in marks])


def ranked(marks: list[tuple[str, str]]) -> list[tuple[str, int]]:
    restaurants = [restaurant for _, restaurant in marks]
    counts = {each: restaurants.count(each) for each in restaurants}
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def earlier(store: str, runner: asyncio.Runner) -> Iterator[sk.AsyncSession]:
    """A store with marks that the earlier version has counted."""

    async def opened() -> sk.AsyncSession:
        session = await sk.async_connect(store, tables=[Favourite, FormerCount])
        await session.create_tables()
        await mark(session, *MARKS)
        await follow(session, FORMER_COUNTS)
        return session

    session = runner.run(opened())
    yield session
    runner.run(session.close())


@pytest.mark.slow
def test_the_service_starts_and_lists_what_was_counted_before(earlier: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        service = FavouritesService(earlier)
        await service.start()
        for window in ("ALL_TIME", "2026-08"):
            assert shown(await service.top(window, top_page(100))) == ranked(MARKS)
        assert await earlier.diff_tables(FAVOURITES, COUNTS) == []
        assert (await DEFAULTS.counts.aggregator(earlier).recount()).is_clean
        # And counts on, from where the earlier version has ended.
        await mark(earlier, ("zoe", "r02"), ("zoe", "r20"))
        await follow(earlier, DEFAULTS.counts)
        expected = ranked([*MARKS, ("zoe", "r02"), ("zoe", "r20")])
        assert shown(await service.top("ALL_TIME", top_page(100))) == expected
        await service.start()

    runner.run(play())


# A consumer of the earlier version that still runs adds to counts, and knows nothing of their places.
def test_what_an_earlier_version_counts_afterwards_is_repaired_by_a_recount(
    earlier: sk.AsyncSession, runner: asyncio.Runner
) -> None:
    async def play() -> None:
        service = FavouritesService(earlier)
        await service.start()
        await mark(earlier, ("zoe", "r00"), ("zoe", "r30"))
        await follow(earlier, FORMER_COUNTS)
        expected = ranked([*MARKS, ("zoe", "r00"), ("zoe", "r30")])
        assert shown(await service.top("ALL_TIME", top_page(100))) != expected
        aggregator = DEFAULTS.counts.aggregator(earlier)
        assert (await aggregator.recount()).wrong == 8, "two restaurants in four windows"
        assert (await aggregator.recount(repair=True)).is_clean
        assert shown(await service.top("ALL_TIME", top_page(100))) == expected
        assert (await earlier.audit(FavouriteCount)).is_clean

    runner.run(play())
