"""After any follows and their ends, lists, mutuals and counts are those of a plain dict."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from itertools import count as counter
from typing import Literal

import pytest
from hypothesis import strategies as st

import sortkey as sk
from sortkey.services.pages import PageArguments, PageInfo, page_arguments
from sortkey_services.social.model import Follow
from tests.sortkey_services.social.conftest import Service
from tests.stores import given_on_stores

NAMES = "abcde"
Edges = dict[tuple[str, str], datetime]
Listed = list[tuple[str, datetime]]
Ask = Callable[[PageArguments], Awaitable[tuple[Listed, PageInfo]]]
Change = tuple[Literal["follow", "unfollow"], str, str]

_example = counter()
names = st.sampled_from(NAMES)
changes = st.lists(
    st.tuples(st.sampled_from(["follow", "follow", "follow", "unfollow"]), names, names).filter(
        lambda each: each[1] != each[2]
    ),
    max_size=25,
)


async def all_pages(ask: Ask, size: int, *, backward: bool) -> Listed:
    """A whole list, page by page, in its order."""
    found: Listed = []
    asked = page_arguments(last=size) if backward else page_arguments(first=size)
    while True:
        items, info = await ask(asked)
        assert len(items) <= size
        found = items + found if backward else found + items
        if not (info.has_previous_page if backward else info.has_next_page):
            return found
        asked = (
            page_arguments(last=size, before=info.start_cursor)
            if backward
            else page_arguments(first=size, after=info.end_cursor)
        )


def info_of(page: sk.Page[Follow]) -> PageInfo:
    return PageInfo(page.has_next, page.has_previous, page.start_cursor, page.end_cursor)


def lists_of(service: Service, user: str) -> dict[str, Ask]:
    social = service.social

    async def following(asked: PageArguments) -> tuple[Listed, PageInfo]:
        page = await social.follows.following(user, asked)
        return [(each.followed, each.since) for each in page], info_of(page)

    async def followers(asked: PageArguments) -> tuple[Listed, PageInfo]:
        page = await social.follows.followers(user, asked)
        return [(each.user, each.since) for each in page], info_of(page)

    async def mutuals(asked: PageArguments) -> tuple[Listed, PageInfo]:
        page = await social.mutuals.page(user, asked)
        return [(each.user, each.since) for each in page.items], page.page_info

    return {"following": following, "followers": followers, "mutuals": mutuals}


def expected_of(edges: Edges, user: str) -> dict[str, Listed]:
    following = sorted((other, since) for (own, other), since in edges.items() if own == user)
    followers = sorted((own, since) for (own, other), since in edges.items() if other == user)
    back = dict(followers)
    mutuals = [(other, max(since, back[other])) for other, since in following if other in back]
    return {"following": following, "followers": followers, "mutuals": mutuals}


@pytest.mark.parametrize("store", ["memory", pytest.param("endpoint", marks=pytest.mark.slow)], indirect=True)
@given_on_stores(changes=changes, size=st.integers(1, 4), backward=st.booleans())
def test_the_graph_is_that_of_a_dict(service: Service, changes: list[Change], size: int, backward: bool) -> None:
    world = f"w{next(_example)}-"
    users = [world + name for name in NAMES]
    service.users(*users)
    edges: Edges = {}
    for change, name, other_name in changes:
        user, other = world + name, world + other_name
        service.clock.advance(1)
        if change == "follow":
            now = datetime.fromtimestamp(service.clock.now(), UTC)
            since = service.wait(service.social.follows.follow(user, other))
            assert since == edges.setdefault((user, other), now)
        else:
            service.unfollow(user, other)
            edges.pop((user, other), None)
    service.count()

    async def compare(user: str) -> None:
        expected = expected_of(edges, user)
        for name, ask in lists_of(service, user).items():
            assert await all_pages(ask, size, backward=backward) == expected[name], name

    for user in users:
        service.wait(compare(user))
        expected = expected_of(edges, user)
        assert service.counts(user) == (len(expected["following"]), len(expected["followers"]))
