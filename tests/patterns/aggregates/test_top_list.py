"""A top list: counts in an index with shards, which each addition moves, without a read."""

from __future__ import annotations

import asyncio
from typing import Any

import sortkey as sk
from sortkey.model.audit.finding import Kind
from tests.patterns.aggregates.favourites import START, Favourite, change


def counts(shards: sk.Shards) -> Any:
    """The class of the counts. With other shards, it is another version of the program."""

    class TopCount(sk.Item, table=sk.Table("top-counts")):
        restaurant: str
        window: str
        count: int = 0
        key = sk.Key("RESTAURANT#{restaurant}", "{window}")
        top = sk.Index("top", "TOP#{window}", "{count}", names=("toppk", "count"), shards=shards)

    return TopCount


def counted_into(top_count: Any) -> sk.patterns.Aggregate:
    return sk.patterns.aggregate(
        Favourite,
        into=top_count,
        by=("restaurant",),
        window=sk.patterns.window("since", "ALL_TIME"),
        values={"count": sk.patterns.count()},
    )


def marks(first: int, restaurants: list[str]) -> list[sk.Change[Favourite]]:
    return [
        change(first + number, None, Favourite(user=f"u{first + number}", restaurant=name, since=START))
        for number, name in enumerate(restaurants)
    ]


def test_additions_move_restaurants_in_a_sharded_top_list(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    before, after = counts(sk.Shards(4, by="restaurant")), counts(sk.Shards(16, by="restaurant", formerly=4))

    async def top(version: Any, number: int) -> list[tuple[str, int]]:
        page = await db.page(version.top(window="ALL_TIME"), first=number, descending=True)
        return [(each.restaurant, each.count) for each in page]

    async def play() -> None:
        await db.create_tables(before)
        names = [f"r{number}" for number in range(1, 21) for _ in range(number)]
        await counted_into(before).aggregator(db).on_changes(marks(1, names))
        assert await top(before, 3) == [("r20", 20), ("r19", 19), ("r18", 18)]
        # The program with more shards counts on, and its additions move what they change.
        await counted_into(after).aggregator(db).on_changes(marks(1000, ["r1"] * 30 + ["r7"] * 12))
        assert await top(after, 2) == [("r1", 31), ("r20", 20)]
        assert await db.count(after.top(window="ALL_TIME")) == 20
        await db.audit(after, repair=True)
        assert (await db.audit(after)).count(Kind.FORMER_SHARD) == 0
        expected = {f"r{number}": number for number in range(1, 21)} | {"r1": 31, "r7": 19}
        assert dict(await top(after, 20)) == expected

    runner.run(play())
