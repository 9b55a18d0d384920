"""Favourites as the command line lists and makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import sortkey as sk
from sortkey_services.favourites.model import Favourite, FavouriteCount
from sortkey_services.favourites.service import FavouritesService, read_settings


def _tables(_: Mapping[str, Any]) -> Sequence[type[sk.Item]]:
    return Favourite, FavouriteCount


def _make(session: sk.AsyncSession, settings: Mapping[str, Any]) -> FavouritesService:
    return FavouritesService(session, read_settings(settings))


FAVOURITES: Final = sk.services.ServiceDefinition(
    name="favourites",
    summary="whose favourite is it, how many, ever, this month, today; top lists",
    tables=_tables,
    make=_make,
    has_feeds=True,
)
