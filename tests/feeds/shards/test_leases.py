"""Followers share the shards by leases, on every store; splits, new streams and lost positions."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.engine.streams.stream_writer import reshard
from sortkey.feeds.shards.leases import FEEDS, SHARD_END, ShardLease
from tests.feeds.changes.parcels import PARCELS, SECONDS, Kept, Parcel, caught_up, opened
from tests.passing_time import TURN, while_time_passes

SHARED = ["disk", pytest.param("endpoint", marks=pytest.mark.slow), pytest.param("local", marks=pytest.mark.oracle)]


async def leases(db: sk.AsyncSession, feed: str = "parcels") -> list[ShardLease]:
    return [lease async for lease in db.iterate(ShardLease.key(feed=feed), consistent=True)]


async def until_leases(db: sk.AsyncSession, owners: dict[str, int]) -> None:
    """Wait until the open shards are shared so."""
    while Counter(each.owner for each in await leases(db) if not each.has_ended) != owners:
        await asyncio.sleep(TURN)


async def until_lost(follower: sk.feeds.Follower) -> None:
    """Wait until it has found out that it has lost a lease."""
    while not follower.samples()['sortkey_change_feed_lost_leases_total{feed="parcels"}']:
        await asyncio.sleep(TURN)


def test_a_clean_stop_gives_the_leases_up(store: str) -> None:
    async def program() -> None:
        async with opened(store) as db:
            await db.put(Parcel(number=1))
            async with sk.feeds.Follower(db, [sk.feeds.ChangeFeed("parcels", Parcel, Kept())]) as follower:
                await caught_up(follower)
                assert {each.owner for each in await leases(db)} == {follower.id}
            assert {each.owner for each in await leases(db)} == {""}
            assert any(each.checkpoint for each in await leases(db))

    asyncio.run(program())


# A process that was killed renews nothing; its leases name it for ever.
def test_the_shards_of_a_dead_follower_are_taken_over(store: str) -> None:
    async def program() -> None:
        clock, kept = ManualClock(), Kept()
        feed = sk.feeds.ChangeFeed("parcels", Parcel, kept)
        async with opened(store) as db:
            await db.put(Parcel(number=1))
            async with sk.feeds.Follower(db, [feed]) as follower:
                await caught_up(follower)
            for lease in await leases(db):
                await db.update(lease.key, {"owner": "dead"})
            await db.put(Parcel(number=2))
            async with sk.feeds.Follower(db, [feed], clock=clock) as follower:
                await while_time_passes(clock, kept.until(2), step=0.5)
                taken = follower.samples()['sortkey_change_feed_takeovers_total{feed="parcels"}']
        assert kept.numbers == [1, 2]
        assert taken >= 1

    asyncio.run(program())


# A frozen process finds out at its next write, and does no more.
def test_a_follower_that_lost_its_lease_stops(store: str) -> None:
    async def program() -> None:
        clock, kept = ManualClock(), Kept()
        async with opened(store) as db:
            await db.put(Parcel(number=1))
            feed = sk.feeds.ChangeFeed("parcels", Parcel, kept)
            async with sk.feeds.Follower(db, [feed], clock=clock) as follower:
                await kept.until(1)
                for lease in await leases(db):
                    await db.update(lease.key, {"owner": "thief"})
                await while_time_passes(clock, until_lost(follower), step=0.5)
                # The thief does not renew, so the shard comes back. The first change may come again.
                await db.put(Parcel(number=2))
                await while_time_passes(clock, kept.until_number(2), step=0.5)

    asyncio.run(program())


@pytest.mark.slow
def test_a_newcomer_gets_its_share() -> None:
    async def program() -> None:
        clock, kept = ManualClock(), Kept()
        feed = sk.feeds.ChangeFeed("parcels", Parcel, kept)
        async with opened("memory:") as db:
            database = db.client.database
            assert database is not None
            reshard(database, PARCELS.name, 4)
            async with sk.feeds.Follower(db, [feed], clock=clock) as first:
                await while_time_passes(clock, until_leases(db, {first.id: 4}))
                async with sk.feeds.Follower(db, [feed], clock=clock) as second:
                    await while_time_passes(clock, until_leases(db, {first.id: 2, second.id: 2}))
                    await db.batch(put=[Parcel(number=number) for number in range(100)])
                    await while_time_passes(clock, first.caught_up())
                    assert sorted(kept.numbers) == list(range(100))
                    # Handed over, not stolen: nobody lost a lease while it worked.
                    lost = 'sortkey_change_feed_lost_leases_total{feed="parcels"}'
                    assert first.samples()[lost] == second.samples()[lost] == 0
                await while_time_passes(clock, until_leases(db, {first.id: 4}))

    asyncio.run(program())


# Every item's changes come in order, although they are in a parent and its children.
@pytest.mark.parametrize("store", ["memory", "disk"], indirect=True)
def test_shards_split_while_they_are_followed(store: str) -> None:
    async def program() -> None:
        kept = Kept()
        async with opened(store) as db:
            database = db.client.database
            assert database is not None
            async with sk.feeds.Follower(db, [sk.feeds.ChangeFeed("parcels", Parcel, kept, max_batch=7)]) as follower:
                for turn, count in enumerate((1, 2, 4, 8)):
                    await asyncio.to_thread(reshard, database, PARCELS.name, count)
                    await db.batch(put=[Parcel(number=number, place=str(turn)) for number in range(40)])
                await caught_up(follower)
                open_shards = [lease for lease in await leases(db) if lease.checkpoint != SHARD_END]
        places: dict[int, list[str]] = {}
        for change in kept.changes:
            assert change.new is not None
            places.setdefault(change.new.number, []).append(change.new.place)
        assert places == {number: ["0", "1", "2", "3"] for number in range(40)}
        assert len(open_shards) == 8

    asyncio.run(program())


def test_a_stream_that_was_disabled_and_enabled_again(store: str) -> None:
    async def program() -> None:
        kept = Kept()
        async with opened(store) as db:
            await db.put(Parcel(number=1))
            await enable_stream(db, False)
            await db.put(Parcel(number=2))
            await enable_stream(db, True)
            await db.put(Parcel(number=3))
            async with sk.feeds.Follower(db, [sk.feeds.ChangeFeed("parcels", Parcel, kept)]) as follower:
                await caught_up(follower)
        # What is written without a stream is not recorded.
        assert kept.numbers == [1, 3]

    asyncio.run(program())


async def enable_stream(db: sk.AsyncSession, on: bool) -> None:
    view = {"StreamViewType": "NEW_AND_OLD_IMAGES"} if on else {}
    await db.client.update_table(TableName=PARCELS.name, StreamSpecification={"StreamEnabled": on, **view})
    async with asyncio.timeout(SECONDS):
        while (await db.client.describe_table(TableName=PARCELS.name))["Table"]["TableStatus"] != "ACTIVE":
            await asyncio.sleep(0.05)


# The tables of a program do not include those of the feeds, unless it follows feeds.
def test_the_tables_of_feeds_are_made_by_followers() -> None:
    async def program() -> None:
        async with opened("memory:") as db:
            assert (await db.client.list_tables())["TableNames"] == [PARCELS.name]
            async with sk.feeds.Follower(db, []):
                pass
            assert (await db.client.list_tables())["TableNames"] == [PARCELS.name, "sortkey-dead-letters", FEEDS.name]

    asyncio.run(program())


# A store in memory has one process only.
@pytest.mark.slow
@pytest.mark.parametrize("store", SHARED, indirect=True)
def test_followers_may_start_at_the_same_time(store: str) -> None:
    async def program() -> None:
        kept = Kept()
        done = asyncio.Event()

        async def follow() -> None:
            async with opened(store) as db, sk.feeds.Follower(db, [sk.feeds.ChangeFeed("parcels", Parcel, kept)]):
                await done.wait()

        async with opened(store) as db:
            followers = [asyncio.create_task(follow()) for _ in range(3)]
            await db.put(Parcel(number=1))
            await kept.until(1)
            done.set()
            await asyncio.gather(*followers)
        assert kept.numbers == [1]

    asyncio.run(program())


# A shard leaves its stream a day after it was closed.
def test_leases_of_shards_that_are_gone_are_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def program() -> None:
        async with opened("memory:") as db:
            await db.create_tables(FEEDS)
            await db.put(ShardLease(feed="parcels", stream="gone", shard="s", checkpoint=SHARD_END))
            async with sk.feeds.Follower(db, [sk.feeds.ChangeFeed("parcels", Parcel, Kept())]) as follower:
                await caught_up(follower)
                # A list may be late, so they are kept for a while.
                assert len(await leases(db)) == 2
            monkeypatch.setattr("sortkey.feeds.shards.lease_runner.FORGET_SECONDS", 0.0)
            async with sk.feeds.Follower(db, [sk.feeds.ChangeFeed("parcels", Parcel, Kept())]) as follower:
                await caught_up(follower)
            assert [lease.stream == "gone" for lease in await leases(db)] == [False]

    asyncio.run(program())
