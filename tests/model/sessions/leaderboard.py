"""A leaderboard in an index whose partitions are sharded, declared with any number of shards."""

from __future__ import annotations

from functools import cache
from typing import Any

import sortkey as sk
from sortkey.values.key_bytes import row_hash

TABLE = "sharded-scores"


@cache
def leaderboard(number: int, formerly: int | None = None) -> Any:
    """The class. With another number of shards it is another class of the same name: another version of a program."""

    class Score(sk.Item, table=sk.Table(TABLE)):
        player: str
        board: str
        score: int
        team: str = "red"
        note: str = ""
        key = sk.Key("PLAYER#{player}")
        top = sk.Index(
            "top",
            "TOP#{board}",
            "{score}",
            names=("toppk", "score"),
            shards=sk.Shards(number, by="player", formerly=formerly),
        )
        ranked = sk.Index("ranked", "RANKED#{board}", "{team}#{player}", shards=sk.Shards(number, formerly=formerly))

    return Score


def ranking(scores: dict[str, int], *, descending: bool = False) -> list[str]:
    """The players as one sorted list has them."""
    keys = {player: (score, row_hash(("S", f"PLAYER#{player}"))) for player, score in scores.items()}
    return sorted(scores, key=keys.__getitem__, reverse=descending)
