"""Who follows a user and is followed back, without reading everybody.

There are two plans: read whom the user follows and ask of each whether the edge back exists, or read the user's
followers and ask of each whether the user follows back. Both give the same answer in the same order. The asking costs
half a read unit for each edge read, so the shorter list is the cheaper one; the counts tell which that is. They may lag
a little, which makes an answer dearer, not wrong.

A cursor begins with its plan, so that all pages of a list have the same one, even if the counts change meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal, NamedTuple, get_args

import sortkey as sk
from sortkey.services.pages import PageArguments, PageInfo
from sortkey_services.social.checks import check_id
from sortkey_services.social.model import Follow, FollowCounts
from sortkey_services.social.reading import get_readable, page_of
from sortkey_services.social.users import Users

Plan = Literal["following", "followers"]

MAX_EDGES: Final = 1000
"""How many edges a page reads at most. If they are not enough to fill it, the page is short, and its cursor goes on."""
LEAST_EDGES: Final = 50
"""How many edges one query reads at least, if there are so many."""
EDGE_BYTES: Final = 150
"""About the size of an edge, for the estimate."""
UNITS_TO_ASK: Final = 0.5
"""For one edge back, by its key."""

_PLANS: Final[tuple[Plan, ...]] = get_args(Plan)


class Mutual(NamedTuple):
    user: str
    since: datetime
    """The later of both edges: since then they follow each other."""


class MutualPage(NamedTuple):
    items: list[Mutual]
    info: PageInfo


class PlanCost(NamedTuple):
    plan: Plan
    path: str
    """The list that is read."""
    edges: int
    units: float
    """What all mutuals cost: reading the list, and asking for each edge back."""


class Mutuals:
    def __init__(self, session: sk.AsyncSession, users: Users) -> None:
        self._session = session
        self._users = users

    async def explain(self, user: str) -> list[PlanCost]:
        """The two plans; a list that begins now has the first. Raises NotFound."""
        counts = (await self._users.get(user)).counts
        chosen = _cheaper(counts)
        return [self._cost(plan, counts) for plan in sorted(_PLANS, key=lambda plan: plan != chosen)]

    async def page(self, user: str, page: PageArguments) -> MutualPage:
        """Mutuals by id. Raises NotFound, and CursorError for a cursor of another user's list."""
        check_id("user", user)
        given = page["after"] or page["before"]
        if given is None:
            plan, cursor = _cheaper((await self._users.get(user)).counts), None
        else:
            plan, cursor = _parted(given)
        backward = page["last"] is not None
        size = page["last"] or page["first"] or 0
        return await self._walk(_Walk(user, plan, size, backward), cursor)

    def _cost(self, plan: Plan, counts: FollowCounts) -> PlanCost:
        edges = counts.following if plan == "following" else counts.followers
        explained = self._session.explain(_list(plan, counts.user), rows=edges, row_bytes=EDGE_BYTES)
        return PlanCost(plan, explained.path, edges, explained.units + edges * UNITS_TO_ASK)

    async def _walk(self, walk: _Walk, start: str | None) -> MutualPage:
        found: list[tuple[str, Mutual]] = []
        cursor, left, more = start, MAX_EDGES, True
        while more and left and len(found) <= walk.size:
            wanted = min(left, max(walk.size + 1 - len(found), LEAST_EDGES))
            page = await self._edges(walk, wanted, cursor)
            edges = page.edges[::-1] if walk.backward else page.edges
            found += await self._mutual(walk, edges)
            more = page.has_previous if walk.backward else page.has_next
            cursor = (page.start_cursor if walk.backward else page.end_cursor) or cursor
            # A short page before the end has read its 1,000 rows, and left out some that cannot be read.
            left = left - len(edges) if len(edges) == wanted else 0
        return walk.answer(found, start, cursor if more else None)

    async def _edges(self, walk: _Walk, wanted: int, cursor: str | None) -> sk.Page[Follow]:
        path = _list(walk.plan, walk.user)
        if walk.backward:
            part = PageArguments(first=None, after=None, last=wanted, before=cursor)
        else:
            part = PageArguments(first=wanted, after=cursor, last=None, before=None)
        return await page_of(self._session, path, part)

    async def _mutual(self, walk: _Walk, edges: Sequence[tuple[str, Follow]]) -> list[tuple[str, Mutual]]:
        """Those of the edges, each with its cursor, whose edge back exists."""
        backs = [Follow.key(user=edge.followed, followed=edge.user) for _, edge in edges]
        found = await get_readable(self._session, backs)
        return [
            (cursor, Mutual(walk.other(edge), max(edge.since, back.since)))
            for (cursor, edge), back in zip(edges, found, strict=True)
            if back is not None
        ]


class _Walk(NamedTuple):
    """What a page asks for."""

    user: str
    plan: Plan
    size: int
    backward: bool

    def other(self, edge: Follow) -> str:
        return edge.followed if self.plan == "following" else edge.user

    def answer(self, found: Sequence[tuple[str, Mutual]], start: str | None, stopped: str | None) -> MutualPage:
        """`stopped` is the last edge that was read, None if there are no more."""
        shown = list(found[: self.size])
        more = len(found) > self.size or stopped is not None
        far = stopped if stopped is not None and len(found) <= self.size else shown[-1][0] if shown else None
        near = shown[0][0] if shown else far
        ends = [None if each is None else f"{self.plan}.{each}" for each in (near, far)]
        if self.backward:
            shown.reverse()
            ends.reverse()
        continued = start is not None
        follows, precedes = (continued, more) if self.backward else (more, continued)
        return MutualPage([mutual for _, mutual in shown], PageInfo(follows, precedes, ends[0], ends[1]))


def _cheaper(counts: FollowCounts) -> Plan:
    return "following" if counts.following <= counts.followers else "followers"


def _list(plan: Plan, user: str) -> sk.AccessPath[Follow]:
    return Follow.key(user=user) if plan == "following" else Follow.followers(followed=user)


def _parted(cursor: str) -> tuple[Plan, str]:
    for plan in _PLANS:
        if cursor.startswith(f"{plan}."):
            return plan, cursor.removeprefix(f"{plan}.")
    raise sk.CursorError("the cursor does not belong to a list of mutuals")
