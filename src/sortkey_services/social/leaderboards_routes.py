"""The routes of leaderboards."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from litestar import get, post
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.types import ControllerRouterHandler
from msgspec import Meta

import sortkey as sk
from sortkey_services.social.leaderboards import MAX_TOP, Leaderboards, new_event

MAX_EVENTS: Final = 1000
"""In one request."""

Limit = Annotated[int, QueryParameter(description=f"From 1 to {MAX_TOP:,}")]


class AddedPoints(msgspec.Struct, frozen=True, rename="camel"):
    player: str
    points: int
    """Added to the player's; negative points are taken away."""
    event_id: str | None = None
    """Points with an id that the game has already are not added again."""


class AddedAnswer(msgspec.Struct, frozen=True):
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


def routes(leaderboards: Leaderboards) -> list[ControllerRouterHandler]:
    @post("/social/leaderboards/{game:str}/scores", status_code=202, opt={"fast": True}, summary="Add points")
    async def add(
        game: FromPath[str],
        data: JSONBody[AddedPoints | Annotated[tuple[AddedPoints, ...], Meta(min_length=1, max_length=MAX_EVENTS)]],
    ) -> AddedAnswer:
        """To one player or a list. Points with an `eventId` count once, however often they are sent."""
        given = (data,) if isinstance(data, AddedPoints) else data
        added = await leaderboards.add([new_event(game, each.player, each.points, each.event_id) for each in given])
        return AddedAnswer(added.accepted, added.repeated)

    @get("/social/leaderboards/{game:str}/top", summary="The players with the most points")
    async def top(game: FromPath[str], limit: Limit = 100) -> TopPlayers:
        """By points downward. Players with equal points share a rank."""
        if not 1 <= limit <= MAX_TOP:
            raise sk.services.BadRequest(f"limit: must be from 1 to {MAX_TOP:,}, not {limit}")
        found = await leaderboards.top(game, limit)
        return TopPlayers([TopPlayer(each.score.player, each.score.points, each.rank) for each in found])

    @get("/social/leaderboards/{game:str}/players/{player:str}", summary="A player's points and rank")
    async def standing(game: FromPath[str], player: FromPath[str]) -> PlayerAnswer:
        found = await leaderboards.standing(game, player)
        return PlayerAnswer(player, found.score.points, found.rank, found.exact)

    @get("/social/leaderboards/{game:str}", summary="How many players and points a game has")
    async def total(game: FromPath[str]) -> GameAnswer:
        found = await leaderboards.total(game)
        return GameAnswer(game, found.players, found.points)

    return [add, top, standing, total]
