"""The routes of follows, in both directions, and of mutuals."""

from __future__ import annotations

from datetime import datetime

import msgspec
from litestar import delete, get, put
from litestar.params import FromPath
from litestar.types import ControllerRouterHandler

from sortkey.services.pages import PAGE, AskedPage, PageAnswer, page_answer
from sortkey_services.social.follows import Follows
from sortkey_services.social.mutuals import Mutuals, Plan


class FollowAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    follows: bool
    since: datetime | None = None


class Followed(msgspec.Struct, frozen=True):
    user: str
    since: datetime


class PlanAnswer(msgspec.Struct, frozen=True):
    plan: Plan
    """The list that is read: whom the user follows, or the user's followers."""
    path: str
    edges: int
    units: float
    """Read units for all mutuals: reading the list, and asking for each edge back."""


class PlansAnswer(msgspec.Struct, frozen=True):
    chosen: PlanAnswer
    other: PlanAnswer


def routes(follows: Follows, mutuals: Mutuals) -> list[ControllerRouterHandler]:
    return [*_edges(follows), *_lists(follows), *_mutuals(mutuals)]


def _edges(follows: Follows) -> list[ControllerRouterHandler]:
    @put("/social/users/{user:str}/follows/{other:str}", opt={"fast": True}, summary="Follow another user")
    async def follow(user: FromPath[str], other: FromPath[str]) -> FollowAnswer:
        """Following twice changes nothing. Both users must exist."""
        return FollowAnswer(True, await follows.follow(user, other))

    @delete(
        "/social/users/{user:str}/follows/{other:str}",
        status_code=200,
        opt={"fast": True},
        summary="Follow no longer",
    )
    async def unfollow(user: FromPath[str], other: FromPath[str]) -> FollowAnswer:
        """Also if the user did not follow the other."""
        await follows.unfollow(user, other)
        return FollowAnswer(False)

    @get("/social/users/{user:str}/follows/{other:str}", opt={"fast": True}, summary="Whether a user follows another")
    async def ask(user: FromPath[str], other: FromPath[str]) -> FollowAnswer:
        since = await follows.since(user, other)
        return FollowAnswer(since is not None, since)

    return [follow, unfollow, ask]


def _lists(follows: Follows) -> list[ControllerRouterHandler]:
    @get("/social/users/{user:str}/following", dependencies={"page": PAGE}, summary="Whom the user follows, by id")
    async def following(user: FromPath[str], page: AskedPage) -> PageAnswer[Followed]:
        found = await follows.following(user, page)
        return page_answer(found, lambda edge: Followed(edge.followed, edge.since))

    @get("/social/users/{user:str}/followers", dependencies={"page": PAGE}, summary="Who follows the user, by id")
    async def followers(user: FromPath[str], page: AskedPage) -> PageAnswer[Followed]:
        found = await follows.followers(user, page)
        return page_answer(found, lambda edge: Followed(edge.user, edge.since))

    return [following, followers]


def _mutuals(mutuals: Mutuals) -> list[ControllerRouterHandler]:
    @get("/social/users/{user:str}/mutuals", dependencies={"page": PAGE}, summary="Who follows back, by id")
    async def mutual(user: FromPath[str], page: AskedPage) -> PageAnswer[Followed]:
        """`since` is the later of the two. A page reads up to 1,000 edges; if they are not enough to fill it, it is
        short, and its cursor goes on."""
        found = await mutuals.page(user, page)
        return PageAnswer([Followed(each.user, each.since) for each in found.items], found.info)

    @get("/social/users/{user:str}/mutuals/explain", summary="Which of two plans finds the mutuals, and its cost")
    async def explain(user: FromPath[str]) -> PlansAnswer:
        chosen, other = (PlanAnswer(*each) for each in await mutuals.explain(user))
        return PlansAnswer(chosen, other)

    return [mutual, explain]
