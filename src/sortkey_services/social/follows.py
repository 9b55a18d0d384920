"""Who follows whom, as an adjacency list: an edge is one row, and each direction is one query."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import sortkey as sk
from sortkey.services.pages import PageArguments
from sortkey_services.social.checks import check_id
from sortkey_services.social.counts import FOLLOWERS, FOLLOWING
from sortkey_services.social.model import Follow
from sortkey_services.social.reading import must_be_readable, page_of
from sortkey_services.social.users import Users


class Follows:
    def __init__(self, session: sk.AsyncSession, users: Users, now: Callable[[], float]) -> None:
        self._session = session
        self._users = users
        self._now = now
        self.feeds = [
            sk.feeds.ChangeFeed("social-following", Follow, FOLLOWING.aggregator(session).on_changes),
            sk.feeds.ChangeFeed("social-followers", Follow, FOLLOWERS.aggregator(session).on_changes),
        ]

    async def follow(self, user: str, other: str) -> datetime:
        """Returns since when; following twice changes nothing. Raises NotFound if there is no such user."""
        path = _edge(user, other)
        # Users are never deleted, so one who exists now exists when the edge is written.
        await self._users.require(user, other)
        follow = Follow(user=user, followed=other, since=datetime.fromtimestamp(self._now(), UTC))
        while not await self._session.put(follow, if_absent=True):
            since = await self._since(path)
            if since is not None:
                return since
            # It was ended between the two requests.
        return follow.since

    async def unfollow(self, user: str, other: str) -> None:
        """Also if there is nothing to end."""
        try:
            await self._session.delete(_edge(user, other))
        except sk.DecodeError as error:
            # An edge that cannot be read is ended, too.
            if not error.written:
                raise

    async def since(self, user: str, other: str) -> datetime | None:
        """Since when the user follows the other; None if not."""
        return await self._since(_edge(user, other))

    async def _since(self, edge: sk.AccessPath[Follow]) -> datetime | None:
        with must_be_readable("this follow"):
            stored = await self._session.get(edge, consistent=True)
        return None if stored is None else stored.since

    async def following(self, user: str, page: PageArguments) -> sk.Page[Follow]:
        """Whom the user follows, by id."""
        check_id("user", user)
        return await self._page(user, Follow.key(user=user), page, consistent=True)

    async def followers(self, user: str, page: PageArguments) -> sk.Page[Follow]:
        """Who follows the user, by id."""
        check_id("user", user)
        return await self._page(user, Follow.followers(followed=user), page, consistent=False)

    async def _page(
        self, user: str, path: sk.AccessPath[Follow], page: PageArguments, *, consistent: bool
    ) -> sk.Page[Follow]:
        found = await page_of(self._session, path, page, consistent=consistent)
        if not found.items:
            # Only an empty page costs this read: a user with follows exists.
            await self._users.require(user)
        return found


def _edge(user: str, other: str) -> sk.AccessPath[Follow]:
    check_id("user", user)
    check_id("other", other)
    if user == other:
        raise sk.services.BadRequest("other: must be another user; nobody follows oneself")
    return Follow.key(user=user, followed=other)
