"""A scoreboard, and its feed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

import sortkey as sk

BOARD_SCORES = sk.Table("ranked-scores", stream="NEW_AND_OLD_IMAGES")
BOARD_RANGES = sk.Table("ranked-score-ranges")


class BoardScore(sk.Item, table=BOARD_SCORES):
    game: Annotated[str, sk.in_key]
    player: Annotated[str, sk.in_key]
    points: int | None = None

    key = sk.Key("GAME#{game}#PLAYER#{player}")
    top = sk.Index(
        "top",
        "GAME#{game}",
        "{points}",
        names=("toppk", "points"),
        projection="KEYS_ONLY",
        shards=sk.Shards(4, by="player"),
    )
    listed = sk.Index(
        "listed",
        "GAME#{game}",
        "{points:desc}#{player}",
        projection=("points",),
        shards=sk.Shards(4, by="player"),
    )


class BoardRange(sk.Item, table=BOARD_RANGES):
    game: Annotated[str, sk.in_key]
    block: Annotated[str, sk.in_key]
    slot: Annotated[int, sk.in_key]
    players: int = 0

    key = sk.Key("GAME#{game}#{block}", "{slot:02}")


BOARD = sk.patterns.ranking(BoardScore.top, into=BoardRange, count="players")


LISTED = sk.patterns.ranking(BoardScore.listed, into=BoardRange, count="players")
"""The same ranks, by an index that has the players in the order of the top list."""


def scores(game: str, points: Mapping[str, int]) -> list[BoardScore]:
    return [BoardScore(game=game, player=player, points=each) for player, each in points.items()]


def feed_of(db: sk.AsyncSession) -> sk.feeds.ChangeFeed[BoardScore]:
    return sk.feeds.ChangeFeed("ranks", BoardScore, BOARD.aggregate.aggregator(db).on_changes)


async def count(db: sk.AsyncSession) -> None:
    """Let the counts follow all scores."""
    async with sk.feeds.Follower(db, [feed_of(db)]) as follower:
        await follower.caught_up()


def true_rank(points: Iterable[int], own: int) -> int:
    return 1 + sum(each > own for each in points)
