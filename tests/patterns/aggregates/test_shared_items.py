"""Items that two aggregates and the program keep their values in."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import sortkey as sk
from tests.patterns.aggregates.favourites import START, Favourite, change


class Shared(sk.Item, table="aggregate-shared-items"):
    name: str
    fans: int = 0
    favourites: int = 0
    spent: Decimal = Decimal(0)
    note: str = "none"

    key = sk.Key("{name}")


FANS = sk.patterns.aggregate(
    Favourite, into=Shared, by={"name": "restaurant"}, values={"fans": sk.patterns.count()}, checkpoints="fans"
)
MINE = sk.patterns.aggregate(
    Favourite,
    into=Shared,
    by={"name": "user"},
    values={"favourites": sk.patterns.count(), "spent": sk.patterns.total("spent")},
    checkpoints="mine",
)
NOPI = Favourite(user="nopi", restaurant="nopi", since=START, spent=Decimal(7))


# An aggregator that has not written an item before sets what follows from the group. Other fields do not: a default of
# theirs would undo what others keep there.
def test_each_leaves_the_values_of_the_others_as_they_are() -> None:
    async def play() -> None:
        async with sk.async_connect("memory:", tables=[Shared]) as db:
            await db.create_tables()
            path = Shared.key(name="nopi")
            await FANS.aggregator(db).on_changes([change(1, None, NOPI)])
            await MINE.aggregator(db).on_changes([change(1, None, NOPI)])
            await db.update(path, {"note": "closed on Mondays"})
            more = [
                change(2, None, sk.replace(NOPI, user="bob")),
                change(3, None, sk.replace(NOPI, restaurant="honey")),
            ]
            await FANS.aggregator(db).on_changes(more)
            await MINE.aggregator(db).on_changes(more)
            assert await db.get(path) == Shared(
                name="nopi", fans=2, favourites=2, spent=Decimal(14), note="closed on Mondays"
            )

    asyncio.run(play())
