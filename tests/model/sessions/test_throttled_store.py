"""Bulk work at a store that throttles: it slows down and comes back, loses nothing, and does nothing twice."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import sortkey as sk
from sortkey.client.errors import EXCEPTIONS
from sortkey.client.interface import AsyncClient
from sortkey.client.stores import IN_FLIGHT, Capabilities
from sortkey.model.calls.steps import Pacing
from tests.wire.serving import ServerProcess

CRATES = sk.Table("throttled-crates", stream="NEW_AND_OLD_IMAGES")
QUICK = Pacing(first_pause=0.001)


class Crate(sk.Item, table=CRATES):
    number: int
    depot: int
    at: datetime
    seen: int = 0

    key = sk.Key("CRATE#{number}")


class Depot(sk.Item, table="throttled-depots"):
    depot: int
    crates: int = 0

    key = sk.Key("DEPOT#{depot}")


PER_DEPOT = sk.patterns.aggregate(Crate, into=Depot, by=("depot",), values={"crates": sk.patterns.count()})
ARRIVALS = sk.patterns.schedule("throttled-arrivals", Crate, at="at")


def crates(count: int) -> list[Crate]:
    at = datetime.now(UTC) - timedelta(minutes=1)
    return [Crate(number=number, depot=number % 40, at=at) for number in range(count)]


@pytest.fixture(scope="module")
def throttling() -> Iterator[str]:
    """An endpoint that throttles three requests of ten, and leaves parts of batches unprocessed."""
    server = ServerProcess("--memory", "--faults", "throttle=0.3,unprocessed=0.2,seed=7")
    yield server.url
    server.kill()


@pytest.mark.slow
def test_nothing_is_lost_or_done_twice(throttling: str) -> None:
    called: list[int] = []

    async def on_due(due: sk.patterns.Due[Crate]) -> None:
        called.append(due.group["number"])

    async def main() -> None:
        async with sk.async_connect(throttling, tables=[Crate, Depot], pacing=QUICK, timeout=None) as db:
            await db.create_tables()
            assert (await db.load(crates(100))).position == 100
            assert len(await db.put_many(crates(110), if_absent=True)) == 100
            counting = sk.feeds.ChangeFeed("throttled", Crate, PER_DEPOT.aggregator(db).on_changes)
            async with sk.feeds.Follower(db, [counting, sk.feeds.Timers(ARRIVALS, on_due)]) as follower:
                await follower.caught_up()
            assert sum([each.crates async for each in db.scan(Depot, consistent=True)]) == 110
            # A timer may be called again, if its worker could not renew its lease in time.
            assert set(called) == set(range(110))
            deleted = await db.delete_all(Crate, scan=True)
            assert deleted.items == 110
            assert await db.count(Crate.key(number=1), consistent=True) == 0

    asyncio.run(main())


class LimitedStore(AsyncClient):
    """Throttles what is more than it takes at the same time."""

    def __init__(self, client: AsyncClient) -> None:
        self.meta = client.meta
        self._client = client
        self.takes = IN_FLIGHT
        self._in_flight = 0
        self.seen: list[int] = []
        """How many requests were in flight with each write."""

    async def _call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        self._in_flight += 1
        self.seen.append(self._in_flight)
        try:
            # All that the session sends in this turn of the loop come first.
            await asyncio.sleep(0)
            if self._in_flight > self.takes:
                code = "ProvisionedThroughputExceededException"
                raise EXCEPTIONS.from_code(code)({"Error": {"Code": code, "Message": "less"}}, operation)
            return await self._client._call(operation, members)
        finally:
            self._in_flight -= 1

    async def _call_unparsed(self, operation: str, members: dict[str, Any], binary: bool = True) -> dict[str, Any]:
        return await self._client._call_unparsed(operation, members, binary)

    async def capabilities(self) -> Capabilities:
        return await self._client.capabilities()

    async def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:  # noqa: N803
        return await self._client.wait_for_records(ShardIterator=ShardIterator, Timeout=Timeout)

    async def close(self) -> None:
        await self._client.close()


def most(seen: Sequence[int]) -> int:
    """Of the last hundred writes."""
    return max(seen[-100:])


@pytest.mark.slow
def test_requests_in_flight_follow_what_the_store_takes(our_endpoint: str) -> None:
    async def main() -> None:
        async with sk.async_connect(f"{our_endpoint}?prefix=limited-", tables=[Crate], pacing=QUICK) as db:
            await db.create_tables()
            limited = LimitedStore(db.client)
            db.client = limited
            await db.put_many(crates(500), if_absent=True)
            assert most(limited.seen) == IN_FLIGHT
            limited.takes = 4
            await db.put_many(sk.replace(each, seen=1) for each in crates(500))
            await db.put_many((sk.replace(each, seen=2) for each in crates(500)), where={"seen": 1})
            assert most(limited.seen) <= 8
            limited.takes = IN_FLIGHT
            for turn in range(3, 6):
                await db.put_many((sk.replace(each, seen=turn) for each in crates(500)), where={"seen": turn - 1})
            assert most(limited.seen) == IN_FLIGHT
            assert {each.seen async for each in db.scan(Crate, consistent=True)} == {5}

    asyncio.run(main())


# The limit is of the session, however many calls it makes at once.
@pytest.mark.slow
def test_a_limit_of_the_url(our_endpoint: str) -> None:
    async def main() -> None:
        async with sk.async_connect(f"{our_endpoint}?prefix=few-&in_flight=3", tables=[Crate]) as db:
            await db.create_tables()
            limited = LimitedStore(db.client)
            db.client = limited
            parts = [crates(400)[at : at + 100] for at in range(0, 400, 100)]
            await asyncio.gather(*(db.put_many(part, if_absent=True) for part in parts))
            assert max(limited.seen) == 3

    asyncio.run(main())
