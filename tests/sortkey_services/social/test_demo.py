"""The demonstration data, and its visitors."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random

import pytest

import sortkey as sk
from sortkey.services.pages import page_arguments
from sortkey_services.social import demo
from sortkey_services.social.model import Follow, ScoreEvent, User
from sortkey_services.social.service import TABLES, SocialService
from tests.sortkey_services.social.leaderboard import caught_up


def test_it_is_the_same_every_time_and_has_no_row_twice() -> None:
    rows = list(demo.rows())
    assert rows == list(demo.rows())
    users = Counter(row.user for row in rows if isinstance(row, User))
    follows = Counter((row.user, row.followed) for row in rows if isinstance(row, Follow))
    assert set(users.values()) == set(follows.values()) == {1}
    assert {name for pair in follows for name in pair} <= users.keys()
    assert rows[-1] == demo.LAST


def test_visitors_end_only_what_they_began_and_what_they_begin_stays_little() -> None:
    visitors = demo.Visitors(Random(1))
    begun: list[tuple[str, str]] = []
    for _ in range(1000):
        visit = visitors.next()
        if visit.follows:
            begun.append((visit.user, visit.other))
        else:
            begun.remove((visit.user, visit.other))
        assert visit.user != visit.other
    assert 0 < len(begun) <= demo.MOST_VISITS


@pytest.mark.slow
def test_it_is_loaded_once_and_counted() -> None:
    async def whole() -> None:
        async with sk.async_connect("memory:", tables=TABLES) as session:
            service = SocialService(session)
            await service.start()
            seen: list[tuple[int, int]] = []
            await service.load_demo(lambda done, total: seen.append((done, total)))
            assert seen[-1][0] == seen[-1][1] == len(list(demo.rows()))
            again: list[tuple[int, int]] = []
            await service.load_demo(lambda done, total: again.append((done, total)))
            assert again == []
            async with sk.feeds.Follower(session, service.feeds) as follower:
                await caught_up(follower)
            follows = [row for row in demo.rows() if isinstance(row, Follow)]
            following = Counter(row.user for row in follows)
            followers = Counter(row.followed for row in follows)
            for user in following:
                counts = await service.users.get(user)
                assert (counts.following, counts.followers) == (following[user], followers[user])
            mutual = await service.mutuals.page("ada", page_arguments())
            assert [each.user for each in mutual.items] == ["alan", "grace"]
            for game in ("chess", "pinball"):
                events = [row for row in demo.rows() if isinstance(row, ScoreEvent) and row.game == game]
                total = await service.leaderboards.total(game)
                assert total.players == len({event.player for event in events}) > 30
                assert total.points == sum(event.points for event in events)
                best = (await service.leaderboards.top(game, 1))[0]
                assert (await service.leaderboards.standing(game, best.player)).rank == best.rank == 1

    asyncio.run(whole())
