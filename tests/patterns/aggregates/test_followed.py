"""Aggregates that change feeds keep: what a program does."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.feeds.shards.leases import handled_by
from tests.passing_time import while_time_passes
from tests.patterns.aggregates.favourites import COUNTED, START, Favourite, counted, truth
from tests.stores import NOT_FROM_NOW_ON


def feed_of(db: sk.AsyncSession, max_batch: int = 1000) -> sk.feeds.ChangeFeed[Favourite]:
    return sk.feeds.ChangeFeed("favourite-counts", Favourite, COUNTED.aggregator(db).on_changes, max_batch=max_batch)


async def write(db: sk.AsyncSession, user: int) -> None:
    """A favourite that comes, and goes or moves."""
    first = Favourite(user=f"u{user}", restaurant="nopi", since=START, spent=Decimal(user))
    await db.put(first)
    if user % 3 == 0:
        await db.delete(Favourite.key(user=f"u{user}", restaurant="nopi"))
    elif user % 3 == 1:
        await db.put(sk.replace(first, spent=Decimal("0.5")))


# The second follower takes shards over from the first, and some changes come again.
def test_followers_keep_the_counts(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    async def play() -> None:
        clock = ManualClock()
        async with sk.feeds.Follower(db, [feed_of(db, 3)], clock=clock) as follower:
            await asyncio.gather(*(write(db, user) for user in range(40)))
            await follower.caught_up()
            async with sk.feeds.Follower(db, [feed_of(db, 7)], clock=clock) as other:
                await asyncio.gather(*(write(db, user) for user in range(20, 60)))
                follower.stop()
                await while_time_passes(clock, other.caught_up())
        left = [each async for each in db.scan(Favourite, consistent=True)]
        assert await counted(db, ["nopi"]) == truth(left)
        report = await COUNTED.aggregator(db).recount(handled=await handled_by(db, feed_of(db).name))
        assert (report.items, report.is_clean) == (len(left), True)

    runner.run(play())


# A feed that starts now has handled what was before it without a call.
def test_what_was_before_a_feed_is_counted_by_a_repair(
    db: sk.AsyncSession, runner: asyncio.Runner, request: pytest.FixtureRequest
) -> None:
    if (name := request.node.callspec.params["store"]) in NOT_FROM_NOW_ON:
        pytest.skip(NOT_FROM_NOW_ON[name])

    async def play() -> None:
        for user in range(5):
            await write(db, user)
        aggregator = COUNTED.aggregator(db)
        feed = sk.feeds.ChangeFeed("late-counts", Favourite, aggregator.on_changes, start="now")
        async with sk.feeds.Follower(db, [feed]) as follower:
            await write(db, 5)
            await follower.caught_up()
        assert (await counted(db, ["nopi"]))["nopi", "2026"][0] == 1
        await aggregator.recount(repair=True, handled=await handled_by(db, feed.name))
        left = [each async for each in db.scan(Favourite, consistent=True)]
        assert await counted(db, ["nopi"]) == truth(left)

    runner.run(play())


def test_a_feed_that_nobody_has_followed_has_handled_nothing(db: sk.AsyncSession, runner: asyncio.Runner) -> None:
    assert runner.run(handled_by(db, feed_of(db).name)) == {}


class DayCount(sk.Item, table=sk.Table("day-counts", ttl="expires")):
    restaurant: str
    window: str
    count: int = 0
    expires: datetime | None = None

    key = sk.Key("RESTAURANT#{restaurant}", "{window}")


BY_DAY = sk.patterns.aggregate(
    Favourite,
    into=DayCount,
    by=("restaurant",),
    window=sk.patterns.window("since", "DAY", keep={"DAY": timedelta(hours=12)}),
    values={"count": sk.patterns.count()},
)


# By the clock of the process that counts, the window is over, and gone.
def test_a_window_is_counted_by_a_clock_that_is_ahead() -> None:
    async def play() -> None:
        now = datetime.now(UTC)
        clock = ManualClock((now + timedelta(days=2)).timestamp())
        async with sk.async_connect("memory:", tables=[Favourite, DayCount], clock=clock) as db:
            await db.create_tables()
            await db.put(Favourite(user="ana", restaurant="nopi", since=now))
            feed = sk.feeds.ChangeFeed("days", Favourite, BY_DAY.aggregator(db).on_changes)
            async with sk.feeds.Follower(db, [feed], clock=clock) as follower:
                await follower.caught_up()
            counts = [each.count async for each in db.scan(DayCount, consistent=True)]
            assert counts == [1]

    asyncio.run(play())
