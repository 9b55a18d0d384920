"""`db.load`: items of any iterator, in the order of the source, from any position on."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, cast

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

import sortkey as sk
from sortkey.model.calls.steps import Pacing
from sortkey.model.maintenance import load
from sortkey.model.maintenance.load import COMMIT_ROWS
from tests.model.sessions.shop import SHOP, Customer, Order, numbers, order
from tests.wire.serving import ServerProcess

ADA = Order.key(customer="ada")
PARCELS = sk.Table("load-parcels")


class Crate(sk.Item, table=PARCELS, version=2):
    number: int
    content: bytes = b""
    created: Annotated[datetime | None, sk.created] = None

    key = sk.Key("CRATE#{number}")
    by_content = sk.Index("gsi1", "ALL", "{number:08}")


@pytest.fixture
def crates() -> Iterator[sk.Session]:
    with sk.connect("memory:", tables=[PARCELS]) as session:
        session.create_tables()
        yield session


def stored(db: sk.Session) -> list[int]:
    return sorted(crate.number for crate in db.scan(Crate))


def rows(db: sk.Session) -> list[str]:
    return sorted(map(repr, db.scan_rows(SHOP, consistent=True)))


# On every store: what it leaves is what the same puts leave.
def test_a_load_is_many_puts(db: sk.Session) -> None:
    items = [Customer(customer="ada", name="old"), *(order(number, city="Rome") for number in range(60))]
    items.append(Customer(customer="ada", name="new"))
    loaded = db.load(iter(items))
    assert (loaded.items, loaded.position) == (62, 62)
    assert (loaded.write_units >= 61) is db.capabilities.consumed_capacity
    assert loaded.seconds > 0
    assert numbers(list(db.iterate(Order.by_status(status="OPEN")))) == list(range(60))
    found = db.get(Customer.key(customer="ada"), consistent=True)
    assert found is not None
    assert found.name == "new"
    before = rows(db)
    for item in items:
        db.put(item)
    assert rows(db) == before


def test_a_bad_item_ends_it_after_all_items_before(db: sk.Session) -> None:
    items: list[Any] = [*(order(number) for number in range(40)), order(40, city="x" * 3000), order(41)]
    message = (
        r"item 41, .*40.* cannot be written: RejectedKey: Order.city: .*; the first 40 items are written, 40 of them"
    )
    with pytest.raises(sk.LoadError, match=message) as caught:
        db.load(items)
    assert (caught.value.position, caught.value.items) == (40, 40)
    assert isinstance(caught.value.__cause__, ClientError)
    assert set(range(40)) <= set(numbers(list(db.iterate(ADA, consistent=True))))
    loaded = db.load(items, after=41)
    assert (loaded.items, loaded.position) == (1, 42)


@pytest.mark.parametrize("bad", ["text", None, Crate.key(number=1), order(1).key])
def test_what_is_no_item_is_named(crates: sk.Session, bad: Any) -> None:
    with pytest.raises(sk.LoadError, match=r"item 3, .*, cannot be written: TypeError: expected an item"):
        crates.load([Crate(number=0), Crate(number=1), bad])
    assert stored(crates) == [0, 1]


def test_an_error_of_the_source(crates: sk.Session) -> None:
    def source() -> Iterator[Crate]:
        yield from (Crate(number=number) for number in range(1000))
        raise OSError("gone")

    with pytest.raises(sk.LoadError, match="the source raised an error after 1,000 items: OSError: gone") as caught:
        crates.load(source())
    assert caught.value.position == 1000
    assert stored(crates) == list(range(1000))


@pytest.mark.slow
def test_it_continues_at_a_position(crates: sk.Session) -> None:
    seen: list[sk.LoadResult] = []
    items = [Crate(number=number) for number in range(8 * COMMIT_ROWS)]

    def stop(progress: sk.LoadResult) -> None:
        seen.append(progress)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        crates.load(items, progress=stop)
    position = seen[-1].position
    assert 2 * COMMIT_ROWS <= position < len(items)
    assert set(range(position)) <= set(stored(crates))
    loaded = crates.load(iter(items), after=position, progress=seen.append)
    assert (loaded.items, loaded.position) == (len(items) - position, len(items))
    assert seen[-1].position == len(items)
    assert stored(crates) == list(range(len(items)))
    assert crates.load(items, after=len(items)).items == 0


def test_arguments_are_checked(crates: sk.Session) -> None:
    with pytest.raises(ValueError, match="after=3, but the source has only 2 items"):
        crates.load([Crate(number=0), Crate(number=1)], after=3)
    for after in (-1, 1.5, "1", True):
        with pytest.raises(ValueError, match="after must be a number of items"):
            crates.load([], after=cast(Any, after))
    with pytest.raises(ValueError, match="rate must be more than 0"):
        crates.load([], rate=0)
    with pytest.raises(TypeError, match="progress must be a function"):
        crates.load([], progress=cast(Any, "yes"))
    with pytest.raises(TypeError, match="expected a list of items, not Crate"):
        crates.load(cast(Any, Crate(number=1)))
    assert crates.load([])[:3] == (0, 0, 0.0)


def test_a_missing_table(crates: sk.Session) -> None:
    crates.drop_tables(PARCELS, dry_run=False)
    with pytest.raises(sk.LoadError, match=r"item 1, Crate.*Table: load-parcels not found"):
        crates.load([Crate(number=1)])


def test_versions_binary_and_stamps_are_those_of_a_put(crates: sk.Session) -> None:
    crate = Crate(number=1, content=b"\x00\xff")
    crates.load([crate])
    assert crate.created is not None
    assert crates.get(Crate.key(number=1)) == crate
    (row,) = crates.scan_rows(PARCELS)
    crates.put(crate)
    assert list(crates.scan_rows(PARCELS)) == [row]


def test_it_is_metered(crates: sk.Session) -> None:
    crates.load(Crate(number=number) for number in range(1000))
    reading = crates.meter.reading("load Crate")
    assert (reading.calls, reading.units) == (2, 2000)


# A source of any length: no item stays after it was written.
@pytest.mark.slow
def test_memory_is_bounded(crates: sk.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "MOST_COMMIT_ROWS", COMMIT_ROWS)
    most = 0

    def source() -> Iterator[Crate]:
        nonlocal most
        for number in range(4 * COMMIT_ROWS):
            if number % COMMIT_ROWS == COMMIT_ROWS - 1:
                most = max(most, sum(type(each) is Crate for each in gc.get_objects()))
            yield Crate(number=number)

    crates.load(source())
    assert most <= 2 * COMMIT_ROWS + 1


@pytest.mark.slow
def test_a_rate(crates: sk.Session) -> None:
    slept: list[float] = []
    moment = 0.0

    def sleep(seconds: float) -> None:
        nonlocal moment
        moment += seconds
        slept.append(seconds)

    pacing = Pacing(monotonic=lambda: moment)
    with sk.connect("memory:", tables=[PARCELS], pacing=pacing) as db:
        db.create_tables()
        db._runner.sleep = sleep
        loaded = db.load((Crate(number=number) for number in range(2 * COMMIT_ROWS)), rate=100)
    assert sum(slept) >= loaded.write_units / 100 / 2
    assert stored(crates) == []


# A slow disk takes as long for few rows as for many.
@pytest.mark.slow
def test_a_slow_disk_gets_larger_commits(tmp_path: Path) -> None:
    with sk.connect(tmp_path / "data", tables=[PARCELS]) as db:
        db.create_tables()
        database = db.client.database
        assert database is not None
        # Much longer than the rows take, also on a busy machine.
        database.store.intercept_commits(lambda: time.sleep(0.3))
        before = database.store.queue.commits
        db.load(Crate(number=number) for number in range(15 * COMMIT_ROWS))
        assert database.store.queue.commits - before <= 8


# A caller that writes one item would have to wait for thousands.
@pytest.mark.slow
def test_commits_stay_small_while_others_write(tmp_path: Path) -> None:
    async def main() -> None:
        async with sk.async_connect(tmp_path / "data", tables=[PARCELS]) as db:
            await db.create_tables()
            database = db.client.database
            assert database is not None
            database.store.intercept_commits(lambda: time.sleep(0.05))
            load = asyncio.create_task(db.load(Crate(number=number) for number in range(15 * COMMIT_ROWS)))
            turn = 0
            while not load.done():
                await db.put(Crate(number=1_000_000 + turn))
                turn += 1
            assert db.meter.reading("load Crate").calls >= 10

    asyncio.run(main())


@dataclass
class Sleeps:
    """A clock that moves by sleeping."""

    moment: float = 0.0

    def now(self) -> float:
        return self.moment

    def sleep(self, seconds: float) -> None:
        self.moment += seconds


# Each request may leave items unprocessed, or be throttled as a whole.
def test_throttling_slows_it_and_loses_nothing() -> None:
    sleeps = Sleeps()
    faults = sk.testing.Faults(seed=3, throttle=0.2, unprocessed=0.1)
    with sk.connect("memory:", pacing=Pacing(monotonic=sleeps.now), faults=faults, timeout=None) as db:
        db._runner.sleep = sleeps.sleep
        db.create_tables(PARCELS)
        loaded = db.load(Crate(number=number % 900) for number in range(1000))
        assert (loaded.items, loaded.position) == (1000, 1000)
        assert sleeps.moment > 0
        assert len({row["pk"]["S"] for row in db.scan_rows(PARCELS, consistent=True)}) == 900


async def _numbers(count: int, error: Exception | None = None) -> AsyncIterator[Crate]:
    for number in range(count):
        if number % 100 == 0:
            await asyncio.sleep(0)
        yield Crate(number=number)
    if error is not None:
        raise error


def test_async_iterators() -> None:
    async def main() -> None:
        async with sk.async_connect("memory:", tables=[PARCELS]) as db:
            await db.create_tables()
            loaded = await db.load(_numbers(1000), after=100)
            assert (loaded.items, loaded.position) == (900, 1000)
            with pytest.raises(sk.LoadError, match="after 70 items: OSError: gone") as caught:
                await db.load(_numbers(70, OSError("gone")))
            assert caught.value.position == 70
            assert (await db.load(_numbers(0))).items == 0
            assert len([row async for row in db.scan_rows(PARCELS)]) == 970

    asyncio.run(main())


# While a load runs, the loop answers others, and their writes do not wait for its end.
@pytest.mark.slow
def test_others_go_on_meanwhile() -> None:
    async def main() -> None:
        async with sk.async_connect("memory:", tables=[PARCELS]) as db:
            await db.create_tables()
            load = asyncio.create_task(db.load(Crate(number=number) for number in range(20 * COMMIT_ROWS)))
            turns = 0
            while not load.done():
                await db.put(Crate(number=1_000_000 + turns))
                turns += 1
            assert turns >= 10
            assert (await load).items == 20 * COMMIT_ROWS

    asyncio.run(main())


def crates_until(server: ServerProcess, killed_at: int) -> Iterator[Crate]:
    """The store is lost while they are taken."""
    for number in range(100_000):
        if number == killed_at:
            server.kill()
        yield Crate(number=number)


# A load goes on where it stopped, so the error must tell where that is, whatever it was.
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_store_that_is_lost(kind: str) -> None:
    server = ServerProcess("--memory")

    async def load_async() -> None:
        async with sk.async_connect(server.url, tables=[PARCELS], timeout=None) as db:
            await db.create_tables()
            await db.load(crates_until(server, 3_000))

    def load() -> None:
        with sk.connect(server.url, tables=[PARCELS], timeout=None) as db:
            db.create_tables()
            db.load(crates_until(server, 3_000))

    with pytest.raises(sk.LoadError, match="the store did not write the next items") as error:
        asyncio.run(load_async()) if kind == "async" else load()
    assert 0 < error.value.position <= 3_000


# A program that reads many items at once has to catch one error, not a group of them.
@pytest.mark.slow
def test_many_requests_at_once_raise_the_error_itself() -> None:
    server = ServerProcess("--memory")

    async def look() -> None:
        async with sk.async_connect(server.url, tables=[PARCELS]) as db:
            await db.create_tables()
            server.kill()
            with pytest.raises(EndpointConnectionError):
                await db.lookup(Crate.key, [{"number": number} for number in range(1000)])

    asyncio.run(look())
