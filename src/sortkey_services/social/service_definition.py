"""Social as the command line lists and makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

import sortkey as sk
from sortkey_services.social import demo
from sortkey_services.social.service import TABLES, SocialService


def _tables(_: Mapping[str, Any]) -> Sequence[sk.Table]:
    return TABLES


def _make(session: sk.AsyncSession, settings: Mapping[str, Any]) -> SocialService:
    if settings:
        raise sk.services.BadSettings(f"social: there are no settings, so {min(settings)!r} is unknown")
    return SocialService(session)


_PEOPLE: Final = [name.split()[0].lower() for names in demo.CITIES.values() for name in names.split(", ")]


def _user(draw: Random) -> str:
    return f"GET /social/users/{draw.choice(_PEOPLE)}"


def _followers(draw: Random) -> str:
    return f"GET /social/users/{draw.choice(_PEOPLE)}/followers"


def _orders(draw: Random) -> str:
    return f"GET /social/customers/{draw.choice(_PEOPLE)}/orders?month=2026-06"


def _top(draw: Random) -> str:
    return f"GET /social/leaderboards/{draw.choice([*demo.GAMES])}/top?limit=10"


def _follow(draw: Random) -> str:
    user, other = draw.sample(_PEOPLE, 2)
    return f"PUT /social/users/{user}/follows/{other}"


def _order(draw: Random) -> tuple[str, object]:
    body = {"customer": draw.choice(_PEOPLE), "status": "PENDING", "placed": "2026-08-24", "total": "19.90"}
    return f"PUT /social/orders/usual-{draw.getrandbits(64):016x}", body


def _points(draw: Random) -> tuple[str, object]:
    return "POST /social/leaderboards/chess/scores", {"player": draw.choice(_PEOPLE), "points": draw.randint(1, 40)}


SOCIAL: Final = sk.services.ServiceDefinition(
    name="social",
    summary="who follows whom, pins, orders by day, products, leaderboards; one table, one index",
    tables=_tables,
    make=_make,
    has_feeds=True,
    usual_requests=[
        sk.services.UsualRequest("show a user", 40, _user),
        sk.services.UsualRequest("list a user's followers", 20, _followers),
        sk.services.UsualRequest("list a customer's orders of a month", 10, _orders),
        sk.services.UsualRequest("list a game's top ten", 10, _top),
        sk.services.UsualRequest("follow", 5, _follow),
        sk.services.UsualRequest("place an order", 5, _order),
        sk.services.UsualRequest("add points", 10, _points),
    ],
)
