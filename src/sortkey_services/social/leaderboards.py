"""Leaderboards: points are added by events, and scores, ranks and totals follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final
from uuid import uuid4

import msgspec
from litestar import get, post
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.types import ControllerRouterHandler
from msgspec import Meta

import sortkey as sk
from sortkey_services.concurrent_map import concurrent_map
from sortkey_services.social.checks import check_id, check_key_text
from sortkey_services.social.model import (
    BOARD,
    SCORES_OF_EVENTS,
    TOTALS_OF_SCORES,
    GameTotal,
    Score,
    ScoreEvent,
)

MAX_EVENTS: Final = 1000
"""In one request."""
MAX_POINTS: Final = 2**53 - 1
"""Of one event: the largest integer that every JSON program reads exactly."""
MAX_TOP: Final = 1000
PARALLEL: Final = 32
"""Writes of one request that are under way at the same time."""

Limit = Annotated[int, QueryParameter(description=f"From 1 to {MAX_TOP:,}")]


class AddedPoints(msgspec.Struct, frozen=True, rename="camel"):
    player: str
    points: int
    """Added to the player's; negative points are taken away."""
    event_id: str | None = None
    """Points with an id that the game has already are not added again."""


class AddedAnswer(msgspec.Struct, frozen=True):
    """How many events were stored, and how many of them were there already."""

    accepted: int
    repeated: int


class TopPlayer(msgspec.Struct, frozen=True):
    player: str
    points: int
    rank: int
    """One more than the number of players with more points."""


class TopPlayers(msgspec.Struct, frozen=True):
    players: list[TopPlayer]


class PlayerAnswer(msgspec.Struct, frozen=True):
    player: str
    points: int
    rank: int
    exact: bool
    """False if the rank is an estimate."""


class GameAnswer(msgspec.Struct, frozen=True):
    game: str
    players: int
    points: int


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

    async def add(self, events: Sequence[ScoreEvent]) -> AddedAnswer:
        """Adds points, in one conditional write for each event; an event that is stored already adds nothing. Raises
        BadRequest before anything is written."""
        for position, event in enumerate(events):
            _check(event, f"[{position}]." if len(events) > 1 else "")
        stored = await concurrent_map(self._put, events, PARALLEL)
        return AddedAnswer(sum(stored), len(stored) - sum(stored))

    async def _put(self, event: ScoreEvent) -> bool:
        return await self._session.put(event, if_absent=True)

    async def top(self, game: str, limit: int) -> list[TopPlayer]:
        """The players with the most points, downward, those with equal points by id."""
        check_id("game", game)
        found = await BOARD.top(self._session, limit, game=game)
        return [TopPlayer(each.item.player, each.item.points, each.rank) for each in found]

    async def standing(self, game: str, player: str) -> PlayerAnswer:
        """Raises NotFound for a player without a score."""
        check_id("game", game)
        check_id("player", player)
        score = await self._session.get(Score.key(game=game, player=player))
        if score is None:
            raise sk.services.NotFound(f"the player {player!r} has no points in {game!r}")
        found = await BOARD.rank(self._session, score)
        return PlayerAnswer(player, score.points, found.rank, found.exact)

    async def total(self, game: str) -> GameAnswer:
        """Of a game that nobody has played, 0."""
        check_id("game", game)
        found = await self._session.get(GameTotal.key(game=game)) or GameTotal(game=game)
        return GameAnswer(game, found.players, found.points)

    @property
    def routes(self) -> list[ControllerRouterHandler]:
        @post("/social/leaderboards/{game:str}/scores", status_code=202, opt={"fast": True}, summary="Add points")
        async def add(
            game: FromPath[str],
            data: JSONBody[AddedPoints | Annotated[tuple[AddedPoints, ...], Meta(min_length=1, max_length=MAX_EVENTS)]],
        ) -> AddedAnswer:
            """To one player or a list. Points with an `eventId` count once, however often they are sent."""
            given = (data,) if isinstance(data, AddedPoints) else data
            return await self.add([new_event(game, each.player, each.points, each.event_id) for each in given])

        @get("/social/leaderboards/{game:str}/top", summary="The players with the most points")
        async def top(game: FromPath[str], limit: Limit = 100) -> TopPlayers:
            """By points downward. Players with equal points share a rank."""
            if not 1 <= limit <= MAX_TOP:
                raise sk.services.BadRequest(f"limit: must be from 1 to {MAX_TOP:,}, not {limit}")
            return TopPlayers(await self.top(game, limit))

        @get("/social/leaderboards/{game:str}/players/{player:str}", summary="A player's points and rank")
        async def standing(game: FromPath[str], player: FromPath[str]) -> PlayerAnswer:
            return await self.standing(game, player)

        @get("/social/leaderboards/{game:str}", summary="How many players and points a game has")
        async def total(game: FromPath[str]) -> GameAnswer:
            return await self.total(game)

        return [add, top, standing, total]


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
