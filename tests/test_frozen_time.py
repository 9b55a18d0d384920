"""freezegun and time-machine: a test that stops and moves time does so for items, stores, feeds and timers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any

import httpx
import msgspec
import pytest
import time_machine
from fastapi import Body, FastAPI
from freezegun import freeze_time

import sortkey as sk

START = datetime(2050, 3, 4, 5, 6, 7, tzinfo=UTC)
HOUR = 3600.0

Advance = Callable[[float], object]


@contextmanager
def by_freezegun(**options: Any) -> Iterator[Advance]:
    with freeze_time(START, **options) as frozen:
        yield frozen.tick


@contextmanager
def by_freezegun_with_real_asyncio() -> Iterator[Advance]:
    with by_freezegun(real_asyncio=True) as advance:
        yield advance


@contextmanager
def by_time_machine() -> Iterator[Advance]:
    with time_machine.travel(START, tick=False) as traveller:
        yield traveller.shift


@pytest.fixture(params=[by_freezegun, by_freezegun_with_real_asyncio, by_time_machine], ids=lambda each: each.__name__)
def stopped(request: pytest.FixtureRequest) -> Any:
    """A context in which time stands still; its value moves time."""
    return request.param


def new_class() -> Any:
    """A class that is used for the first time while time is frozen: its annotations are read then."""

    class Visit(sk.Item, table=sk.Table("frozen-visits", ttl="expires", stream="NEW_AND_OLD_IMAGES")):
        id: str
        at: datetime
        day: date
        others: tuple[datetime, ...] = ()
        days: dict[str, date | None] | None = None
        either: datetime | int = 0
        millis: Annotated[datetime | None, sk.epoch_ms] = None
        expires: datetime | None = None
        created: Annotated[datetime | None, sk.created] = None

        key = sk.Key("VISIT#{id}")
        by_day = sk.Index("gsi1", "DAY#{day:%Y%m%d}", "{at}")

    return Visit


class Known(sk.Item, table=sk.Table("frozen-known", ttl="expires", stream="NEW_AND_OLD_IMAGES")):
    """Used before, when this module is imported."""

    id: str
    at: datetime
    expires: datetime | None = None
    created: Annotated[datetime | None, sk.created] = None

    key = sk.Key("KNOWN#{id}")


class Posted(sk.Item):
    at: datetime
    read: datetime | None = None


class KnownCount(sk.Item, table=sk.Table("frozen-counts", ttl="expires")):
    window: str
    count: int = 0
    expires: datetime | None = None

    key = sk.Key("{window}")


with sk.testing.local(Known) as used:
    used.put(Known(id="0", at=START))

COUNTS = sk.patterns.aggregate(
    Known,
    into=KnownCount,
    by=(),
    window=sk.patterns.window("at", "DAY", timedelta(minutes=15), keep={timedelta(minutes=15): timedelta(hours=1)}),
    values={"count": sk.patterns.count()},
)
REMINDERS = sk.patterns.schedule("frozen-reminders", Known, at="at")


def test_an_item_keeps_its_times(stopped: Any) -> None:
    with stopped():
        visit = new_class()
        now = datetime.now(UTC)
        given = visit(
            id="1",
            at=now,
            day=datetime.now(UTC).date(),
            others=(now,),
            days={"x": datetime.now(UTC).date()},
            either=now,
            millis=now,
            expires=now,
        )
        with sk.testing.local(visit) as db:
            db.put(sk.replace(given, expires=now + timedelta(days=1)))
            found = db.get(visit.key(id="1"))
            assert found == sk.replace(given, expires=now + timedelta(days=1), created=START)
            assert [each.id for each in db.page(visit.by_day(day=datetime.now(UTC).date()))] == ["1"]
            assert {type(found.at), type(found.created), type(found.others[0])} == {type(START)}
            # What was read can be sent by a server.
            assert msgspec.json.decode(msgspec.json.encode(found))["at"] == "2050-03-04T05:06:07Z"
            assert db.update(
                visit.key(id="1"), {"at": now + timedelta(hours=1)}, where={"at": now}
            ).at == now + timedelta(hours=1)


def test_a_class_that_was_used_before_keeps_its_times(stopped: Any) -> None:
    with stopped(), sk.testing.local(Known) as db:
        db.put(Known(id="1", at=datetime.now(UTC)))
        assert db.get(Known.key(id="1")) == Known(id="1", at=START, created=START)


# A class whose first use was in a frozen test is used by the next test, too.
def test_a_class_is_usable_after_a_frozen_test() -> None:
    visit = new_class()
    with by_freezegun(), sk.testing.local(visit) as db:
        db.put(visit(id="1", at=datetime.now(UTC), day=datetime.now(UTC).date()))
    with sk.testing.local(visit) as db:
        db.put(visit(id="2", at=START, day=START.date()))
        found: Any = db.get(visit.key(id="2"))
        assert (found.at, found.day) == (START, START.date())
        assert abs(found.created - datetime.now(UTC)) < timedelta(minutes=5)


# The store deletes in a thread of its own, to which freezegun would tell the machine's time.
def test_items_expire_by_the_time_of_the_test(stopped: Any) -> None:
    with stopped() as advance, sk.testing.local(Known) as db:
        db.put(Known(id="1", at=START, expires=datetime.now(UTC) + timedelta(hours=1)))
        sweep(db)
        assert db.get(Known.key(id="1")) is not None
        advance(2 * HOUR)
        sweep(db)
        assert db.get(Known.key(id="1")) is None


def sweep(db: sk.Session) -> None:
    client: Any = db.client
    sweeping = threading.Thread(target=client.database.janitor.sweep)
    sweeping.start()
    sweeping.join()


@asynccontextmanager
async def opened() -> AsyncIterator[sk.AsyncSession]:
    async with sk.testing.async_local(Known, KnownCount) as db:
        yield db


def test_windows_are_counted_and_end_by_the_time_of_the_test(stopped: Any) -> None:
    with stopped() as advance:

        async def play() -> None:
            async with opened() as db:
                seen: list[sk.Change[Known]] = []

                async def on_changes(changes: Any) -> None:
                    seen.extend(changes)
                    await counted.on_changes(changes)

                counted = COUNTS.aggregator(db)
                feed = sk.feeds.ChangeFeed("frozen-counts", Known, on_changes)
                async with sk.feeds.Follower(db, [feed]) as follower:
                    await db.put(Known(id="1", at=datetime.now(UTC)))
                    await follower.caught_up()
                    assert [change.at for change in seen] == [START]
                    assert {type(change.at) for change in seen} == {type(START)}
                    assert await windows(db) == {"2050-03-04": 1, "2050-03-04T05:00/PT15M": 1}
                    advance(2 * HOUR)
                    # It is late for the window that is kept for an hour.
                    await db.put(Known(id="2", at=START))
                    await follower.caught_up()
                    assert (await windows(db))["2050-03-04"] == 2
                    assert (await windows(db)).get("2050-03-04T05:00/PT15M", 1) == 1

        asyncio.run(play())


async def windows(db: sk.AsyncSession) -> dict[str, int]:
    return {each.window: each.count async for each in db.scan(KnownCount)}


def test_timers_are_due_by_the_time_of_the_test(stopped: Any) -> None:
    with stopped() as advance:

        async def play() -> None:
            due: list[str] = []

            async def on_due(found: sk.patterns.Due[Known]) -> None:
                due.extend([each.id async for each in found.items()])

            async with (
                sk.testing.async_local(Known) as db,
                sk.feeds.Follower(db, [sk.feeds.Timers(REMINDERS, on_due, poll=600)]) as follower,
            ):
                await db.put(Known(id="1", at=datetime.now(UTC) + timedelta(hours=1)))
                await follower.caught_up()
                assert due == []
                advance(2 * HOUR)
                await follower.caught_up()
                assert due == ["1"]

        asyncio.run(play())


# A wait that measured by the frozen clock would never end.
def test_waits_end_while_time_stands_still(stopped: Any) -> None:
    with stopped():

        async def play() -> None:
            async with opened() as db:
                client: Any = db.client
                arn = (await client.describe_table(TableName="frozen-known"))["Table"]["LatestStreamArn"]
                shard = (await client.describe_stream(StreamArn=arn))["StreamDescription"]["Shards"][0]["ShardId"]
                answer = await client.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="LATEST")
                iterator = answer["ShardIterator"]
                assert not await client.wait_for_records(ShardIterator=iterator, Timeout=0.01)
                with sk.connect("memory:") as other:
                    other.create_tables(Known)
                    sync: Any = other.client
                    arn = sync.describe_table(TableName="frozen-known")["Table"]["LatestStreamArn"]
                    shard = sync.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
                    iterator = sync.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="LATEST")
                    assert not sync.wait_for_records(ShardIterator=iterator["ShardIterator"], Timeout=0.01)

        asyncio.run(play())


app = FastAPI()


@app.post("/visits")
def receive(visit: Annotated[Posted, Body()]) -> Posted:
    return sk.replace(visit, at=visit.at + (datetime.now(UTC) - START) + timedelta(hours=1), read=datetime.now(UTC))


# msgspec does not know freezegun's subclasses, neither in an annotation nor as a value.
def test_fastapi_takes_and_writes_items_while_time_stands_still(stopped: Any) -> None:
    async def play() -> Any:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as client:
            answer = await client.post("/visits", json={"at": "2050-03-04T05:06:07Z"})
            return answer.json(), (await client.get("/openapi.json")).status_code

    with stopped():
        assert asyncio.run(play()) == ({"at": "2050-03-04T06:06:07Z", "read": "2050-03-04T05:06:07Z"}, 200)


# An application that a test imports while time is frozen.
@pytest.mark.every_python
@pytest.mark.slow
def test_the_package_may_be_imported_while_time_is_frozen() -> None:
    program = """
from freezegun import freeze_time
with freeze_time("2050-03-04T05:06:07Z"):
    from datetime import UTC, datetime
    import sortkey as sk

    class Visit(sk.Item, table="visits"):
        id: str
        at: datetime
        key = sk.Key("{id}", "{at}")

    with sk.testing.local(Visit) as db:
        db.put(Visit(id="1", at=datetime.now(UTC)))
        assert db.page(Visit.key(id="1")).items[0].at.year == 2050
from datetime import datetime
with sk.testing.local(Visit) as db:
    db.put(Visit(id="2", at=datetime(2050, 1, 1, tzinfo=UTC)))
    assert type(db.page(Visit.key(id="2")).items[0].at) is datetime
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=50)
