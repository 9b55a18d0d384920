"""A recount: what it finds, and what it repairs, while changes go on."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from decimal import Decimal
from typing import Any

import sortkey as sk
from sortkey.model.changes.typed_field import field_of
from tests.patterns.aggregates.favourites import (
    COUNTED,
    COUNTS,
    RANGED,
    RANGES,
    START,
    Favourite,
    FavouriteCount,
    SpendingRange,
    counted,
    row_of,
    truth,
)
from tests.patterns.aggregates.table_stream import TableStream

NOPI = Favourite(user="ada", restaurant="nopi", since=START, spent=Decimal(3))


async def put(db: sk.AsyncSession, *numbers: int) -> None:
    for n in numbers:
        await db.put(sk.replace(NOPI, user=f"u{n}", spent=Decimal(n)))


async def favourites(db: sk.AsyncSession) -> list[Favourite]:
    return [each async for each in db.scan(Favourite, consistent=True)]


async def add(db: sk.AsyncSession, window: str, **amounts: Any) -> None:
    """Makes an item of the aggregate wrong."""
    changes = [field_of(FavouriteCount, name).add(amount) for name, amount in amounts.items()]
    await db.upsert(FavouriteCount.key(restaurant="nopi", window=window), changes)


def test_what_was_counted_right_is_clean(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await put(db, 1, 2, 3)
        aggregator = COUNTED.aggregator(db)
        await TableStream(db).deliver_to(aggregator)
        report = await aggregator.recount()
        assert (report.items, report.groups, report.wrong, report.is_clean) == (3, 5, 0, True)

    runner.run(play())


# What the feed has not applied yet is no difference: the checkpoints tell that it is to come.
def test_a_feed_that_is_behind_is_no_difference(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        stream, aggregator = TableStream(db), COUNTED.aggregator(db)
        assert (await aggregator.recount()).is_clean
        await put(db, 1, 2, 3)
        assert (await aggregator.recount(repair=True)).is_clean
        assert await counted(db, ["nopi"]) == {}
        await stream.deliver_to(aggregator)
        await put(db, 4, 5)
        await db.delete(Favourite.key(user="u1", restaurant="nopi"))
        assert (await aggregator.recount(repair=True)).wrong == 0
        await stream.deliver_to(aggregator)
        assert await counted(db, ["nopi"]) == truth(await favourites(db))

    runner.run(play())


def test_differences_are_shown(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await put(db, 1, 2)
        aggregator = COUNTED.aggregator(db)
        await TableStream(db).deliver_to(aggregator)
        await add(db, "2026", count=1)
        report = await aggregator.recount()
        assert (report.wrong, report.repaired, report.is_clean) == (1, 0, False)
        assert report.examples == [({"restaurant": "nopi", "window": "2026"}, "count", 3, 2)]
        assert (await counted(db, ["nopi"]))["nopi", "2026"] == (3, Decimal(3))

    runner.run(play())


def test_differences_are_repaired(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await put(db, 1, 2, 3)
        stream, aggregator = TableStream(db), COUNTED.aggregator(db)
        await stream.deliver_to(aggregator)
        await add(db, "2026", count=-2, spent=Decimal("0.5"))
        await add(db, "2025", count=4)
        # Its checkpoints are gone, too; only those of the feed tell that its changes do not come again.
        await db.delete(FavouriteCount.key(restaurant="nopi", window="ALL_TIME"))
        report = await aggregator.recount(repair=True, handled=stream.handled)
        assert (report.wrong, report.repaired, report.is_clean) == (3, 3, True)
        assert await counted(db, ["nopi"]) == truth(await favourites(db))
        assert (await aggregator.recount(handled=stream.handled)).is_clean
        assert (await db.audit(FavouriteCount)).is_clean

    runner.run(play())


# The repair adds what is missing at the item's checkpoints; the feed adds the rest.
def test_a_repair_beside_a_feed_that_is_behind_counts_nothing_twice(
    db: sk.AsyncSession, runner: asyncio.Runner
) -> None:
    async def play() -> None:
        stream, aggregator = TableStream(db), COUNTED.aggregator(db)
        await put(db, 1, 2, 3)
        await stream.deliver_to(aggregator)
        await add(db, "ALL_TIME", count=7)
        await put(db, 4, 5)
        await db.put(sk.replace(NOPI, user="u2", since=START + timedelta(days=400)))
        report = await aggregator.recount(repair=True)
        assert (report.wrong, report.is_clean) == (1, True)
        await stream.deliver_to(aggregator)
        assert await counted(db, ["nopi"]) == truth(await favourites(db))

    runner.run(play())


# A table that had items before its stream, or a feed that started later: the items were never counted.
def test_what_a_feed_never_saw_is_counted_by_a_repair(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        stream, aggregator = TableStream(db), COUNTED.aggregator(db)
        await put(db, 1, 2, 3)
        await stream.changes()  # and no one applies them
        await put(db, 4)
        assert (await aggregator.recount()).wrong == 0
        report = await aggregator.recount(repair=True, handled=stream.handled)
        assert (report.wrong, report.is_clean) == (5, True)
        assert (await counted(db, ["nopi"]))["nopi", "2026"] == (3, Decimal(6))
        await stream.deliver_to(aggregator)
        assert await counted(db, ["nopi"]) == truth(await favourites(db))

    runner.run(play())


# Writers, the feed and a recount that repairs, all at once.
def test_a_repair_while_everything_goes_on(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def write() -> None:
        for n in range(60):
            await put(db, n)
            if n % 3 == 0:
                await db.delete(Favourite.key(user=f"u{n // 2}", restaurant="nopi"))

    async def follow(stream: TableStream, aggregator: sk.patterns.Aggregator, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await stream.deliver_to(aggregator)
            await asyncio.sleep(0)

    async def play() -> None:
        stream, aggregator = TableStream(db), COUNTED.aggregator(db)
        await put(db, 100, 101)
        await stream.deliver_to(aggregator)
        await add(db, "ALL_TIME", count=7)
        await add(db, "2026-08", spent=Decimal(-1))
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(follow(stream, aggregator, stop))
            writing = tasks.create_task(write())
            report = await aggregator.recount(repair=True)
            await writing
            stop.set()
        assert (report.wrong, report.is_clean) == (2, True)
        await stream.deliver_to(aggregator)
        assert await counted(db, ["nopi"]) == truth(await favourites(db))

    runner.run(play())


def test_extremes_become_exact(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        stream, aggregator = TableStream(db), RANGED.aggregator(db)
        await put(db, 1, 2, 3)
        await db.delete(Favourite.key(user="u3", restaurant="nopi"))
        await stream.deliver_to(aggregator)
        before = await db.get(SpendingRange.key(restaurant="nopi"), consistent=True)
        assert before is not None
        assert (before.largest, before.is_largest) == (Decimal(3), False)
        assert (await aggregator.recount()).inexact == 1
        report = await aggregator.recount(repair=True)
        assert (report.inexact, report.repaired, report.is_clean) == (1, 1, True)
        after = await db.get(SpendingRange.key(restaurant="nopi"), consistent=True)
        assert after is not None
        assert (after.largest, after.is_largest, after.smallest, after.count) == (Decimal(2), True, Decimal(1), 2)
        assert (await db.audit(SpendingRange)).is_clean

    runner.run(play())


# An extreme cannot be computed for an item that is behind.
def test_extremes_of_a_feed_that_is_behind_are_unsettled(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        stream, aggregator = TableStream(db), RANGED.aggregator(db)
        await put(db, 1, 2, 3)
        await db.delete(Favourite.key(user="u3", restaurant="nopi"))
        await stream.deliver_to(aggregator)
        await put(db, 2)
        await put(db, 9)
        report = await aggregator.recount(repair=True)
        assert (report.inexact, report.unsettled, report.is_clean) == (1, 1, False)
        await stream.deliver_to(aggregator)
        assert (await aggregator.recount(repair=True)).is_clean

    runner.run(play())


def test_progress_is_shown(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await put(db, 1, 2)
        shown: list[int] = []
        await COUNTED.aggregator(db).recount(progress=shown.append)
        assert shown == [2]

    runner.run(play())


async def replace_row(db: sk.AsyncSession, window: str, **attributes: Any) -> None:
    """Writes the row of an item with other attributes; None removes one."""
    row = {**await row_of(db, "nopi", window), **attributes}
    await db.client.put_item(
        TableName=COUNTS.name, Item={name: value for name, value in row.items() if value is not None}
    )


# An item that was counted before the index was declared has no key of it.
def test_additions_bring_an_older_item_into_the_index_with_its_value(
    db: sk.AsyncSession, runner: asyncio.Runner
) -> None:
    async def play() -> None:
        await put(db, 1, 2, 3)
        stream = TableStream(db)
        await stream.deliver_to(COUNTED.aggregator(db))
        await replace_row(db, "2026", toppk=None, topsk=None)
        await replace_row(db, "ALL_TIME", topsk={"N": "9"})
        await put(db, 4)
        await stream.deliver_to(COUNTED.aggregator(db))
        for window in ("2026", "ALL_TIME"):
            assert [each.count async for each in db.iterate(FavouriteCount.top(window=window).after(3))] == [4]
            assert (await row_of(db, "nopi", window))["topsk"] == {"N": "4"}

    runner.run(play())


def test_index_keys_with_another_value_are_found_and_repaired(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await put(db, 1, 2, 3)
        stream, aggregator = TableStream(db), COUNTED.aggregator(db)
        await stream.deliver_to(aggregator)
        await replace_row(db, "2026", toppk=None, topsk=None)
        await replace_row(db, "2026-08", count={"N": "50"}, topsk=None)
        await replace_row(db, "2026-08-24", topsk={"N": "50"})
        report = await aggregator.recount()
        assert report.wrong == 3
        assert {(each.group["window"], *each[1:]) for each in report.examples} == {
            ("2026", "topsk", None, 3),
            ("2026-08", "count", 50, 3),
            ("2026-08", "topsk", None, 3),
            ("2026-08-24", "topsk", 50, 3),
        }
        repaired = await aggregator.recount(repair=True)
        assert (repaired.wrong, repaired.repaired, repaired.is_clean) == (3, 3, True)
        for window in ("2026", "2026-08", "2026-08-24"):
            row = await row_of(db, "nopi", window)
            assert (row["count"], row["topsk"], row["toppk"]) == ({"N": "3"}, {"N": "3"}, {"S": f"TOP#{window}"})
        assert (await aggregator.recount()).wrong == 0

    runner.run(play())


def test_index_keys_with_another_extreme_are_repaired(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await put(db, 1, 2, 3)
        stream, aggregator = TableStream(db), RANGED.aggregator(db)
        await stream.deliver_to(aggregator)
        key = SpendingRange.key(restaurant="nopi").key()
        row = (await db.client.get_item(TableName=RANGES.name, Key=key))["Item"]
        await db.client.put_item(TableName=RANGES.name, Item={**row, "most": {"N": "8"}})
        report = await aggregator.recount(repair=True)
        assert (report.wrong, report.repaired, report.is_clean) == (1, 1, True)
        assert report.examples == [({"restaurant": "nopi"}, "most", 8, 3)]
        assert [
            each.restaurant async for each in db.iterate(SpendingRange.by_largest(count=3, largest=Decimal(3)))
        ] == ["nopi"]

    runner.run(play())
