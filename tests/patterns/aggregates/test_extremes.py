"""Minimum and maximum: kept where changes tell, marked where they do not."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

import sortkey as sk
from tests.patterns.aggregates.favourites import RANGED, START, Favourite, SpendingRange, change


def spending(user: str, spent: int) -> Favourite:
    return Favourite(user=user, restaurant="nopi", since=START, spent=Decimal(spent))


ADA, BOB, CLEO = spending("ada", 3), spending("bob", 7), spending("cleo", 5)


async def ranged(db: sk.AsyncSession, *changes: sk.Change[Favourite]) -> SpendingRange:
    """The range of spending after one more batch."""
    await RANGED.aggregator(db).on_changes(changes)
    found = await db.get(SpendingRange.key(restaurant="nopi"), consistent=True)
    assert found is not None
    return found


def shown(item: SpendingRange) -> tuple[Any, ...]:
    return item.count, item.smallest, item.smallest_exact, item.largest, item.is_largest


def test_added_values_are_kept_exactly(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        assert shown(await ranged(db, change(1, None, ADA))) == (1, 3, True, 3, True)
        assert shown(await ranged(db, change(2, None, BOB), change(3, None, CLEO))) == (3, 3, True, 7, True)

    runner.run(play())


def test_a_value_in_the_middle_can_be_removed(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        batch = [change(1, None, ADA), change(2, None, BOB), change(3, None, CLEO)]
        assert shown(await ranged(db, *batch, change(4, CLEO, None))) == (2, 3, True, 7, True)

    runner.run(play())


# The next largest is unknown; 7 is a bound until a value reaches it.
def test_a_removed_extreme_is_a_bound(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        batch = [change(1, None, ADA), change(2, None, BOB), change(3, None, CLEO)]
        assert shown(await ranged(db, *batch, change(4, BOB, None))) == (2, 3, True, 7, False)
        assert shown(await ranged(db, change(5, None, spending("dan", 6)))) == (3, 3, True, 7, False)
        assert shown(await ranged(db, change(6, None, spending("eve", 8)))) == (4, 3, True, 8, True)

    runner.run(play())


def test_a_value_that_changes_is_removed_and_added(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await ranged(db, change(1, None, ADA), change(2, None, BOB))
        assert shown(await ranged(db, change(3, BOB, spending("bob", 9)))) == (2, 3, True, 9, True)
        assert shown(await ranged(db, change(4, spending("bob", 9), CLEO))) == (2, 3, True, 9, False)

    runner.run(play())


# The count of the same item tells that nothing is left.
def test_an_empty_group_has_no_extremes(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await ranged(db, change(1, None, BOB))
        assert shown(await ranged(db, change(2, BOB, None))) == (0, None, True, None, True)
        assert shown(await ranged(db, change(3, None, ADA))) == (1, 3, True, 3, True)

    runner.run(play())


def test_a_redelivery_changes_nothing(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        batch = [change(1, None, BOB), change(2, BOB, None), change(3, None, ADA)]
        expected = shown(await ranged(db, *batch))
        assert shown(await ranged(db, *batch)) == expected
        assert shown(await ranged(db, *batch[:2])) == expected

    runner.run(play())


def test_extremes_move_in_an_index(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await ranged(db, change(1, None, BOB))
        found = [each async for each in db.iterate(SpendingRange.by_largest(count=1))]
        assert [each.largest for each in found] == [7]
        await ranged(db, change(2, BOB, None))
        assert [each async for each in db.iterate(SpendingRange.by_largest(count=0))] == []
        assert (await db.audit(SpendingRange)).is_clean

    runner.run(play())


class Bare(sk.Item, table="bare-extremes"):
    restaurant: str
    largest: Decimal | None = None
    smallest: Decimal = Decimal(0)
    flag: bool = True
    smallest_exact: bool = True
    key = sk.Key("{restaurant}")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"largest": sk.patterns.maximum("spent")}, "Bare.largest needs a field largest_exact: bool = True"),
        ({"largest": sk.patterns.maximum("since", exact="flag")}, r"must be datetime \| None = None"),
        ({"smallest": sk.patterns.minimum("spent")}, r"Bare.smallest must be Decimal \| None = None"),
        ({"largest": sk.patterns.maximum("spnt", exact="flag")}, "did you mean 'spent'"),
        ({"largest": sk.patterns.maximum("spent", exact="largest")}, "each extreme needs a field of its own"),
    ],
)
def test_mistakes_are_rejected(values: Any, message: str) -> None:
    with pytest.raises(sk.DeclarationError, match=message):
        sk.patterns.aggregate(Favourite, into=Bare, by=("restaurant",), values=values)
