"""Items of an aggregate that another program wrote: of a newer version, or with other attributes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import sortkey as sk
from tests.patterns.aggregates.favourites import (
    COUNTED,
    COUNTS,
    RANGED,
    RANGES,
    START,
    Favourite,
    FavouriteCount,
    SpendingRange,
    change,
    row_of,
)

ADDED = change(1, None, Favourite(user="ada", restaurant="nopi", since=START))
KEY = {"pk": {"S": "RESTAURANT#nopi"}, "sk": {"S": "2026"}}


async def put_count(db: sk.AsyncSession, **attributes: Any) -> None:
    await db.client.put_item(TableName=COUNTS.name, Item={**KEY, "count": {"N": "50"}, **attributes})


async def put_range(db: sk.AsyncSession, **attributes: Any) -> None:
    row = {"pk": {"S": "RESTAURANT#nopi"}, "count": {"N": "50"}, **attributes}
    await db.client.put_item(TableName=RANGES.name, Item=row)


# A newer program may mean something else by the same attributes.
def test_an_item_of_a_newer_version_is_left_alone(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await put_count(db, _v={"N": "2"})
        await put_range(db, _v={"N": "2"})
        for aggregate in (COUNTED, RANGED):
            aggregator = aggregate.aggregator(db)
            with pytest.raises(sk.DecodeError, match=r"has version 2; this program knows versions up to 1.*#nopi"):
                await aggregator.on_changes([ADDED])
            with pytest.raises(sk.DecodeError, match=r"has version 2; this program knows versions up to 1.*#nopi"):
                await aggregator.recount(repair=True)
        assert await row_of(db, "nopi", "2026") == {**KEY, "count": {"N": "50"}, "_v": {"N": "2"}}
        key = SpendingRange.key(restaurant="nopi").key()
        answer = await db.client.get_item(TableName=RANGES.name, Key=key)
        assert answer["Item"]["count"] == {"N": "50"}

    runner.run(play())


def test_an_item_that_becomes_one_of_a_newer_version_is_left_alone(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        aggregator = COUNTED.aggregator(db)
        await aggregator.on_changes([ADDED])
        row = {**await row_of(db, "nopi", "2026"), "_v": {"N": "2"}}
        await db.client.put_item(TableName=COUNTS.name, Item=row)
        with pytest.raises(sk.DecodeError, match="has version 2"):
            await aggregator.on_changes([change(2, None, Favourite(user="bob", restaurant="nopi", since=START))])
        assert await row_of(db, "nopi", "2026") == row

    runner.run(play())


# The first version may be marked, too.
def test_an_item_of_the_first_version_is_added_to(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await put_count(db, _v={"N": "1"})
        await COUNTED.aggregator(db).on_changes([ADDED])
        assert (await row_of(db, "nopi", "2026"))["count"] == {"N": "51"}

    runner.run(play())


def test_only_a_new_item_gets_a_creation_time(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await put_count(db)
        await COUNTED.aggregator(db).on_changes([ADDED])
        old = await db.get(FavouriteCount.key(restaurant="nopi", window="2026"))
        new = await db.get(FavouriteCount.key(restaurant="nopi", window="2026-08"))
        assert old is not None
        assert new is not None
        assert (old.count, old.created, new.count) == (51, None, 1)
        assert new.created == new.updated is not None
        assert (await row_of(db, "nopi", "2026"))["toppk"] == {"S": "TOP#2026"}

    runner.run(play())


def test_a_value_that_cannot_be_read_is_named_with_its_key(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await put_count(db, count={"S": "5"})
        with pytest.raises(sk.DecodeError, match=r"FavouriteCount.count: \{'S': '5'\} .*pk='RESTAURANT#nopi'") as error:
            await COUNTED.aggregator(db).recount()
        assert error.value.key == KEY
        await put_range(db, largest={"S": "x"})
        with pytest.raises(sk.DecodeError, match=r"SpendingRange.largest: .*pk='RESTAURANT#nopi'"):
            await RANGED.aggregator(db).on_changes([ADDED])

    runner.run(play())
