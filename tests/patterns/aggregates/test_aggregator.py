"""Aggregators: counts and totals, exactly once, on every store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import ClientError

import sortkey as sk
from sortkey.clock import ManualClock
from tests.patterns.aggregates.favourites import (
    COUNTED,
    COUNTS,
    FAVOURITES,
    START,
    Favourite,
    FavouriteCount,
    change,
    counted,
    history,
    row_of,
    truth,
)
from tests.patterns.aggregates.table_stream import TableStream

pytestmark = pytest.mark.every_store

NOPI = Favourite(user="ada", restaurant="nopi", since=START, spent=Decimal("12.50"))
HONEY = Favourite(user="ada", restaurant="honey", since=START, spent=Decimal("7"))
WINDOWS = ["2026", "2026-08", "2026-08-24", "2026-08-24T13", "ALL_TIME"]


async def apply(db: sk.AsyncSession, *changes: sk.Change[Favourite]) -> None:
    await COUNTED.aggregator(db).on_changes(changes)


def test_an_insert_counts_in_all_its_windows(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await apply(db, change(1, None, NOPI))
        items = [each async for each in db.iterate(FavouriteCount.key(restaurant="nopi"))]
        assert [(each.window, each.count, each.spent) for each in items] == [
            (window, 1, Decimal("12.5")) for window in WINDOWS
        ]

    runner.run(play())


def test_a_removal_takes_it_out_of_the_same_windows(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await apply(db, change(1, None, NOPI))
        await apply(db, change(2, NOPI, None))
        assert await counted(db, ["nopi"]) == {}

    runner.run(play())


# Each restaurant has five windows. A commit takes as long for one update as for hundreds.
def test_the_updates_of_a_batch_share_commits(runner: asyncio.Runner) -> None:
    async def play() -> None:
        async with sk.async_connect("memory:", tables=[Favourite, FavouriteCount]) as db:
            await db.create_tables()
            assert db.client.database is not None
            before = db.client.database.store.queue.commits
            marks = [change(n, None, sk.replace(NOPI, restaurant=f"r{n}")) for n in range(1, 101)]
            await apply(db, *marks)
            assert db.client.database.store.queue.commits - before <= 5
            assert len([count async for count in db.scan(FavouriteCount)]) == 500

    runner.run(play())


def test_a_redelivery_counts_nothing(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        first, second = change(1, None, NOPI), change(2, None, sk.replace(NOPI, user="bob"))
        await apply(db, first, second)
        await apply(db, first)
        await apply(db, first, second, first, second)
        await apply(db, second, change(3, None, sk.replace(NOPI, user="cleo")))
        assert (await counted(db, ["nopi"]))["nopi", "ALL_TIME"] == (3, Decimal("37.5"))

    runner.run(play())


# An item that moves leaves one group and enters another; one that stays adds the difference.
def test_a_modification_moves_and_adjusts(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        moved = sk.replace(NOPI, restaurant="honey", since=START + timedelta(days=365))
        await apply(db, change(1, None, NOPI), change(2, NOPI, sk.replace(NOPI, spent=Decimal(20))))
        assert (await counted(db, ["nopi"]))["nopi", "2026"] == (1, Decimal(20))
        await apply(db, change(3, sk.replace(NOPI, spent=Decimal(20)), moved))
        assert await counted(db, ["nopi", "honey"]) == truth([moved])

    runner.run(play())


# A batch of +1 and −1 leaves a checkpoint: an owner that froze with the +1 alone must not apply it later.
def test_changes_that_cancel_out_leave_a_checkpoint(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        marked, unmarked = change(1, None, NOPI), change(2, NOPI, None)
        await apply(db, marked, unmarked)
        await apply(db, marked)
        assert await counted(db, ["nopi"]) == {}

    runner.run(play())


def test_a_change_of_nothing_that_counts_writes_nothing(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await apply(db, change(1, NOPI, sk.replace(NOPI, user="ada")))
        assert await row_of(db, "nopi", "ALL_TIME") == {}

    runner.run(play())


# Shards are counted apart: their sequence numbers have nothing to do with each other.
def test_each_shard_has_its_own_checkpoint(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await apply(db, change(9, None, NOPI, "shardId-00000000000000000001-0000000a"))
        await apply(db, change(1, None, sk.replace(NOPI, user="bob"), "shardId-00000000000000000002-0000000b"))
        row = await row_of(db, "nopi", "ALL_TIME")
        assert {name: row[name] for name in row if name.startswith("m:")} == {
            "m:1-0000000a": {"S": "A9"},
            "m:2-0000000b": {"S": "A1"},
        }
        assert row["count"] == {"N": "2"}

    runner.run(play())


# Later writes leave out what the first one has set, so they must not make half an item.
def test_an_item_that_was_deleted_is_made_whole_again(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        aggregator = COUNTED.aggregator(db)
        await aggregator.on_changes([change(1, None, NOPI)])
        await db.delete(FavouriteCount.key(restaurant="nopi", window="2026"))
        await aggregator.on_changes([change(2, None, sk.replace(NOPI, user="bob"))])
        again = await db.get(FavouriteCount.key(restaurant="nopi", window="2026"), consistent=True)
        assert again is not None
        assert (again.count, again.created) == (1, again.updated)
        assert (await db.audit(COUNTS)).is_clean

    runner.run(play())


# The index partition is the window, and the count, as a number, is its sort key: adding moves the item.
def test_counts_move_in_an_index(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await apply(db, change(1, None, NOPI), change(2, None, HONEY))
        await apply(db, change(3, None, sk.replace(HONEY, user="bob")))
        top = [each async for each in db.iterate(FavouriteCount.top(window="2026-08"), descending=True)]
        assert [(each.restaurant, each.count) for each in top] == [("honey", 2), ("nopi", 1)]
        assert (await db.audit(COUNTS)).is_clean

    runner.run(play())


def test_items_are_whole(store: str, runner: asyncio.Runner) -> None:
    clock = ManualClock(START.timestamp())

    async def play() -> None:
        async with sk.async_connect(store, tables=[FAVOURITES, COUNTS], clock=clock) as db:
            await db.create_tables()
            await apply(db, change(1, None, NOPI))
            clock.advance(60)
            await apply(db, change(2, None, sk.replace(NOPI, user="bob")))
            item = await db.get(FavouriteCount.key(restaurant="nopi", window="2026-08-24T13"), consistent=True)
            assert item is not None
            assert (item.created, item.updated) == (START, START + timedelta(minutes=1))
            assert item.expires == datetime(2026, 8, 24, 14, tzinfo=UTC) + timedelta(days=20_000)
            forever = await db.get(FavouriteCount.key(restaurant="nopi", window="ALL_TIME"), consistent=True)
            assert forever is not None
            assert forever.expires is None

    runner.run(play())


# The TTL may have deleted such an item already: a late removal must not make it again, with −1.
def test_windows_that_are_no_longer_kept_are_not_written(store: str, runner: asyncio.Runner) -> None:
    clock = ManualClock((START + timedelta(days=20_001)).timestamp())

    async def play() -> None:
        async with sk.async_connect(store, tables=[FAVOURITES, COUNTS], clock=clock) as db:
            await db.create_tables()
            await apply(db, change(1, NOPI, None, at=datetime.fromtimestamp(clock.now(), UTC)))
            assert await row_of(db, "nopi", "2026-08-24T13") == {}
            assert (await row_of(db, "nopi", "2026-08-24"))["count"] == {"N": "-1"}

    runner.run(play())


# Decimal's own arithmetic rounds to 28 digits.
def test_totals_are_exact(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        large, small = Decimal("1e20"), Decimal("0.000000000001")
        await apply(
            db,
            change(1, None, sk.replace(NOPI, spent=large)),
            change(2, None, sk.replace(NOPI, user="bob", spent=small)),
        )
        assert (await counted(db, ["nopi"]))["nopi", "2026"] == (2, Decimal("100000000000000000000.000000000001"))

    runner.run(play())


def test_the_shard_must_be_known(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    with pytest.raises(ValueError, match="TumblingWindowInSeconds"):
        runner.run(apply(db, change(1, None, NOPI, "")))


def test_a_record_without_images_is_rejected(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    with pytest.raises(sk.DecodeError, match="NEW_AND_OLD_IMAGES"):
        runner.run(apply(db, change(1, NOPI, None)._replace(kind="MODIFY")))


class FailingClient:
    """A client whose writes fail, but for the first few."""

    def __init__(self, client: Any, writes: int) -> None:
        self._client = client
        self.writes = writes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def write_together(self, requests: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        return await asyncio.gather(*(self._call(*request) for request in requests), return_exceptions=True)

    async def _call(self, operation: str, members: dict[str, Any]) -> Any:
        self.writes -= operation == "UpdateItem"
        if self.writes < 0:
            raise ClientError({"Error": {"Code": "InternalServerError", "Message": "no"}}, operation)
        return await self._client._call(operation, members)


# The feed delivers the batch again, and what had been written is not counted twice.
def test_an_error_of_the_store_is_raised(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    batch = history([(0, NOPI), (1, HONEY), (0, None), (2, sk.replace(NOPI, user="bob"))])
    more = [change(9 + n, None, sk.replace(HONEY, user=f"u{n}")) for n in range(10)]
    session: Any = db
    healthy = session.client

    async def play() -> None:
        for writes in range(10):
            session._runner.client = FailingClient(healthy, writes)
            with pytest.raises(ClientError, match="InternalServerError"):
                await apply(db, *batch, *more[:writes])
        session._runner.client = healthy
        await apply(db, *batch, *more)
        final = [HONEY, sk.replace(NOPI, user="bob"), *(sk.replace(HONEY, user=f"u{n}") for n in range(10))]
        assert await counted(db, ["nopi", "honey"]) == truth(final)

    runner.run(play())


# Real records, of a table's own stream, in several shards where the store has them.
def test_records_of_a_stream_are_counted(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        for n in range(20):
            await db.put(sk.replace(NOPI, user=f"u{n}"))
        for n in range(0, 20, 3):
            await db.delete(Favourite.key(user=f"u{n}", restaurant="nopi"))
        changes = await TableStream(db).changes()
        for start in range(0, len(changes), 4):
            await apply(db, *changes[max(0, start - 2) : start + 4])
        left = [each async for each in db.scan(Favourite, consistent=True)]
        assert len(left) == 13
        assert await counted(db, ["nopi"]) == truth(left)

    runner.run(play())


class ShardedCount(sk.Item, table="sharded-favourite-counts"):
    restaurant: str
    window: str
    count: int = 0

    key = sk.Key("RESTAURANT#{restaurant}", "{window}")
    top = sk.Index(
        "top",
        "TOP#{window}",
        "{count}",
        names=("toppk", "count"),
        shards=sk.Shards(4, by="restaurant"),
        projection=("count",),
    )


SHARDED = sk.patterns.aggregate(
    Favourite,
    into=ShardedCount,
    by=("restaurant",),
    window=sk.patterns.window("since", "ALL_TIME", "DAY"),
    values={"count": sk.patterns.count()},
)


# One partition per window would be the hottest of all.
def test_counts_move_in_a_sharded_index(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        await db.create_tables(ShardedCount)
        marked = [sk.replace(NOPI, user=f"u{n}", restaurant=f"r{n % 9}") for n in range(30)]
        aggregator = SHARDED.aggregator(db)
        await aggregator.on_changes([change(n, None, each) for n, each in enumerate(marked, start=1)])
        await aggregator.on_changes([change(31, marked[0], None), change(32, marked[9], None)])
        top = [each async for each in db.iterate(ShardedCount.top(window="2026-08-24"), descending=True)]
        assert {each.restaurant: each.count for each in top} == {"r0": 2, "r1": 4, "r2": 4} | {
            f"r{n}": 3 for n in range(3, 9)
        }
        assert [each.count for each in top] == [4, 4, 3, 3, 3, 3, 3, 3, 2]
        assert (await db.audit(ShardedCount)).is_clean

    runner.run(play())
