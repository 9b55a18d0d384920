"""Who follows whom, as an adjacency list: an edge is one row, and each direction is one query.

Mutuals, who follow a user and are followed back, are found without reading everybody. There are two plans: read whom
the user follows and ask of each whether the edge back exists, or read the user's followers and ask of each whether the
user follows back. Both give the same answer in the same order. The asking costs half a read unit for each edge read, so
the shorter list is the cheaper one; the counts tell which that is. They may lag a little, which makes an answer dearer,
not wrong. A cursor begins with its plan, so that all pages of a list have the same one, even if the counts change
meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, Literal, get_args

import msgspec
from litestar import delete, get, put
from litestar.params import FromPath
from litestar.types import ControllerRouterHandler

import sortkey as sk
from sortkey.clock import Clock
from sortkey.services.pages import PAGE, AskedPage, PageAnswer, PageArguments, page_answer
from sortkey_services.filled_page import filled_page, without_prefix
from sortkey_services.social.checks import check_id, get_readable, must_be_readable, page_of, wrong_cursor
from sortkey_services.social.model import FOLLOWERS, FOLLOWING, Follow
from sortkey_services.social.users import UserAnswer, Users

Plan = Literal["following", "followers"]

MAX_EDGES: Final = 1000
"""How many edges a page of mutuals reads at most. If they are not enough to fill it, the page is short, and its cursor
goes on."""
LEAST_EDGES: Final = 50
"""How many edges one query reads at least, if there are so many."""
EDGE_BYTES: Final = 150
"""About the size of an edge, for the estimate."""
UNITS_TO_ASK: Final = 0.5
"""For one edge back, by its key."""

_PLANS: Final[tuple[Plan, ...]] = get_args(Plan)


class FollowAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    follows: bool
    since: datetime | None = None


class Followed(msgspec.Struct, frozen=True):
    user: str
    since: datetime
    """Of mutuals, the later of both edges: since then they follow each other."""


class PlanAnswer(msgspec.Struct, frozen=True):
    plan: Plan
    """The list that is read: whom the user follows, or the user's followers."""
    path: str
    edges: int
    units: float
    """Read units for all mutuals: reading the list, and asking for each edge back."""


class PlansAnswer(msgspec.Struct, frozen=True):
    chosen: PlanAnswer
    """A list that begins now has this one."""
    other: PlanAnswer


class Follows:
    def __init__(self, session: sk.AsyncSession, users: Users, clock: Clock) -> None:
        self._session = session
        self._users = users
        self._clock = clock
        self.feeds = [
            sk.feeds.ChangeFeed("social-following", Follow, FOLLOWING.aggregator(session).on_changes),
            sk.feeds.ChangeFeed("social-followers", Follow, FOLLOWERS.aggregator(session).on_changes),
        ]

    async def follow(self, user: str, other: str) -> datetime:
        """Returns since when; following twice changes nothing. Raises NotFound if there is no such user."""
        path = _edge(user, other)
        # Users are never deleted, so one who exists now exists when the edge is written.
        await self._users.require(user, other)
        follow = Follow(user=user, followed=other, since=datetime.fromtimestamp(self._clock.now(), UTC))
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

    @property
    def routes(self) -> list[ControllerRouterHandler]:
        @put("/social/users/{user:str}/follows/{other:str}", opt={"fast": True}, summary="Follow another user")
        async def follow(user: FromPath[str], other: FromPath[str]) -> FollowAnswer:
            """Following twice changes nothing. Both users must exist."""
            return FollowAnswer(True, await self.follow(user, other))

        @delete(
            "/social/users/{user:str}/follows/{other:str}",
            status_code=200,
            opt={"fast": True},
            summary="Follow no longer",
        )
        async def unfollow(user: FromPath[str], other: FromPath[str]) -> FollowAnswer:
            """Also if the user did not follow the other."""
            await self.unfollow(user, other)
            return FollowAnswer(False)

        @get(
            "/social/users/{user:str}/follows/{other:str}", opt={"fast": True}, summary="Whether a user follows another"
        )
        async def ask(user: FromPath[str], other: FromPath[str]) -> FollowAnswer:
            since = await self.since(user, other)
            return FollowAnswer(since is not None, since)

        @get("/social/users/{user:str}/following", dependencies={"page": PAGE}, summary="Whom the user follows, by id")
        async def following(user: FromPath[str], page: AskedPage) -> PageAnswer[Followed]:
            found = await self.following(user, page)
            return page_answer(found, lambda edge: Followed(edge.followed, edge.since))

        @get("/social/users/{user:str}/followers", dependencies={"page": PAGE}, summary="Who follows the user, by id")
        async def followers(user: FromPath[str], page: AskedPage) -> PageAnswer[Followed]:
            found = await self.followers(user, page)
            return page_answer(found, lambda edge: Followed(edge.user, edge.since))

        return [follow, unfollow, ask, following, followers]


