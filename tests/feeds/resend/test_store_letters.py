"""Dead letters of change feeds and timers, sent again and dropped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import sortkey as sk
from sortkey.feeds.resend.letters import Action, Dealt, Outcome, Stopped, UnknownLetters, Wanted
from sortkey.feeds.resend.store_letters import StoreLetters
from sortkey.feeds.shards.leases import ShardLease, handled_by
from tests.feeds.changes.parcels import caught_up
from tests.feeds.resend import depot
from tests.feeds.resend.depot import BROKEN, COUNTED, PARCELS, Depot, Parcel

Program = Callable[[Depot], Awaitable[None]]

ALL = Wanted()
ARRIVALS = Wanted(feeds=["arrivals"])
COUNTS = Wanted(feeds=["place-counts"])


@pytest.fixture(autouse=True)
def broken() -> Iterator[None]:
    """Parcels to Nowhere are given up."""
    BROKEN.clear()
    BROKEN.add("Nowhere")
    yield
    BROKEN.clear()


def run(program: Program) -> None:
    async def with_service() -> None:
        async with sk.async_connect("memory:", tables=[PARCELS, depot.COUNTS]) as db:
            service = Depot(db, {})
            await service.start()
            await program(service)

    asyncio.run(with_service())


@asynccontextmanager
async def followed(service: Depot, feeds: Sequence[Any] | None = None) -> AsyncIterator[sk.feeds.Follower]:
    """What is written in the block is handled when it ends."""
    async with sk.feeds.Follower(service.session, service.feeds if feeds is None else feeds) as follower:
        yield follower
        await caught_up(follower)


async def send(service: Depot, *parcels: tuple[int, str]) -> None:
    async with followed(service):
        for number, place in parcels:
            await service.session.put(Parcel(number=number, place=place))


async def walk(service: Depot, wanted: Wanted = ALL, action: Action | None = None) -> list[Dealt]:
    return [each async for each in StoreLetters(service.session, service.feeds).walk(wanted, action)]


async def outcomes(service: Depot, wanted: Wanted = ALL, action: Action | None = None) -> list[str]:
    return [each.outcome for each in await walk(service, wanted, action)]


def numbers(service: Depot) -> list[int]:
    return [change.new.number for change in service.arrived if change.new is not None]


def test_a_store_without_feeds_has_no_letters() -> None:
    async def program(service: Depot) -> None:
        assert await walk(service) == []

    run(program)


def test_letters_of_all_feeds_are_listed_in_their_order() -> None:
    async def program(service: Depot) -> None:
        await send(service, (1, "Nowhere"), (2, "York"), (3, "Nowhere"))
        found = [each.letter for each in await walk(service)]
        assert [letter.source for letter in found] == ["arrivals", "arrivals", "place-counts", "place-counts"]
        assert {letter.reason for letter in found} == {"Broken: no place Nowhere"}
        first, second, *_ = found
        assert int(first.content["sequence"]) < int(second.content["sequence"])
        assert first.id == f"arrivals/{first.content['shard']}/{int(first.content['sequence'])}"
        assert numbers(service) == [2]

    run(program)


def test_filters() -> None:
    async def program(service: Depot) -> None:
        await send(service, (1, "Nowhere"), (2, "Nowhere"))
        first, second = await walk(service, ARRIVALS)
        assert await walk(service, Wanted(ids=[second.letter.id])) == [second]
        assert await walk(service, Wanted(feeds=["arrivals"], ids=[second.letter.id])) == [second]
        assert await walk(service, Wanted(feeds=["place-counts"], ids=[second.letter.id])) == []
        assert await walk(service, ARRIVALS._replace(limit=1)) == [first]
        assert len(await walk(service, Wanted(limit=3))) == 3
        assert len(await walk(service, Wanted(reason="NO PLACE"))) == 4
        assert await walk(service, Wanted(reason="timeout")) == []
        now = datetime.now(UTC)
        assert len(await walk(service, Wanted(since=now - timedelta(hours=1), until=now + timedelta(hours=1)))) == 4
        assert await walk(service, Wanted(since=now + timedelta(hours=1))) == []
        assert await walk(service, Wanted(until=now - timedelta(hours=1))) == []
        assert await walk(service, Wanted(ids=["arrivals/shard/1"])) == []
        with pytest.raises(UnknownLetters, match="FEED/SHARD/SEQUENCE"):
            await walk(service, Wanted(ids=["1"]))

    run(program)


def test_what_is_sent_again_comes_as_it_came_and_once() -> None:
    async def program(service: Depot) -> None:
        await send(service, (1, "Nowhere"), (2, "York"), (3, "Nowhere"))
        letters = [each.letter for each in await walk(service, ARRIVALS)]
        BROKEN.clear()
        assert await outcomes(service, ARRIVALS, Action.RETRY) == ["sent", "sent"]
        assert numbers(service) == [2, 1, 3]
        resent = service.arrived[1:]
        assert [(each.shard, each.sequence) for each in resent] == [
            (letter.content["shard"], letter.content["sequence"]) for letter in letters
        ]
        assert await outcomes(service, ARRIVALS, Action.RETRY) == []
        assert numbers(service) == [2, 1, 3]

    run(program)


# The next letter of the item would overtake it.
def test_a_letter_that_fails_again_stays_with_the_new_reason_and_holds_those_of_its_item() -> None:
    async def program(service: Depot) -> None:
        BROKEN.add("Elsewhere")
        await send(service, (1, "Nowhere"), (1, "Elsewhere"), (2, "Elsewhere"))
        BROKEN.remove("Elsewhere")
        before = [each.letter async for each in StoreLetters(service.session, service.feeds).walk(ARRIVALS, None)]
        await service.session.update(
            sk.feeds.DeadLetter.key(feed="arrivals", **_key(before[0])), {"reason": "an old one"}
        )
        found = await walk(service, ARRIVALS, Action.RETRY)
        assert [each.outcome for each in found] == ["failed", "failed", "sent"]
        assert found[0].reason == "Broken: no place Nowhere"
        assert "earlier change of the same item" in found[1].reason
        assert numbers(service) == [2]
        assert [each.letter.reason for each in await walk(service, ARRIVALS)] == [
            "Broken: no place Nowhere",
            "Broken: no place Elsewhere",
        ]
        BROKEN.clear()
        assert await outcomes(service, ARRIVALS, Action.RETRY) == ["sent", "sent"]
        assert [change.new.place for change in service.arrived if change.new] == ["Elsewhere", "Nowhere", "Elsewhere"]

    run(program)


def _key(letter: Any) -> dict[str, str]:
    return {"shard": letter.content["shard"], "sequence": letter.content["sequence"]}


def test_an_outage_stops_and_changes_nothing() -> None:
    async def program(service: Depot) -> None:
        await send(service, (1, "Nowhere"), (2, "Nowhere"))
        before = await walk(service, ARRIVALS)

        async def away(_: Sequence[sk.Change[Parcel]]) -> None:
            raise ConnectionError("the mail server is away")

        service.feeds = [sk.feeds.ChangeFeed("arrivals", Parcel, away)]
        with pytest.raises(Stopped, match="arrivals meets an outage: ConnectionError: the mail server is away"):
            await walk(service, ARRIVALS, Action.RETRY)
        assert await walk(service, ARRIVALS) == before

    run(program)


def test_a_command_that_ends_in_a_call_loses_nothing() -> None:
    async def program(service: Depot) -> None:
        await send(service, (1, "Nowhere"))
        calling = asyncio.Event()

        async def hang(_: Sequence[sk.Change[Parcel]]) -> None:
            calling.set()
            await asyncio.Event().wait()

        service.feeds = [sk.feeds.ChangeFeed("arrivals", Parcel, hang)]
        task = asyncio.create_task(walk(service, ARRIVALS, Action.RETRY))
        await calling.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert len(await walk(service, ARRIVALS)) == 1

    run(program)


# A change that is handled twice is better than one that is lost.
def test_a_letter_that_was_handled_and_could_not_be_deleted_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def program(service: Depot) -> None:
        await send(service, (1, "Nowhere"))
        BROKEN.clear()

        async def away(*_: object, **__: object) -> None:
            raise ConnectionError("the store is away")

        with monkeypatch.context() as patched:
            patched.setattr(sk.AsyncSession, "delete", away)
            with pytest.raises(ConnectionError):
                await walk(service, ARRIVALS, Action.RETRY)
        assert await outcomes(service, ARRIVALS, Action.RETRY) == ["sent"]
        assert numbers(service) == [1, 1]

    run(program)


# It has read the letter, but not sent it yet.
def test_a_letter_that_another_command_has_dropped_is_not_sent() -> None:
    async def program(service: Depot) -> None:
        await send(service, (1, "Nowhere"), (2, "Nowhere"))
        BROKEN.clear()
        found = StoreLetters(service.session, service.feeds).walk(ARRIVALS, Action.RETRY)
        assert (await anext(found)).outcome is Outcome.SENT
        assert await outcomes(service, ARRIVALS, Action.DROP) == ["dropped"]
        assert [each.outcome async for each in found] == ["gone"]
        assert numbers(service) == [1]

    run(program)


# The feed delivers it again after a crash, and gives it up again while the letter is being sent.
def test_a_letter_that_was_given_up_again_meanwhile_stays() -> None:
    async def program(service: Depot) -> None:
        await send(service, (1, "Nowhere"))
        (letter,) = [each async for each in service.session.iterate(sk.feeds.DeadLetter.key(feed="arrivals"))]

        async def on_changes(_: Sequence[sk.Change[Parcel]]) -> None:
            await service.session.put(sk.replace(letter, reason="again", token="another"))

        service.feeds = [sk.feeds.ChangeFeed("arrivals", Parcel, on_changes)]
        assert await outcomes(service, ARRIVALS, Action.RETRY) == ["sent"]
        assert [each.letter.reason for each in await walk(service, ARRIVALS)] == ["again"]

    run(program)


def test_letters_of_earlier_versions_have_no_token() -> None:
    async def program(service: Depot) -> None:
        await send(service, (1, "Nowhere"), (2, "Nowhere"))
        async for letter in service.session.iterate(sk.feeds.DeadLetter.key(feed="arrivals")):
            await service.session.client.update_item(
                TableName="sortkey-dead-letters",
                Key=letter.key.key(),
                UpdateExpression="REMOVE #t",
                ExpressionAttributeNames={"#t": "token"},
            )
        assert await outcomes(service, ARRIVALS._replace(limit=1), Action.DROP) == ["dropped"]
        BROKEN.clear()
        assert await outcomes(service, ARRIVALS, Action.RETRY) == ["sent"]
        assert await walk(service, ARRIVALS) == []

    run(program)


# A handler would take it for a change of nothing.
def test_a_letter_without_its_images_stays() -> None:
    async def program(service: Depot) -> None:
        await send(service, (1, "Nowhere"))
        (letter,) = [each async for each in service.session.iterate(sk.feeds.DeadLetter.key(feed="arrivals"))]
        await service.session.put(sk.replace(letter, complete=False))
        BROKEN.clear()
        (dealt,) = await walk(service, ARRIVALS, Action.RETRY)
        assert (dealt.outcome, "too large" in dealt.reason) == (Outcome.FAILED, True)
        assert numbers(service) == []

    run(program)


def test_a_feed_that_is_no_longer_there_can_be_listed_and_dropped() -> None:
    async def program(service: Depot) -> None:
        await send(service, (1, "Nowhere"))
        service.feeds = service.feeds[1:]
        assert await outcomes(service, ARRIVALS) == ["listed"]
        with pytest.raises(UnknownLetters, match="no feed 'arrivals' to send letters to; there are: place-counts"):
            await walk(service, ARRIVALS, Action.RETRY)
        assert await outcomes(service, ARRIVALS, Action.DROP) == ["dropped"]

    run(program)


# The count's item has passed the change, and would leave it out.
def test_a_change_of_an_aggregate_is_counted_once_before_and_after_later_ones() -> None:
    async def program(service: Depot) -> None:
        await send(service, (1, "York"), (2, "Nowhere"), (3, "Nowhere"))
        BROKEN.clear()
        await send(service, (4, "Nowhere"))
        BROKEN.add("Leeds")
        await send(service, (5, "Leeds"))
        assert await service.counted() == {"York": 1, "Nowhere": 1}
        assert await outcomes(service, COUNTS._replace(limit=2), Action.RETRY) == ["failed", "failed"]
        BROKEN.clear()
        assert await outcomes(service, COUNTS, Action.RETRY) == ["sent", "sent", "sent"]
        assert await service.counted() == {"York": 1, "Nowhere": 3, "Leeds": 1}
        assert await outcomes(service, COUNTS, Action.RETRY) == []
        await send(service, (6, "Leeds"))
        assert await service.counted() == {"York": 1, "Nowhere": 3, "Leeds": 2}

    run(program)


# One of its two groups could be written, and the other could not.
def test_a_change_that_was_counted_in_part_is_counted_once() -> None:
    async def program(service: Depot) -> None:
        long = "x" * 3000
        await send(service, (1, "York"), (2, "York"), (1, long), (2, "Leeds"))
        assert "it can have 2,048" in (await walk(service, COUNTS))[0].letter.reason
        (dealt,) = await walk(service, COUNTS, Action.RETRY)
        assert (dealt.outcome, "it can have 2,048" in dealt.reason) == (Outcome.FAILED, True)
        # The row is mended, which gives another change up.
        await send(service, (1, "Leeds"))
        assert await outcomes(service, COUNTS, Action.RETRY) == ["sent", "sent"]
        assert await service.counted() == {"York": 0, "Leeds": 2}

    run(program)


def test_a_change_that_a_recount_has_counted_is_not_counted_again() -> None:
    async def program(service: Depot) -> None:
        await send(service, (1, "Nowhere"), (2, "York"))
        BROKEN.clear()
        aggregator = COUNTED.aggregator(service.session)
        handled = await handled_by(service.session, "place-counts")
        assert (await aggregator.recount(repair=True, handled=handled)).repaired == 1
        assert await outcomes(service, COUNTS, Action.RETRY) == ["sent"]
        assert await service.counted() == {"York": 1, "Nowhere": 1}

    run(program)


# After a crash the feed would deliver the change again, and count it besides the recount.
def test_a_change_that_the_feed_may_still_deliver_is_left_to_the_feed() -> None:
    async def program(service: Depot) -> None:
        await send(service, (1, "York"))
        (saved,) = [each async for each in service.session.iterate(ShardLease.key(feed="place-counts"))]
        await send(service, (2, "Nowhere"))
        await service.session.update(saved.key, {"checkpoint": saved.checkpoint})
        BROKEN.clear()
        (dealt,) = await walk(service, COUNTS, Action.RETRY)
        assert (dealt.outcome, "has not saved yet" in dealt.reason) == (Outcome.FAILED, True)
        await send(service)
        assert await outcomes(service, COUNTS, Action.RETRY) == ["sent"]
        assert await service.counted() == {"York": 1, "Nowhere": 1}

    run(program)


# It would leave the change out, and nobody would know.
def test_an_aggregate_behind_a_function_rejects_letters() -> None:
    async def program(service: Depot) -> None:
        await send(service, (1, "Nowhere"), (2, "York"))
        BROKEN.clear()
        aggregator = COUNTED.aggregator(service.session)

        async def on_changes(changes: Sequence[sk.Change[Parcel]]) -> None:
            await aggregator.on_changes(changes)

        service.feeds = [sk.feeds.ChangeFeed("place-counts", Parcel, on_changes)]
        (dealt,) = await walk(service, COUNTS, Action.RETRY)
        assert (dealt.outcome, "recount(repair=True)" in dealt.reason) == (Outcome.FAILED, True)

    run(program)


def test_a_timer_is_set_again_and_a_follower_calls_it() -> None:
    async def program(service: Depot) -> None:
        BROKEN.add("timers")
        at = datetime(2026, 8, 24, 12, tzinfo=UTC)
        async with followed(service):
            await service.session.put(Parcel(number=1, due=at))
        wanted = Wanted(feeds=["depot-due"])
        (listed,) = await walk(service, wanted)
        assert listed.letter.id.startswith("depot-due/timers/")
        assert await walk(service, Wanted(ids=[listed.letter.id])) == [listed]
        BROKEN.clear()
        assert await outcomes(service, wanted, Action.RETRY) == ["sent"]
        assert service.reminded == []
        async with followed(service):
            pass
        assert service.reminded == [at]
        assert await walk(service, wanted) == []

    run(program)


# It is the feed of the schedule that has given it up.
def test_a_change_that_has_set_no_timer_sets_it() -> None:
    async def program(service: Depot) -> None:
        at = datetime(2026, 8, 24, 12, tzinfo=UTC)
        await send(service, (1, "Nowhere"))
        (letter,) = [each async for each in service.session.iterate(sk.feeds.DeadLetter.key(feed="arrivals"))]
        async with followed(service, service.feeds[:1]):
            await service.session.put(Parcel(number=2, place="Nowhere", due=at))
        *_, letter = [each async for each in service.session.iterate(sk.feeds.DeadLetter.key(feed="arrivals"))]
        await service.session.put(sk.replace(letter, feed="depot-due"))
        assert await outcomes(service, Wanted(feeds=["depot-due"]), Action.RETRY) == ["sent"]
        async with followed(service):
            pass
        assert service.reminded == [at]

    run(program)
