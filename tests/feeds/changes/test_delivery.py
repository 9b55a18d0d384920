"""Retries, the search for the change that cannot be handled, and dead letters."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from sortkey.clock import SystemClock
from sortkey.feeds.changes.delivery import Delivery, RecordEntry, entry_of
from sortkey.feeds.shards.dead_letter import RECORD_BYTES
from sortkey.feeds.shards.metrics import ChangeFeedMetrics
from sortkey.model.calls.steps import Pacing
from tests.feeds.changes.parcels import Kept, Parcel, caught_up, number_of, opened

QUICK = Pacing(chance=lambda: 0.0)


def record(number: int, **attributes: Any) -> dict[str, Any]:
    key = {"pk": {"S": f"PARCEL#{number:06}"}, "sk": {"S": "PARCEL"}}
    image = {**key, "number": {"N": str(number)}, "place": {"S": "depot"}, **attributes}
    change = {
        "Keys": key,
        "NewImage": image,
        "SequenceNumber": f"{number + 1:021}",
        "ApproximateCreationDateTime": datetime(2026, 8, 24, tzinfo=UTC),
    }
    return {"eventName": "INSERT", "dynamodb": change}


def throttled() -> ClientError:
    return ClientError({"Error": {"Code": "ThrottlingException", "Message": "on purpose"}}, "PutItem")


class Handler:
    """Refuses some numbers, always; and fails a few times first."""

    def __init__(self, refused: set[int] = frozenset(), failures: Sequence[Exception] = ()) -> None:  # type: ignore[assignment]
        self.refused = refused
        self.failures = list(failures)
        self.calls: list[list[int]] = []
        self.handled: list[int] = []

    async def __call__(self, changes: Sequence[sk.Change[Parcel]]) -> None:
        numbers = [number_of(change) for change in changes]
        self.calls.append(numbers)
        if self.failures:
            raise self.failures.pop(0)
        if self.refused.intersection(numbers):
            raise ValueError(f"cannot handle {sorted(self.refused.intersection(numbers))}")
        self.handled += numbers


async def deliver(
    db: sk.AsyncSession,
    handler: Handler,
    entries: Sequence[RecordEntry],
    attempts: int | None = 2,
    sinks: Sequence[Any] = (),
    in_a_row: int = 3,
) -> tuple[bool, ChangeFeedMetrics]:
    metrics = ChangeFeedMetrics("parcels", lambda: 0.0, lambda: 1)
    feed = sk.feeds.ChangeFeed("parcels", Parcel, handler, attempts=attempts, in_a_row=in_a_row)
    delivery = Delivery(feed, "shard-1", db, metrics, asyncio.Event(), SystemClock(), sinks, pacing=QUICK)
    return await delivery.deliver(entries), metrics


def entries(numbers: Sequence[int]) -> list[RecordEntry]:
    feed = sk.feeds.ChangeFeed("parcels", Parcel, Kept())
    found = [entry_of(feed, record(number), "shard-1", low_level=True) for number in numbers]
    return [entry for entry in found if entry is not None]


async def letters(db: sk.AsyncSession) -> list[sk.feeds.DeadLetter]:
    return [letter async for letter in db.iterate(sk.feeds.DeadLetter.key(feed="parcels"))]


def test_a_batch_that_raises_is_tried_again() -> None:
    async def program() -> None:
        handler = Handler(failures=[ValueError("once")])
        async with opened("memory:") as db:
            done, metrics = await deliver(db, handler, entries([0, 1]))
        assert done
        assert handler.calls == [[0, 1], [0, 1]]
        assert (metrics.retries, metrics.batches, metrics.handled, metrics.dead) == (1, 1, 2, 0)

    asyncio.run(program())


def test_the_change_that_raises_is_found_and_given_up() -> None:
    async def program() -> None:
        handler = Handler(refused={5})
        async with opened("memory:") as db:
            await db.create_tables(sk.feeds.DeadLetter)
            done, metrics = await deliver(db, handler, entries(range(8)))
            (letter,) = await letters(db)
        assert done
        assert handler.calls == [[*range(8)]] * 2 + [[0, 1, 2, 3], [4, 5, 6, 7], [4, 5], [4], [5], [5], [6], [7]]
        assert handler.handled == [0, 1, 2, 3, 4, 6, 7]
        assert (metrics.handled, metrics.dead) == (7, 1)
        assert (letter.feed, letter.shard, letter.sequence) == ("parcels", "shard-1", "6".zfill(40))
        assert letter.reason == "ValueError: cannot handle [5]"
        assert (letter.expires - letter.at).days == 14
        assert sk.feeds.read_record(json.loads(letter.record), Parcel).new == Parcel(number=5)

    asyncio.run(program())


# The feed must never lose a change, nor one that comes after it.
@given(st.integers(1, 20), st.sets(st.integers(0, 19)), st.integers(1, 3))
def test_each_change_is_handled_in_order_or_given_up(count: int, refused: set[int], attempts: int) -> None:
    async def program() -> None:
        handler = Handler(refused)
        async with opened("memory:") as db:
            await db.create_tables(sk.feeds.DeadLetter)
            assert (await deliver(db, handler, entries(range(count)), attempts, in_a_row=count + 1))[0]
            given_up = [int(letter.sequence) - 1 for letter in await letters(db)]
        assert handler.handled == [number for number in range(count) if number not in refused]
        assert given_up == sorted(number for number in refused if number < count)

    asyncio.run(program())


def test_errors_of_the_store_do_not_count() -> None:
    async def program() -> None:
        handler = Handler(failures=[throttled()] * 7)
        async with opened("memory:") as db:
            done, metrics = await deliver(db, handler, entries([0, 1]), attempts=1)
        assert done
        assert (metrics.retries, metrics.handled, metrics.dead) == (7, 2, 0)

    asyncio.run(program())


def test_without_a_number_of_attempts_nothing_is_given_up() -> None:
    async def program() -> None:
        handler = Handler(failures=[ValueError("again")] * 20)
        async with opened("memory:") as db:
            done, metrics = await deliver(db, handler, entries([0, 1]), attempts=None)
        assert done
        assert (metrics.retries, metrics.handled, metrics.dead) == (20, 2, 0)

    asyncio.run(program())


def test_a_stop_ends_the_pause_between_attempts() -> None:
    async def program() -> None:
        stopping = asyncio.Event()

        async def refuse(_: Sequence[sk.Change[Parcel]]) -> None:
            stopping.set()
            raise ValueError("never")

        metrics = ChangeFeedMetrics("parcels", lambda: 0.0, lambda: 1)
        async with opened("memory:") as db:
            feed = sk.feeds.ChangeFeed("parcels", Parcel, refuse)
            pacing = Pacing(first_pause=3600, longest_pause=3600, chance=lambda: 1.0)
            delivery = Delivery(feed, "shard-1", db, metrics, stopping, SystemClock(), pacing=pacing)
            assert await delivery.deliver(entries([0])) is False

    asyncio.run(program())


def test_a_record_that_cannot_be_read_is_given_up_at_once() -> None:
    async def program() -> None:
        feed = sk.feeds.ChangeFeed("parcels", Parcel, Kept())
        broken = entry_of(feed, record(1, place={"N": "7"}), "shard-1", low_level=True)
        assert broken is not None
        handler = Handler()
        async with opened("memory:") as db:
            await db.create_tables(sk.feeds.DeadLetter)
            done, metrics = await deliver(db, handler, [*entries([0]), broken, *entries([2])])
            (letter,) = await letters(db)
        assert done
        assert handler.handled == [0, 2]
        assert (metrics.handled, metrics.dead) == (2, 1)
        assert letter.reason.startswith("DecodeError: the row of table feed-parcels with the key pk='PARCEL#000001'")

    asyncio.run(program())


# An item may have 400 KB, and so may each image of a record.
def test_a_dead_letter_of_a_large_record_lacks_its_images() -> None:
    async def program() -> None:
        feed = sk.feeds.ChangeFeed("parcels", Parcel, Kept())
        large = entry_of(feed, record(1, note={"S": "x" * RECORD_BYTES}), "shard-1", low_level=True)
        assert large is not None
        async with opened("memory:") as db:
            await db.create_tables(sk.feeds.DeadLetter)
            await deliver(db, Handler({1}), [large])
            (letter,) = await letters(db)
        assert not letter.complete
        change = sk.feeds.read_record(json.loads(letter.record), Parcel)
        assert (change.new, change.key) == (None, Parcel.key(number=1).key())

    asyncio.run(program())


# A topic, for example. It may be down for a while.
def test_dead_letters_may_also_go_elsewhere() -> None:
    async def program() -> None:
        sent: list[sk.feeds.DeadLetter] = []
        troubles = [ConnectionError("on purpose")]

        async def send(letter: sk.feeds.DeadLetter) -> None:
            if troubles:
                raise troubles.pop()
            sent.append(letter)

        async with opened("memory:") as db:
            await db.create_tables(sk.feeds.DeadLetter)
            await deliver(db, Handler({1}), entries([1]), sinks=[send])
            assert sent == await letters(db)

    asyncio.run(program())


def test_a_feed_goes_on_after_a_poisoned_change(store: str) -> None:
    async def program() -> None:
        handler = Handler(refused={3})
        feed = sk.feeds.ChangeFeed("parcels", Parcel, handler, attempts=1)
        async with opened(store) as db:
            await db.batch(put=[Parcel(number=number) for number in range(6)])
            async with sk.feeds.Follower(db, [feed]) as follower:
                await caught_up(follower)
                await db.put(Parcel(number=9))
                await caught_up(follower)
            (letter,) = await letters(db)
        assert sorted(handler.handled) == [0, 1, 2, 4, 5, 9]
        assert letter.reason == "ValueError: cannot handle [3]"

    asyncio.run(program())
