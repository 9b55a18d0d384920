"""The routes of users."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import get, put
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.types import ControllerRouterHandler

from sortkey.services.pages import PAGE, AskedPage, PageAnswer, page_answer
from sortkey_services.social.model import FollowCounts, User
from sortkey_services.social.users import Users

City = Annotated[str, QueryParameter(description="The city, as users have it")]


class Profile(msgspec.Struct, frozen=True):
    name: str
    city: str


class UserAnswer(msgspec.Struct, frozen=True):
    user: str
    name: str
    city: str
    following: int
    """How many the user follows."""
    followers: int


def routes(users: Users) -> list[ControllerRouterHandler]:
    @put("/social/users/{user:str}", opt={"fast": True}, summary="Make a user, or change name and city")
    async def write(user: FromPath[str], data: JSONBody[Profile]) -> UserAnswer:
        return _shown(*await users.put(user, data.name, data.city))

    @get("/social/users/{user:str}", opt={"fast": True}, summary="A user, with both counts of follows")
    async def show(user: FromPath[str]) -> UserAnswer:
        """The counts follow their follows within a moment."""
        return _shown(*await users.get(user))

    @get("/social/users", dependencies={"page": PAGE}, summary="Who lives in a city, by id")
    async def in_city(city: City, page: AskedPage) -> PageAnswer[UserAnswer]:
        found = await users.in_city(city, page)
        counts = await users.counts_of(found.items)
        return page_answer(found, lambda user: _shown(user, counts[user.user]))

    return [write, show, in_city]


def _shown(user: User, counts: FollowCounts) -> UserAnswer:
    return UserAnswer(user.user, user.name, user.city, counts.following, counts.followers)
