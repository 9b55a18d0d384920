"""The items of leaderboards: points that were added, and what follows from them.

    social-score-events   key   GAME#{game}#EVENT#{event}             has this been added?
    social-scores         key   GAME#{game}#PLAYER#{player}           how many points does a player have?
                          top   GAME#{game}  {points}                 who leads? sharded by player
    social-score-ranges   key   GAME#{game}#{block}  {slot}           how many players are in a range of points?
    social-score-totals   key   GAME#{game}                           how many players and points has the game?

Callers write events alone, each a row in a partition of its own: no two writes meet. Scores follow from the events, and
ranges and totals from the scores, each change exactly once. All players of a game share one list, so its partition is
sharded. Events do not expire: an event that goes is taken out of the score.
"""

from __future__ import annotations

from typing import Annotated, Final

import sortkey as sk

SHARDS: Final = 10

EVENTS: Final = sk.Table("social-score-events", stream="NEW_AND_OLD_IMAGES")
SCORES: Final = sk.Table("social-scores", stream="NEW_AND_OLD_IMAGES")
RANGES: Final = sk.Table("social-score-ranges")
TOTALS: Final = sk.Table("social-score-totals")
LEADERBOARD_TABLES: Final = (EVENTS, SCORES, RANGES, TOTALS)


class ScoreEvent(sk.Item, table=EVENTS):
    game: Annotated[str, sk.in_key]
    event: Annotated[str, sk.in_key]
    player: str
    points: int

    key = sk.Key("GAME#{game}#EVENT#{event}")


class Score(sk.Item, table=SCORES):
    game: Annotated[str, sk.in_key]
    player: Annotated[str, sk.in_key]
    points: int = 0

    key = sk.Key("GAME#{game}#PLAYER#{player}")
    top = sk.Index(
        "top",
        "GAME#{game}",
        "{points}",
        names=("toppk", "points"),
        projection="KEYS_ONLY",
        shards=sk.Shards(SHARDS, by="player"),
    )


class ScoreRange(sk.Item, table=RANGES):
    game: Annotated[str, sk.in_key]
    block: Annotated[str, sk.in_key]
    slot: Annotated[int, sk.in_key]
    players: int = 0

    key = sk.Key("GAME#{game}#{block}", "{slot:02}")


class GameTotal(sk.Item, table=TOTALS):
    game: Annotated[str, sk.in_key]
    players: int = 0
    points: int = 0

    key = sk.Key("GAME#{game}")


SCORES_OF_EVENTS: Final = sk.patterns.aggregate(
    ScoreEvent, into=Score, by=("game", "player"), values={"points": sk.patterns.total("points")}
)
BOARD: Final = sk.patterns.ranking(Score.top, into=ScoreRange, count="players")
TOTALS_OF_SCORES: Final = sk.patterns.aggregate(
    Score, into=GameTotal, by=("game",), values={"players": sk.patterns.count(), "points": sk.patterns.total("points")}
)
