"""`sk.feeds.Follower` on every store: what a feed gets, in which order, and where it starts and continues."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import sortkey as sk
from sortkey.feeds.changes.delivery import entry_of
from tests.feeds.changes.parcels import PARCELS, SECONDS, Kept, Parcel, Van, caught_up, number_of, opened
from tests.stores import NOT_FROM_NOW_ON


def test_every_change_comes_in_order(store: str) -> None:
    async def program() -> None:
        kept = Kept()
        async with opened(store) as db:
            await db.put(Parcel(number=1))
            async with sk.feeds.Follower(db, [sk.feeds.ChangeFeed("parcels", Parcel, kept)]) as follower:
                await db.update(Parcel.key(number=1), {"place": "van"})
                await db.delete(Parcel.key(number=1))
                await caught_up(follower)
        depot, van = Parcel(number=1), Parcel(number=1, place="van")
        assert [change[:3] for change in kept.changes] == [
            ("INSERT", None, depot),
            ("MODIFY", depot, van),
            ("REMOVE", van, None),
        ]
        sequences = [change.sequence for change in kept.changes]
        assert sequences == sorted(set(sequences))
        assert all(change.shard.startswith("shardId-") for change in kept.changes)

    asyncio.run(program())


def test_a_feed_continues_where_it_stopped(store: str) -> None:
    async def program() -> None:
        first, second = Kept(), Kept()
        async with opened(store) as db:
            for kept, numbers in ((first, range(5)), (second, range(5, 9))):
                async with sk.feeds.Follower(db, [sk.feeds.ChangeFeed("parcels", Parcel, kept)]) as follower:
                    await db.batch(put=[Parcel(number=number) for number in numbers])
                    await caught_up(follower)
        assert sorted(first.numbers) == [0, 1, 2, 3, 4]
        assert sorted(second.numbers) == [5, 6, 7, 8]

    asyncio.run(program())


def test_feeds_of_one_table_are_independent(store: str) -> None:
    async def program() -> None:
        parcels, late = Kept(), Kept()
        all_of_it: list[sk.Item | None] = []

        async def keep(changes: Sequence[sk.Change[sk.Item]]) -> None:
            all_of_it.extend(change.new for change in changes)

        feeds: list[sk.feeds.ChangeFeed[Any]] = [
            sk.feeds.ChangeFeed("parcels", Parcel, parcels),
            sk.feeds.ChangeFeed("everything", PARCELS, keep),
        ]
        async with opened(store) as db:
            async with sk.feeds.Follower(db, feeds) as follower:
                await db.put(Parcel(number=1))
                await db.put(Van(name="blue"))
                await caught_up(follower)
            async with sk.feeds.Follower(db, [sk.feeds.ChangeFeed("late", Parcel, late)]) as follower:
                await caught_up(follower)
                assert 'sortkey_change_feed_records_total{feed="late",outcome="skipped"}' in follower.samples()
        assert parcels.numbers == late.numbers == [1]
        assert sorted(all_of_it, key=repr) == [Parcel(number=1), Van(name="blue")]

    asyncio.run(program())


def test_a_feed_from_now_on(store: str, request: pytest.FixtureRequest) -> None:
    if (name := request.node.callspec.params["store"]) in NOT_FROM_NOW_ON:
        pytest.skip(NOT_FROM_NOW_ON[name])

    async def program() -> None:
        kept = Kept()
        feed = sk.feeds.ChangeFeed("parcels", Parcel, kept, start="now")
        async with opened(store) as db:
            await db.put(Parcel(number=1))
            async with sk.feeds.Follower(db, [feed]) as follower:
                await db.put(Parcel(number=2))
                await caught_up(follower)
            # Its start counts only the first time.
            await db.put(Parcel(number=3))
            async with sk.feeds.Follower(db, [feed]) as follower:
                await caught_up(follower)
        assert kept.numbers == [2, 3]

    asyncio.run(program())


def test_a_feed_from_an_instant(store: str) -> None:
    async def program() -> None:
        past, future = Kept(), Kept()
        hour = timedelta(hours=1)
        feeds = [
            sk.feeds.ChangeFeed("past", Parcel, past, start=datetime.now(UTC) - hour),
            sk.feeds.ChangeFeed("future", Parcel, future, start=datetime.now(UTC) + hour),
        ]
        async with opened(store) as db:
            await db.put(Parcel(number=1))
            async with sk.feeds.Follower(db, feeds) as follower:
                await db.put(Parcel(number=2))
                await caught_up(follower)
        assert (sorted(past.numbers), future.numbers) == ([1, 2], [])

    asyncio.run(program())


def test_batches_have_a_limit(store: str) -> None:
    async def program() -> None:
        kept = Kept()
        async with opened(store) as db:
            await db.batch(put=[Parcel(number=number) for number in range(10)])
            async with sk.feeds.Follower(db, [sk.feeds.ChangeFeed("parcels", Parcel, kept, max_batch=3)]) as follower:
                await caught_up(follower)
        assert max(len(batch) for batch in kept.batches) <= 3
        assert sorted(kept.numbers) == list(range(10))

    asyncio.run(program())


# A read of a store in the process has 100 records, so that other tasks have their turn.
def test_a_batch_of_a_backlog_has_several_reads() -> None:
    async def program() -> None:
        kept = Kept()
        async with opened("memory:") as db:
            await db.batch(put=[Parcel(number=number) for number in range(750)])
            feed = sk.feeds.ChangeFeed("parcels", Parcel, kept, max_batch=350)
            async with sk.feeds.Follower(db, [feed]) as follower:
                await caught_up(follower)
        assert [len(batch) for batch in kept.batches] == [350, 350, 50]

    asyncio.run(program())


# Records that come one by one are joined, if the feed may wait for more.
def test_a_batch_may_wait_for_more() -> None:
    async def program() -> None:
        kept = Kept()
        async with opened("memory:") as db:
            feed = sk.feeds.ChangeFeed("parcels", Parcel, kept, max_batch=4, max_wait=3600)
            async with sk.feeds.Follower(db, [feed]):
                for number in range(8):
                    await db.put(Parcel(number=number))
                await kept.until(8)
        assert [[number_of(change) for change in batch] for batch in kept.batches] == [[0, 1, 2, 3], [4, 5, 6, 7]]

    asyncio.run(program())


def test_batches_of_a_shard_do_not_overlap() -> None:
    async def program() -> None:
        running = most = handled = 0

        async def on_changes(changes: Sequence[sk.Change[Parcel]]) -> None:
            nonlocal running, most, handled
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1
            handled += len(changes)

        feed = sk.feeds.ChangeFeed("parcels", Parcel, on_changes, max_batch=2)
        async with opened("memory:") as db, sk.feeds.Follower(db, [feed]) as follower:
            for number in range(20):
                await db.put(Parcel(number=number))
            await caught_up(follower)
        assert (most, handled) == (1, 20)

    asyncio.run(program())


def test_run_ends_after_stop() -> None:
    async def program() -> None:
        kept = Kept()
        async with opened("memory:") as db:
            await db.put(Parcel(number=1))
            follower = sk.feeds.Follower(db, [sk.feeds.ChangeFeed("parcels", Parcel, kept)])
            ready = asyncio.Event()
            running = asyncio.create_task(follower.run(ready.set))
            await ready.wait()
            await kept.until(1)
            follower.stop()
            await running
            with pytest.raises(RuntimeError, match="a follower runs once"):
                await follower.run()
        assert kept.numbers == [1]

    asyncio.run(program())


def test_what_a_follower_rejects() -> None:
    async def program() -> None:
        feed = sk.feeds.ChangeFeed("parcels", Parcel, Kept())
        async with sk.async_connect("memory:", tables=[PARCELS]) as db:
            with pytest.raises(sk.DeclarationError, match="two change feeds or schedules have the name 'parcels'"):
                sk.feeds.Follower(db, [feed, feed])
            with pytest.raises(sk.ModelError, match="table feed-parcels has no stream in this store"):
                async with sk.feeds.Follower(db, [feed]):
                    pass
            with pytest.raises(RuntimeError, match="the follower is not running"):
                await sk.feeds.Follower(db, [feed]).caught_up()

    asyncio.run(program())


# A mistake of this library must not go unnoticed. The other feeds end as they do otherwise.
def test_an_unexpected_error_ends_the_follower(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(feed: sk.feeds.ChangeFeed[Any], *arguments: Any, **options: Any) -> Any:
        if feed.name == "one":
            raise RuntimeError("unexpected")
        return entry_of(feed, *arguments, **options)

    async def program() -> None:
        one, two = Kept(), Kept()
        feeds = [sk.feeds.ChangeFeed("one", Parcel, one), sk.feeds.ChangeFeed("two", Parcel, two)]
        async with opened("memory:") as db:
            with monkeypatch.context() as broken:
                broken.setattr("sortkey.feeds.changes.feed_runner.entry_of", fail)
                await db.put(Parcel(number=1))
                with pytest.raises(RuntimeError, match="unexpected"):
                    await asyncio.wait_for(sk.feeds.Follower(db, feeds).run(), SECONDS)
                with pytest.raises(RuntimeError, match="unexpected"):
                    async with sk.feeds.Follower(db, feeds) as follower:
                        await caught_up(follower)
            async with sk.feeds.Follower(db, feeds) as follower:
                await caught_up(follower)
        assert one.numbers == two.numbers == [1]

    asyncio.run(program())
