"""A system that the handler needs is down for a while, or the feed's own table is gone: nothing is given up."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence

import httpx
import pytest

import sortkey as sk
from sortkey.clock import ManualClock, SystemClock
from tests.feeds.changes.parcels import PARCELS, SECONDS, Parcel, number_of, opened
from tests.passing_time import while_time_passes

BLOCKED = 'sortkey_change_feed_blocked_seconds{feed="parcels"}'


class Shop:
    """Raises while it is closed, and always for some numbers."""

    def __init__(self, error: Exception, refused: Sequence[int] = ()) -> None:
        self.error = error
        self.refused = set(refused)
        self.is_open = False
        self.handled: list[int] = []

    async def __call__(self, changes: Sequence[sk.Change[Parcel]]) -> None:
        if not self.is_open:
            raise self.error.with_traceback(None)
        numbers = [number_of(change) for change in changes]
        if self.refused.intersection(numbers):
            raise ValueError("refused")
        self.handled += numbers


async def until_blocked(clock: ManualClock, follower: sk.feeds.Follower, seconds: float) -> None:
    async def wait() -> None:
        while follower.samples()[BLOCKED] < seconds:
            await asyncio.sleep(0)

    await while_time_passes(clock, wait(), step=5)


# 20 of 20 changes were among the dead letters within a second.
@pytest.mark.slow
@pytest.mark.parametrize(
    "error",
    [
        sqlite3.OperationalError("database is locked"),
        httpx.ConnectError("refused"),
        ConnectionError("refused"),
        TimeoutError(),
        RuntimeError("nobody knows this one"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("max_batch", [1, 7, 1000])
def test_an_outage_sends_nothing_to_the_dead_letters(error: Exception, max_batch: int) -> None:
    async def program() -> None:
        # Not in the past, or the store would delete the dead letter as expired: it goes by the machine's clock.
        clock, shop = ManualClock(SystemClock().now()), Shop(error, refused=[4])
        feed = sk.feeds.ChangeFeed("parcels", Parcel, shop, max_batch=max_batch)
        async with opened("memory:") as db:
            await db.batch(put=[Parcel(number=number) for number in range(20)])
            async with sk.feeds.Follower(db, [feed], clock=clock) as follower:
                await until_blocked(clock, follower, 100)
                name = f'sortkey_change_feed_blocked{{feed="parcels",error="{type(error).__qualname__}"}}'
                assert follower.samples()[name] == 1
                shop.is_open = True
                await while_time_passes(clock, follower.caught_up(), step=5)
                assert follower.samples()[BLOCKED] == 0
            letters = [each async for each in db.iterate(sk.feeds.DeadLetter.key(feed="parcels"))]
        assert sorted(shop.handled) == [number for number in range(20) if number != 4]
        assert [each.reason for each in letters] == ["ValueError: refused"]

    asyncio.run(program())


def test_a_follower_that_is_blocked_stops_at_once() -> None:
    async def program() -> None:
        clock = ManualClock()
        async with opened("memory:") as db:
            await db.put(Parcel(number=1))
            feed = sk.feeds.ChangeFeed("parcels", Parcel, Shop(ConnectionError()))
            async with sk.feeds.Follower(db, [feed], clock=clock) as follower:
                await until_blocked(clock, follower, 50)
                follower.stop()
                async with asyncio.timeout(SECONDS):
                    await follower.ended()
            assert [each async for each in db.iterate(sk.feeds.DeadLetter.key(feed="parcels"))] == []

    asyncio.run(program())


# The log had a traceback every few seconds.
def test_a_feed_whose_table_was_deleted_is_blocked_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    async def program() -> None:
        clock, shop = ManualClock(), Shop(ConnectionError())
        shop.is_open = True
        async with opened("memory:") as db:
            feed = sk.feeds.ChangeFeed("parcels", Parcel, shop)
            async with sk.feeds.Follower(db, [feed], clock=clock) as follower:
                await db.put(Parcel(number=1))
                await while_time_passes(clock, follower.caught_up())
                await db.client.delete_table(TableName=PARCELS.name)
                await until_blocked(clock, follower, 30)
                await db.create_tables()
                await db.put(Parcel(number=2))
                await while_time_passes(clock, follower.caught_up())
                assert follower.samples()[BLOCKED] == 0
        assert shop.handled == [1, 2]

    asyncio.run(program())
    lines = [record.getMessage() for record in caplog.records if "blocked" in record.getMessage()]
    assert lines[0] == (
        "parcels: table feed-parcels: blocked, and tried again until it succeeds: "
        "ModelError: it was deleted, or has no stream any more"
    )
    assert not any(record.exc_info for record in caplog.records)


# Of the table that the handler writes to, the same.
def test_a_feed_whose_target_was_deleted_is_blocked_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    class Copy(sk.Item, table="feed-copies"):
        number: int
        key = sk.Key("COPY#{number}")

    async def program() -> None:
        clock = ManualClock()
        async with opened("memory:") as db:
            await db.create_tables(Copy)

            async def copy(changes: Sequence[sk.Change[Parcel]]) -> None:
                await db.batch(put=[Copy(number=number_of(change)) for change in changes])

            async with sk.feeds.Follower(db, [sk.feeds.ChangeFeed("parcels", Parcel, copy)], clock=clock) as follower:
                await db.client.delete_table(TableName="feed-copies")
                await db.put(Parcel(number=1))
                await until_blocked(clock, follower, 30)
                await db.create_tables(Copy)
                await while_time_passes(clock, follower.caught_up())
            assert await db.get(Copy.key(number=1)) is not None

    asyncio.run(program())
    assert [record.exc_info for record in caplog.records if record.exc_info] == []
    assert "blocked, and tried again until it succeeds: ResourceNotFoundException" in caplog.text
