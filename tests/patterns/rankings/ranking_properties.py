"""Whatever points players have, get and lose: ranks and top lists are those of a plain dict."""

from __future__ import annotations

import asyncio
from itertools import count as counter

import pytest
from hypothesis import strategies as st

import sortkey as sk
from tests.patterns.rankings.scoreboard import BOARD, LISTED, BoardScore, scores, true_rank
from tests.stores import given_on_stores

_example = counter()
points = (
    st.integers(-3, 40)
    | st.integers(-100_000, 100_000)
    | st.integers(10**9, 10**9 + 20_000)
    | st.integers(-(10**38) + 1, 10**38 - 1)
    | st.builds(lambda digits, zeros: digits * 10**zeros, st.integers(-9999, 9999), st.integers(34, 122))
)
boards = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.none() | points), max_size=16)


@pytest.mark.parametrize("store", ["memory", pytest.param("endpoint", marks=pytest.mark.slow)], indirect=True)
@given_on_stores(changes=boards, more=boards)
def test_ranks_equal_those_of_a_dict(
    db: sk.AsyncSession,
    runner: asyncio.Runner,
    follower: sk.feeds.Follower,
    changes: list[tuple[str, int | None]],
    more: list[tuple[str, int | None]],
) -> None:
    async def play() -> None:
        game = f"g{next(_example)}"
        board: dict[str, int] = {}
        for part in (changes, more):
            for player, number in part:
                if number is None:
                    board.pop(player, None)
                    await db.delete(BoardScore.key(game=game, player=player))
                else:
                    board[player] = number
                    await db.put(BoardScore(game=game, player=player, points=number))
            await follower.caught_up()
            for score in scores(game, board):
                assert score.points is not None
                expected = sk.patterns.Rank(true_rank(board.values(), score.points), True)
                assert await BOARD.rank(db, score) == await LISTED.rank(db, score) == expected
            best = sorted(board.items(), key=lambda each: (-each[1], each[0]))[:5]
            for ranking in (BOARD, LISTED):
                top = await ranking.top(db, 5, game=game)
                assert [(each.item.player, each.item.points, each.rank) for each in top] == [
                    (player, own, true_rank(board.values(), own)) for player, own in best
                ]

    runner.run(play())
