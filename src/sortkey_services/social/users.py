"""Users: who they are, who lives in a city, and the posts that they have pinned.

Pins are up to a hundred posts in one set. Each change of them is one conditional write, with a true answer.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from litestar import delete, get, put
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.types import ControllerRouterHandler

import sortkey as sk
from sortkey.services.pages import PAGE, AskedPage, PageAnswer, PageArguments, page_answer
from sortkey_services.social.checks import check_id, check_key_text, check_text, get_readable, must_be_readable, page_of
from sortkey_services.social.model import FollowCounts, PinBoard, User

MAX_PINS: Final = 100

PINNED: Final = sk.patterns.bounded(PinBoard, "pins", limit=MAX_PINS)

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


class PinAnswer(msgspec.Struct, frozen=True):
    outcome: Literal["added", "present", "full", "removed", "absent"]
    size: int
    """How many pins there are now."""


class PinsAnswer(msgspec.Struct, frozen=True):
    pins: list[str]


class Users:
    def __init__(self, session: sk.AsyncSession) -> None:
        self._session = session

    async def put(self, user: str, name: str, city: str) -> UserAnswer:
        """A user who exists gets another name and city, and keeps pins and follows."""
        check_id("user", user)
        check_text("name", name)
        check_key_text("city", city)
        # Before the writes: if the counts cannot be read, nothing is written.
        with must_be_readable(f"the counts of {user!r}"):
            counts = await self._session.get(FollowCounts.key(user=user), consistent=True)
        # Before the profile: a user who exists has a pin board, even if this ends in between.
        await self._session.put(PinBoard(user=user), if_absent=True)
        profile = User(user=user, name=name, city=city)
        await self._session.put(profile)
        return _counted(profile, counts)

    async def get(self, user: str) -> UserAnswer:
        """Raises NotFound."""
        check_id("user", user)
        paths = (User.key(user=user), FollowCounts.key(user=user))
        with must_be_readable(f"the user {user!r}"):
            profile, counts = await self._session.get_many(paths, consistent=True)
        if profile is None:
            raise _no_user(user)
        return _counted(profile, counts)

    async def in_city(self, city: str, page: PageArguments) -> PageAnswer[UserAnswer]:
        """By id. The counts of all are one batch; those that cannot be read are 0."""
        check_key_text("city", city)
        users = await page_of(self._session, User.by_city(city=city), page)
        found = await get_readable(self._session, [FollowCounts.key(user=each.user) for each in users])
        counts = dict(zip((each.user for each in users), found, strict=True))
        return page_answer(users, lambda user: _counted(user, counts[user.user]))

    async def require(self, *users: str) -> None:
        """Raises NotFound for the first one who does not exist."""
        for user in users:
            check_id("user", user)
        with must_be_readable(f"the user {' or '.join(map(repr, users))}"):
            found = await self._session.get_many([User.key(user=user) for user in users], consistent=True)
        for user, profile in zip(users, found, strict=True):
            if profile is None:
                raise _no_user(user)

    @property
    def routes(self) -> list[ControllerRouterHandler]:
        @put("/social/users/{user:str}", opt={"fast": True}, summary="Make a user, or change name and city")
        async def write(user: FromPath[str], data: JSONBody[Profile]) -> UserAnswer:
            return await self.put(user, data.name, data.city)

        @get("/social/users/{user:str}", opt={"fast": True}, summary="A user, with both counts of follows")
        async def show(user: FromPath[str]) -> UserAnswer:
            """The counts follow their follows within a moment."""
            return await self.get(user)

        @get("/social/users", dependencies={"page": PAGE}, summary="Who lives in a city, by id")
        async def in_city(city: City, page: AskedPage) -> PageAnswer[UserAnswer]:
            return await self.in_city(city, page)

        return [write, show, in_city]


class Pins:
    def __init__(self, session: sk.AsyncSession) -> None:
        self._session = session

    async def pin(self, user: str, post: str) -> PinAnswer:
        """Raises NotFound, and Conflict if there is no room for another one."""
        check_id("user", user)
        check_id("post", post)
        try:
            with must_be_readable(f"the pin board of {user!r}"):
                answer = await PINNED.add(self._session, PinBoard.key(user=user), post)
        except sk.ItemMissing:
            raise _no_user(user) from None
        if answer.outcome == "full":
            raise sk.services.Conflict(
                f"there are {answer.size} pins, and no more than {MAX_PINS}; remove one first", "full"
            )
        return PinAnswer(answer.outcome, answer.size)

    async def unpin(self, user: str, post: str) -> PinAnswer:
        """Raises NotFound."""
        check_id("user", user)
        check_id("post", post)
        try:
            with must_be_readable(f"the pin board of {user!r}"):
                answer = await PINNED.remove(self._session, PinBoard.key(user=user), post)
        except sk.ItemMissing:
            raise _no_user(user) from None
        return PinAnswer(answer.outcome, answer.size)

    async def of(self, user: str) -> list[str]:
        """In the order of their ids. Raises NotFound."""
        check_id("user", user)
        with must_be_readable(f"the pin board of {user!r}"):
            board = await self._session.get(PinBoard.key(user=user), consistent=True)
        if board is None:
            raise _no_user(user)
        return sorted(board.pins)

    @property
    def routes(self) -> list[ControllerRouterHandler]:
        @put("/social/users/{user:str}/pins/{post:str}", opt={"fast": True}, summary="Pin a post")
        async def pin(user: FromPath[str], post: FromPath[str]) -> PinAnswer:
            """The 101st is answered with 409 and the code `full`."""
            return await self.pin(user, post)

        @delete("/social/users/{user:str}/pins/{post:str}", status_code=200, opt={"fast": True}, summary="Unpin a post")
        async def unpin(user: FromPath[str], post: FromPath[str]) -> PinAnswer:
            return await self.unpin(user, post)

        @get("/social/users/{user:str}/pins", opt={"fast": True}, summary="All pins of a user")
        async def show(user: FromPath[str]) -> PinsAnswer:
            return PinsAnswer(await self.of(user))

        return [pin, unpin, show]


def _counted(user: User, counts: FollowCounts | None) -> UserAnswer:
    counted = counts or FollowCounts(user=user.user)
    return UserAnswer(user.user, user.name, user.city, counted.following, counted.followers)


def _no_user(user: str) -> sk.services.NotFound:
    return sk.services.NotFound(f"there is no user {user!r}")
