"""Users: who they are, and who lives in a city."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import sortkey as sk
from sortkey.services.pages import PageArguments
from sortkey_services.social.checks import check_id, check_key_text, check_text
from sortkey_services.social.model import FollowCounts, PinBoard, User
from sortkey_services.social.reading import get_readable, must_be_readable, page_of


class CountedUser(NamedTuple):
    user: User
    counts: FollowCounts


class Users:
    def __init__(self, session: sk.AsyncSession) -> None:
        self._session = session

    async def put(self, user: str, name: str, city: str) -> CountedUser:
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
        return CountedUser(profile, counts or FollowCounts(user=user))

    async def get(self, user: str) -> CountedUser:
        """Raises NotFound."""
        paths = (user_path(user), FollowCounts.key(user=user))
        with must_be_readable(f"the user {user!r}"):
            profile, counts = await self._session.get_many(paths, consistent=True)
        if profile is None:
            raise no_user(user)
        return CountedUser(profile, counts or FollowCounts(user=user))

    async def in_city(self, city: str, page: PageArguments) -> sk.Page[User]:
        """By id."""
        check_key_text("city", city)
        return await page_of(self._session, User.by_city(city=city), page)

    async def counts_of(self, users: Sequence[User]) -> dict[str, FollowCounts]:
        """Those of each, in one batch; 0 for those that cannot be read."""
        found = await get_readable(self._session, [FollowCounts.key(user=each.user) for each in users])
        return {each.user: counts or FollowCounts(user=each.user) for each, counts in zip(users, found, strict=True)}

    async def require(self, *users: str) -> None:
        """Raises NotFound for the first one who does not exist."""
        with must_be_readable(f"the user {' or '.join(map(repr, users))}"):
            found = await self._session.get_many([user_path(user) for user in users], consistent=True)
        for user, profile in zip(users, found, strict=True):
            if profile is None:
                raise no_user(user)


def user_path(user: str) -> sk.AccessPath[User]:
    check_id("user", user)
    return User.key(user=user)


def no_user(user: str) -> sk.services.NotFound:
    return sk.services.NotFound(f"there is no user {user!r}")
