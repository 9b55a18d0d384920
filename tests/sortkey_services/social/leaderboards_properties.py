"""Whatever points are added, again and again: scores, ranks, top lists and totals are those of a plain dict."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import pytest
from hypothesis import strategies as st

import sortkey as sk
from sortkey_services.social.leaderboards import MAX_POINTS, Leaderboards, new_event
from tests.sortkey_services.social.leaderboard import Board, caught_up
from tests.stores import given_on_stores

_example = count()
points = st.integers(-5, 40) | st.integers(-300_000, 300_000) | st.integers(-MAX_POINTS, MAX_POINTS)
added = st.tuples(st.sampled_from("abcdef"), points, st.none() | st.integers(0, 9))
rounds = st.lists(st.lists(added, max_size=12), max_size=3)


class Followed(NamedTuple):
    runner: asyncio.Runner
    leaderboards: Leaderboards
    follower: sk.feeds.Follower


@pytest.fixture
def followed(store: str) -> Iterator[Followed]:
    with asyncio.Runner() as runner:
        session, leaderboards = runner.run(Board.opened(store))
        follower = sk.feeds.Follower(session, leaderboards.feeds)
        runner.run(follower.__aenter__())
        yield Followed(runner, leaderboards, follower)
        runner.run(follower.__aexit__(None, None, None))
        runner.run(session.close())


@pytest.mark.slow
@pytest.mark.parametrize("store", ["memory", pytest.param("endpoint", marks=pytest.mark.slow)], indirect=True)
@given_on_stores(plan=rounds)
def test_a_leaderboard_equals_a_dict(followed: Followed, plan: list[list[tuple[str, int, int | None]]]) -> None:
    async def play() -> None:
        game, leaderboards = f"g{next(_example)}", followed.leaderboards
        board: dict[str, int] = {}
        seen: set[int] = set()
        for part in plan:
            for player, amount, event in part:
                await leaderboards.add([new_event(game, player, amount, None if event is None else f"e{event}")])
                if event is None or event not in seen:
                    board[player] = board.get(player, 0) + amount
                if event is not None:
                    seen.add(event)
            await caught_up(followed.follower)
            await check(leaderboards, game, board)

    followed.runner.run(play())


async def check(leaderboards: Leaderboards, game: str, board: dict[str, int]) -> None:
    def rank(player: str) -> int:
        return 1 + sum(each > board[player] for each in board.values())

    for player, own in board.items():
        found = await leaderboards.standing(game, player)
        assert (found.points, found.rank, found.exact) == (own, rank(player), True)
    top = await leaderboards.top(game, 100)
    ordered = sorted(board, key=lambda player: (-board[player], player))
    assert [(each.player, each.points, each.rank) for each in top] == [
        (player, board[player], rank(player)) for player in ordered
    ]
    total = await leaderboards.total(game)
    assert (total.players, total.points) == (len(board), sum(board.values()))
