"""Users by their ids, and the same by their cities, in two tables and in one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.model.calls.steps import Pacing

USERS = sk.Table("rekeyed-users", stream="KEYS_ONLY")
CITIES = sk.Table("rekeyed-cities")


class User(sk.Item, table=USERS):
    team: str
    user: str
    cities: list[str] = sk.field(default_factory=list)
    points: int = 0

    key = sk.Key("TEAM#{team}", "USER#{user}")


class UserInCity(sk.Item, table=CITIES):
    city: str
    user: str
    points: int

    key = sk.Key("CITY#{city}", "{user}")


class TeamTotal(sk.Item, table=CITIES):
    """What follows from all users of a team together."""

    team: str
    points: int
    users: int

    key = sk.Key("TEAM#{team}", "TOTAL")


def in_cities(user: User) -> Iterator[UserInCity]:
    """None, one or several."""
    for city in user.cities:
        yield UserInCity(city=city, user=f"{user.team}-{user.user}", points=user.points)


def of_team(users: Sequence[User]) -> Iterator[UserInCity | TeamTotal]:
    for user in users:
        yield from in_cities(user)
    yield TeamTotal(team=users[0].team, points=sum(user.points for user in users), users=len(users))


BY_CITY = sk.patterns.rekey("users-by-city", User, in_cities, to=UserInCity)
BY_TEAM = sk.patterns.rekey("users-by-team", User, of_team, to=[UserInCity, TeamTotal], by=["team"])


def run(
    test: Callable[[sk.AsyncSession], Awaitable[None]], store: str = "memory:", clock: ManualClock | None = None
) -> None:
    """Runs a test in a store with all tables. Pauses and the age of what is remembered go by the clock, if there is
    one."""

    async def opened() -> None:
        pacing = None if clock is None else Pacing(monotonic=clock.now)
        async with sk.async_connect(store, tables=BY_TEAM.tables, clock=clock, pacing=pacing) as db:
            await BY_TEAM.create_tables(db)
            await test(db)

    asyncio.run(opened())


async def written(reader: sk.patterns.RekeyReader) -> str:
    """Which design a program writes."""
    async with reader.writing() as design:
        return design


async def new_rows(db: sk.AsyncSession) -> dict[tuple[str, str], int]:
    """The points of each user in each city, and of each team."""
    rows = {(each.city, each.user): each.points async for each in db.scan(UserInCity, consistent=True)}
    return rows | {("total", each.team): each.points async for each in db.scan(TeamTotal, consistent=True)}


def expected(users: Sequence[User], *, totals: bool = False) -> dict[tuple[str, str], int]:
    rows = {(city, f"{user.team}-{user.user}"): user.points for user in users for city in user.cities}
    if totals:
        for user in users:
            rows["total", user.team] = rows.get(("total", user.team), 0) + user.points
    return rows
