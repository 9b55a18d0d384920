"""Favourites as the command line lists and makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from random import Random
from typing import Any, Final

import sortkey as sk
from sortkey_services.favourites import demo
from sortkey_services.favourites.model import Favourite, FavouriteCount
from sortkey_services.favourites.service import FavouritesService, read_settings


def _tables(_: Mapping[str, Any]) -> Sequence[type[sk.Item]]:
    return Favourite, FavouriteCount


def _make(session: sk.AsyncSession, settings: Mapping[str, Any]) -> FavouritesService:
    return FavouritesService(session, read_settings(settings))


def _user(draw: Random) -> str:
    return f"u{draw.randrange(demo.USERS):04}"


def _ask(draw: Random) -> str:
    return f"GET /favourites/{_user(draw)}/{demo.restaurant(draw)}"


def _list(draw: Random) -> str:
    return f"GET /favourites/{_user(draw)}"


def _count(draw: Random) -> str:
    return f"GET /restaurants/{demo.restaurant(draw)}/favourites"


def _top(_: Random) -> str:
    return "GET /restaurants/top?limit=10"


def _mark(draw: Random) -> str:
    return f"PUT /favourites/{_user(draw)}/r{draw.randrange(demo.RESTAURANTS):04}"


@cache
def _marked() -> list[tuple[str, str]]:
    return [(each.user, each.restaurant) for each in demo.favourites()]


def _unmark(draw: Random) -> str:
    return f"DELETE /favourites/{'/'.join(draw.choice(_marked()))}"


FAVOURITES: Final = sk.services.ServiceDefinition(
    name="favourites",
    summary="whose favourite is it, how many, ever, this month, today; top lists",
    tables=_tables,
    make=_make,
    has_feeds=True,
    usual_requests=[
        sk.services.UsualRequest("is it my favourite", 50, _ask),
        sk.services.UsualRequest("list my favourites", 15, _list),
        sk.services.UsualRequest("count a restaurant's favourites", 20, _count),
        sk.services.UsualRequest("list the top ten", 5, _top),
        sk.services.UsualRequest("mark", 7, _mark),
        sk.services.UsualRequest("unmark", 3, _unmark),
    ],
)
