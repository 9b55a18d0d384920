"""The top list beside a plain model: any marks, any pages, while nothing changes and while counts do."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey_services.favourites.model import FavouriteCount
from sortkey_services.favourites.service import DEFAULTS, FavouritesService, top_page
from sortkey_services.favourites.service_definition import FAVOURITES
from tests.sortkey_services.favourites.conftest import NOON, shown

# Escaped characters, prefixes of each other, and capitals: what could be out of order in a key.
IDS = ["r0", "r00", "r01", "r1", "r#1", "r$", "R1", "ü", "a b", "日本"]
USERS = ["ada", "bob", "eve"]


class Visit(NamedTuple):
    user: str
    restaurant: str
    marks: bool


visits = st.lists(
    st.builds(Visit, st.sampled_from(USERS), st.sampled_from(IDS), st.sampled_from([True, True, False])), max_size=40
)


class Model:
    """The favourites as a set, and the top list as a sorted one."""

    def __init__(self) -> None:
        self._marks: set[tuple[str, str]] = set()

    def visit(self, visit: Visit) -> None:
        change = self._marks.add if visit.marks else self._marks.discard
        change((visit.user, visit.restaurant))

    @property
    def top(self) -> list[tuple[str, int]]:
        counts = Counter(restaurant for _, restaurant in self._marks)
        return sorted(counts.items(), key=place)


def place(shown: tuple[str, int]) -> tuple[int, str]:
    return -shown[1], shown[0]


class World:
    """The service, with its consumer, and what happens on one day, for which it has a list of its own."""

    def __init__(self, session: sk.AsyncSession) -> None:
        self._clock = ManualClock(NOON.timestamp())
        self.session = session
        self.service = FavouritesService(session, DEFAULTS, self._clock)
        self.follower = sk.feeds.Follower(session, self.service.feeds)
        self.model = Model()

    def next_day(self) -> None:
        self._clock.advance(timedelta(days=1).total_seconds())
        self.model = Model()

    @property
    def day(self) -> str:
        return f"{datetime.fromtimestamp(self._clock.now(), UTC):%Y-%m-%d}"

    async def happen(self, what: list[Visit]) -> None:
        for visit in what:
            await (self.service.mark if visit.marks else self.service.unmark)(
                f"{visit.user}.{self.day}", visit.restaurant
            )
            self.model.visit(visit)
        if what:
            await self.follower.caught_up()

    async def page(self, limit: int, after: str | None = None, before: str | None = None) -> sk.Page[FavouriteCount]:
        return await self.service.top(self.day, top_page(limit, after, before))


class Started(NamedTuple):
    runner: asyncio.Runner
    world: World


@pytest.fixture
def started() -> Iterator[Started]:
    """A world, in which all counts and their places are right in the end."""

    async def opened() -> World:
        world = World(await sk.async_connect("memory:", tables=FAVOURITES.tables({})))
        await world.service.start()
        await world.follower.__aenter__()
        return world

    async def closed(world: World) -> None:
        await world.follower.__aexit__(None, None, None)
        assert (await DEFAULTS.counts.aggregator(world.session).recount()).is_clean
        assert (await world.session.audit(FavouriteCount)).is_clean
        await world.session.close()

    with asyncio.Runner() as runner:
        world = runner.run(opened())
        yield Started(runner, world)
        runner.run(closed(world))


one_store = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@one_store
@given(what=visits, sizes=st.lists(st.integers(1, 12), min_size=1, max_size=4))
def test_pages_of_any_sizes_are_the_whole_list_forward_and_backward(
    started: Started, what: list[Visit], sizes: list[int]
) -> None:
    async def play(world: World) -> None:
        world.next_day()
        await world.happen(what)
        expected, found, turn = world.model.top, list[tuple[str, int]](), 0
        page = await world.page(sizes[0])
        while True:
            assert shown(page) == expected[len(found) : len(found) + sizes[turn % len(sizes)]]
            assert page.has_previous is bool(found)
            found += shown(page)
            assert page.has_next is (len(found) < len(expected))
            if not page.has_next:
                break
            turn += 1
            page = await world.page(sizes[turn % len(sizes)], after=page.end_cursor)
        assert found == expected
        if page.start_cursor is not None:
            before = await world.page(1000, before=page.start_cursor)
            assert shown(before) == expected[: len(found) - len(page)]

    started.runner.run(play(started.world))


# What is promised while counts change: pages go on in order from the cursor's place, and a restaurant whose count does
# not change is in exactly one of them.
@one_store
@given(what=visits, between=st.lists(visits.map(lambda each: each[:6]), max_size=6), limit=st.integers(1, 4))
def test_while_counts_change_pages_stay_in_order_and_have_all_that_stays(
    started: Started, what: list[Visit], between: list[list[Visit]], limit: int
) -> None:
    async def play(world: World) -> None:
        world.next_day()
        await world.happen(what)
        steady, changes = set(world.model.top), iter(between)
        found: list[tuple[str, int]] = []
        page = await world.page(limit)
        while True:
            # A page has the list as it is now, from the place on where the one before has ended.
            beyond = [each for each in world.model.top if not found or place(each) > place(found[-1])]
            assert shown(page) == beyond[:limit]
            found += shown(page)
            if not page.has_next:
                break
            await world.happen(next(changes, []))
            steady &= set(world.model.top)
            page = await world.page(limit, after=page.end_cursor)
        assert all(found.count(each) == 1 for each in steady)

    started.runner.run(play(started.world))
