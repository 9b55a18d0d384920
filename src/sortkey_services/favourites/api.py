"""The HTTP API: the routes, and the types of their answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import msgspec
from litestar import delete, get, put
from litestar.params import FromPath, QueryParameter
from litestar.types import ControllerRouterHandler

import sortkey as sk
from sortkey.services.pages import PAGE, AskedPage, PageAnswer, page_answer
from sortkey_services.favourites.model import Favourite
from sortkey_services.favourites.service import MAX_TOP, Favourites, check_id
from sortkey_services.favourites.windows import ALL_TIME

Window = Annotated[str, QueryParameter(description="ALL_TIME, or a year, month or day: 2026, 2026-08, 2026-08-24")]
Limit = Annotated[int, QueryParameter(description=f"From 1 to {MAX_TOP:,}")]


class FavouriteAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    favourite: bool
    since: datetime | None = None


class FavouriteOfUser(msgspec.Struct, frozen=True):
    restaurant: str
    since: datetime


class Fan(msgspec.Struct, frozen=True):
    user: str
    since: datetime


class CountAnswer(msgspec.Struct, frozen=True, rename="camel"):
    restaurant: str
    window: str
    count: int
    updated_at: datetime | None
    """None if nothing was counted yet."""


class TopRestaurant(msgspec.Struct, frozen=True):
    restaurant: str
    count: int


class TopAnswer(msgspec.Struct, frozen=True):
    window: str
    restaurants: list[TopRestaurant]


class FavouritesService(Favourites):
    """The service with its routes."""

    @property
    def routes(self) -> Sequence[ControllerRouterHandler]:
        return [*_marks(self), *_lists(self), *_counts(self)]


def _marks(service: Favourites) -> list[ControllerRouterHandler]:
    @put("/favourites/{user:str}/{restaurant:str}", opt={"fast": True}, summary="Mark a restaurant as a favourite")
    async def mark(user: FromPath[str], restaurant: FromPath[str]) -> FavouriteAnswer:
        """A restaurant that is marked already stays as it is."""
        return FavouriteAnswer(True, await service.mark(user, restaurant))

    @delete(
        "/favourites/{user:str}/{restaurant:str}",
        status_code=200,
        opt={"fast": True},
        summary="Unmark a restaurant",
    )
    async def unmark(user: FromPath[str], restaurant: FromPath[str]) -> FavouriteAnswer:
        """Also if it is not marked."""
        await service.unmark(user, restaurant)
        return FavouriteAnswer(False)

    @get("/favourites/{user:str}/{restaurant:str}", opt={"fast": True}, summary="Whether it is a favourite")
    async def ask(user: FromPath[str], restaurant: FromPath[str]) -> FavouriteAnswer:
        since = await service.since(user, restaurant)
        return FavouriteAnswer(since is not None, since)

    return [mark, unmark, ask]


def _lists(service: Favourites) -> list[ControllerRouterHandler]:
    @get("/favourites/{user:str}", dependencies={"page": PAGE}, summary="A user's favourites, newest first")
    async def favourites(user: FromPath[str], page: AskedPage) -> PageAnswer[FavouriteOfUser]:
        check_id("user", user)
        return page_answer(await service.favourites_of(user, page), _of_user)

    @get("/restaurants/{restaurant:str}/fans", dependencies={"page": PAGE}, summary="Its fans, newest first")
    async def fans(restaurant: FromPath[str], page: AskedPage) -> PageAnswer[Fan]:
        check_id("restaurant", restaurant)
        return page_answer(await service.fans_of(restaurant, page), _fan)

    return [favourites, fans]


def _counts(service: Favourites) -> list[ControllerRouterHandler]:
    @get("/restaurants/{restaurant:str}/favourites", summary="How many favourites it has")
    async def count(restaurant: FromPath[str], window: Window = ALL_TIME) -> CountAnswer:
        """Marks count in the windows of the instant at which they were made."""
        found = await service.count(restaurant, window)
        return CountAnswer(found.restaurant, found.window, found.count, found.updated)

    @get("/restaurants/top", summary="The restaurants with the most favourites")
    async def top(window: Window = ALL_TIME, limit: Limit = 10) -> TopAnswer:
        """By count downward, ties by id, without those that nobody has marked."""
        if not 1 <= limit <= MAX_TOP:
            raise sk.services.BadRequest(f"limit: must be from 1 to {MAX_TOP:,}, not {limit}")
        found = await service.top(window, limit)
        return TopAnswer(window, [TopRestaurant(each.restaurant, each.count) for each in found])

    return [count, top]


def _of_user(favourite: Favourite) -> FavouriteOfUser:
    return FavouriteOfUser(favourite.restaurant, favourite.since)


def _fan(favourite: Favourite) -> Fan:
    return Fan(favourite.user, favourite.since)
