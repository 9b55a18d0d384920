"""Leaderboards: points are added by events, and scores, ranks and totals follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple
from uuid import uuid4

import sortkey as sk
from sortkey_services.concurrent_map import concurrent_map
from sortkey_services.social.checks import check_id, check_key_text
from sortkey_services.social.leaderboard_model import (
    BOARD,
    SCORES_OF_EVENTS,
    TOTALS_OF_SCORES,
    GameTotal,
    Score,
    ScoreEvent,
)

MAX_POINTS: Final = 2**53 - 1
"""Of one event: the largest integer that every JSON program reads exactly."""
MAX_TOP: Final = 1000
PARALLEL: Final = 32
"""Writes of one request that are under way at the same time."""


class Added(NamedTuple):
    """How many events were stored, and how many of them were there already."""

    accepted: int
    repeated: int


class Standing(NamedTuple):
    """A player's place."""

    score: Score
    rank: int
    exact: bool


class Leaderboards:
    def __init__(self, session: sk.AsyncSession) -> None:
        self._session = session
        scores, totals = SCORES_OF_EVENTS.aggregator(session), TOTALS_OF_SCORES.aggregator(session)
        ranges = BOARD.aggregate.aggregator(session)
        self.feeds: Sequence[sk.feeds.ChangeFeed[Any]] = (
            sk.feeds.ChangeFeed("social-scores", ScoreEvent, scores.on_changes),
            sk.feeds.ChangeFeed("social-score-ranges", Score, ranges.on_changes),
            sk.feeds.ChangeFeed("social-score-totals", Score, totals.on_changes),
        )

    async def add(self, events: Sequence[ScoreEvent]) -> Added:
        """Adds points, in one conditional write for each event; an event that is stored already adds nothing. Raises
        BadRequest before anything is written."""
        for position, event in enumerate(events):
            _check(event, f"[{position}]." if len(events) > 1 else "")
        stored = await concurrent_map(self._put, events, PARALLEL)
        return Added(sum(stored), len(stored) - sum(stored))

    async def _put(self, event: ScoreEvent) -> bool:
        return await self._session.put(event, if_absent=True)

    async def top(self, game: str, limit: int) -> list[Standing]:
        """The players with the most points, downward, those with equal points by id."""
        check_id("game", game)
        return [Standing(each.item, each.rank, True) for each in await BOARD.top(self._session, limit, game=game)]

    async def standing(self, game: str, player: str) -> Standing:
        """Raises NotFound for a player without a score."""
        check_id("game", game)
        check_id("player", player)
        score = await self._session.get(Score.key(game=game, player=player))
        if score is None:
            raise sk.services.NotFound(f"the player {player!r} has no points in {game!r}")
        found = await BOARD.rank(self._session, score)
        return Standing(score, found.rank, found.exact)

    async def total(self, game: str) -> GameTotal:
        """Of a game that nobody has played, 0."""
        check_id("game", game)
        return await self._session.get(GameTotal.key(game=game)) or GameTotal(game=game)


def new_event(game: str, player: str, points: int, event: str | None) -> ScoreEvent:
    """An event; without an id, it gets one that no other has."""
    return ScoreEvent(game=game, event=uuid4().hex if event is None else event, player=player, points=points)


def _check(event: ScoreEvent, where: str) -> None:
    """Raises BadRequest. Everything that becomes part of a key is checked here: the feed writes the score later, and
    could tell nobody."""
    check_id("game", event.game)
    check_id(f"{where}player", event.player)
    check_key_text(f"{where}eventId", event.event)
    points: object = event.points
    if not isinstance(points, int) or isinstance(points, bool):
        raise sk.services.BadRequest(f"{where}points: must be a whole number, not {points!r}")
    if abs(points) > MAX_POINTS:
        raise sk.services.BadRequest(f"{where}points: must be from -{MAX_POINTS:,} to {MAX_POINTS:,}, not {points:,}")
