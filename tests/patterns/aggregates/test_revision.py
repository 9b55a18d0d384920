"""Aggregates into items with sk.version: adding and repairing are writes, so a put of an older copy fails."""

from __future__ import annotations

import asyncio
from typing import Annotated

import pytest

import sortkey as sk
from tests.patterns.aggregates.favourites import START, Favourite, change

TOTALS = sk.Table("revised-counts")


class Total(sk.Item, table=TOTALS):
    restaurant: str
    count: int = 0
    note: str = ""
    revision: Annotated[int, sk.version] = 0
    key = sk.Key("R#{restaurant}")


COUNTED = sk.patterns.aggregate(Favourite, into=Total, by=("restaurant",), values={"count": sk.patterns.count()})
NOPI = Favourite(user="ada", restaurant="nopi", since=START)
PATH = Total.key(restaurant="nopi")


def test_what_is_added_between_a_read_and_a_put_is_kept(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await db.create_tables(TOTALS)
        aggregator = COUNTED.aggregator(db)
        await aggregator.on_changes([change(1, None, NOPI)])
        copy = await db.get(PATH, consistent=True)
        assert copy == Total(restaurant="nopi", count=1, revision=1)
        await aggregator.on_changes([change(2, None, sk.replace(NOPI, user="bob"))])
        with pytest.raises(sk.ConditionFailed, match="revision is 1, but the stored item has 2"):
            await db.put(copy)
        # There are no favourites in the table, so the repair takes both out again.
        await aggregator.recount(repair=True)
        assert await db.get(PATH, consistent=True) == Total(restaurant="nopi", revision=3)

    runner.run(play())


class Computing(sk.Item, table=TOTALS):
    restaurant: str
    count: int = 0
    has_any: Annotated[bool, sk.computed("count", by=bool)] = False
    key = sk.Key("C#{restaurant}")


def test_an_aggregate_cannot_keep_what_follows_from_its_values() -> None:
    with pytest.raises(sk.DeclarationError, match=r"Computing\.has_any is computed from fields"):
        sk.patterns.aggregate(Favourite, into=Computing, by=("restaurant",), values={"count": sk.patterns.count()})
    with pytest.raises(sk.DeclarationError, match=r"Total\.revision counts writes"):
        sk.patterns.aggregate(Favourite, into=Total, by=("restaurant",), values={"revision": sk.patterns.count()})