class Mutuals:
    def __init__(self, session: sk.AsyncSession, users: Users) -> None:
        self._session = session
        self._users = users

    async def explain(self, user: str) -> PlansAnswer:
        """Raises NotFound."""
        counted = await self._users.get(user)
        chosen = _cheaper(counted)
        return PlansAnswer(*(self._cost(plan, counted) for plan in sorted(_PLANS, key=lambda plan: plan != chosen)))

    async def page(self, user: str, page: PageArguments) -> PageAnswer[Followed]:
        """Mutuals by id. Raises NotFound, and CursorError for a cursor of another user's list."""
        check_id("user", user)
        plan, inner = without_prefix(page)
        if plan is None:
            plan = _cheaper(await self._users.get(user))
        elif plan not in _PLANS:
            raise sk.CursorError("the cursor does not belong to a list of mutuals")
        path = _list(plan, user)

        async def show(edges: Sequence[Follow]) -> list[Followed | None]:
            others = [edge.followed if plan == "following" else edge.user for edge in edges]
            backs = [Follow.key(user=edge.followed, followed=edge.user) for edge in edges]
            found = await get_readable(self._session, backs)
            return [
                None if back is None else Followed(other, max(edge.since, back.since))
                for other, edge, back in zip(others, edges, found, strict=True)
            ]

        try:
            found = await filled_page(
                self._session, path, inner, show, consistent=False, most=MAX_EDGES, least=LEAST_EDGES
            )
        except sk.CursorError:
            raise wrong_cursor() from None
        return PageAnswer(found.items, found.with_prefix(plan).info)

    def _cost(self, plan: Plan, counted: UserAnswer) -> PlanAnswer:
        edges = counted.following if plan == "following" else counted.followers
        explained = self._session.explain(_list(plan, counted.user), rows=edges, row_bytes=EDGE_BYTES)
        return PlanAnswer(plan, explained.path, edges, explained.units + edges * UNITS_TO_ASK)

    @property
    def routes(self) -> list[ControllerRouterHandler]:
        @get("/social/users/{user:str}/mutuals", dependencies={"page": PAGE}, summary="Who follows back, by id")
        async def mutual(user: FromPath[str], page: AskedPage) -> PageAnswer[Followed]:
            """`since` is the later of the two. A page reads up to 1,000 edges; if they are not enough to fill it, it is
            short, and its cursor goes on."""
            return await self.page(user, page)

        @get("/social/users/{user:str}/mutuals/explain", summary="Which of two plans finds the mutuals, and its cost")
        async def explain(user: FromPath[str]) -> PlansAnswer:
            return await self.explain(user)

        return [mutual, explain]


def _edge(user: str, other: str) -> sk.AccessPath[Follow]:
    check_id("user", user)
    check_id("other", other)
    if user == other:
        raise sk.services.BadRequest("other: must be another user; nobody follows oneself")
    return Follow.key(user=user, followed=other)


def _cheaper(counted: UserAnswer) -> Plan:
    return "following" if counted.following <= counted.followers else "followers"


def _list(plan: str, user: str) -> sk.AccessPath[Follow]:
    return Follow.key(user=user) if plan == "following" else Follow.followers(followed=user)
