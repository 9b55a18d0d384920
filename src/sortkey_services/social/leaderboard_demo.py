"""Demonstration data of leaderboards, the same on every run: two games, chess with few points and pinball with many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

from sortkey_services.social.leaderboard_model import ScoreEvent

SEED: Final = 1_301
GAMES: Final = {"chess": 40, "pinball": 9_000_000}
"""The most points of one event."""
MOST_EVENTS: Final = 12
"""Of a player in a game."""


def scores(players: Sequence[str]) -> Iterator[ScoreEvent]:
    """Events of these players, as they are stored; the feeds make the boards from them."""
    draw = Random(SEED)
    for game, most in GAMES.items():
        for player in players:
            for number in range(draw.randint(1, MOST_EVENTS)):
                event = f"{player}-{number:02}"
                yield ScoreEvent(game=game, event=event, player=player, points=draw.randint(1, most))
