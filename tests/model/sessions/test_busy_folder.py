"""Writes of sessions while another process holds the folder's write lock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

import sortkey as sk
from sortkey.storage import write_queue
from tests.storage.byte_store import wait_until
from tests.storage.lock_holder import LockHolder

TIMEOUT = 0.3
"""Of a write, in seconds: much more than it takes to find the lock held, also on a busy machine."""


class Parcel(sk.Item, table="busy-parcels"):
    number: int
    place: str = "depot"
    key = sk.Key("PARCEL#{number}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With parcel 1."""
    with sk.connect(tmp_path, tables=[Parcel]) as db:
        db.create_tables()
        db.put(Parcel(number=1))
    return tmp_path


@pytest.fixture
def db(folder: Path) -> Iterator[sk.Session]:
    with sk.connect(folder, tables=[Parcel], timeout=TIMEOUT) as db:
        yield db


def a_transaction() -> sk.Transaction:
    transaction = sk.Transaction()
    transaction.put(Parcel(number=2))
    return transaction


WRITES: dict[str, Callable[[Any], Any]] = {
    "put": lambda db: db.put(Parcel(number=2)),
    "conditional put": lambda db: db.put(Parcel(number=2), if_absent=True),
    "update": lambda db: db.update(Parcel.key(number=1), {"place": "door"}),
    "upsert": lambda db: db.upsert(Parcel.key(number=2), {"place": "door"}),
    "delete": lambda db: db.delete(Parcel.key(number=1)),
    "transact": lambda db: db.transact(a_transaction()),
    "batch": lambda db: db.batch(put=[Parcel(number=number) for number in range(2, 40)]),
}
EXAMPLES = ("conditional put", "batch")
"""Of all writes: each test waits as long as TIMEOUT."""
write = pytest.mark.parametrize(
    "write",
    [pytest.param(call, id=name, marks=[] if name in EXAMPLES else pytest.mark.slow) for name, call in WRITES.items()],
)


def numbers(db: sk.Session) -> list[tuple[int, str]]:
    return sorted((parcel.number, parcel.place) for parcel in db.within(None).scan(Parcel))


@write
def test_a_write_ends_in_time_and_never_happens(
    db: sk.Session, folder: Path, write: Callable[[sk.Session], object]
) -> None:
    with LockHolder(folder) as holder:
        with pytest.raises(sk.DeadlineExceeded, match=rf"^not done within {TIMEOUT} s: process {holder.pid} holds"):
            write(db)
        assert db.within(None).get(Parcel.key(number=1)) == Parcel(number=1)
    db.within(None).put(Parcel(number=9))
    assert numbers(db) == [(1, "depot"), (9, "depot")]


@write
def test_an_async_write_ends_in_time_and_never_happens(
    db: sk.Session, folder: Path, write: Callable[[sk.AsyncSession], Coroutine[Any, Any, object]]
) -> None:
    async def session(holder: LockHolder) -> None:
        async with sk.async_connect(folder, tables=[Parcel], timeout=TIMEOUT) as db:
            writing = asyncio.create_task(write(db))
            # The loop goes on, and reads are answered.
            while not writing.done():
                assert await db.within(None).get(Parcel.key(number=1)) == Parcel(number=1)
                await asyncio.sleep(0)
            with pytest.raises(sk.DeadlineExceeded, match=rf"^not done within {TIMEOUT} s: process {holder.pid} holds"):
                await writing

    with LockHolder(folder) as holder:
        asyncio.run(session(holder))
    db.within(None).put(Parcel(number=9))
    assert numbers(db) == [(1, "depot"), (9, "depot")]


@pytest.mark.slow
def test_a_load_ends_in_time_and_says_where_to_continue(db: sk.Session, folder: Path) -> None:
    parcels = [Parcel(number=number) for number in range(1, 200)]

    async def load() -> None:
        async with sk.async_connect(folder, tables=[Parcel], timeout=TIMEOUT) as db:
            await db.load(parcels)

    with LockHolder(folder) as holder:
        for attempt in (lambda: db.load(parcels), lambda: asyncio.run(load())):
            with pytest.raises(sk.LoadError, match=rf"process {holder.pid} holds") as raised:
                attempt()
            assert raised.value.position == 0
    assert numbers(db) == [(1, "depot")]
    assert db.within(None).load(parcels).items == len(parcels)


def test_without_a_timeout_it_waits(folder: Path) -> None:
    async def session() -> None:
        async with sk.async_connect(folder, tables=[Parcel], timeout=None) as db:
            with LockHolder(folder):
                writing = asyncio.create_task(db.put(Parcel(number=2)))
                await asyncio.sleep(0)
                wait_until(lambda: queue_of(db).blocked_since is not None)
                assert not writing.done()
            await writing
            assert await db.get(Parcel.key(number=2)) == Parcel(number=2)

    asyncio.run(session())


def queue_of(db: sk.AsyncSession) -> write_queue.WriteQueue[Any]:
    database = db.client.database
    assert database is not None
    return database.store.queue


# For example by a timeout of the program's own.
def test_a_cancelled_write_that_waits_never_happens(folder: Path) -> None:
    async def session() -> None:
        async with sk.async_connect(folder, tables=[Parcel]) as db:
            with LockHolder(folder):
                cancelled: list[asyncio.Task[Any]] = [asyncio.create_task(db.put(Parcel(number=2)))]
                cancelled.append(asyncio.create_task(db.load([Parcel(number=3)])))
                while len(queue_of(db)) < len(cancelled):
                    await asyncio.sleep(0)
                wait_until(lambda: queue_of(db).blocked_since is not None)
                for task in cancelled:
                    task.cancel()
                await asyncio.wait(cancelled)
                assert all(task.cancelled() for task in cancelled)
                assert len(queue_of(db)) == 0
            await db.put(Parcel(number=4))
            found = [await db.get(Parcel.key(number=number)) is not None for number in (2, 3, 4)]
            assert found == [False, False, True]

    asyncio.run(session())


# A client has no timeout of its own; it raises what an endpoint would answer.
def test_a_client_gets_an_error_like_that_of_an_endpoint(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_queue, "WRITE_WAIT_SECONDS", 0.02)
    call: dict[str, Any] = {"TableName": "busy-parcels", "Item": {"pk": {"S": "PARCEL#2"}}}

    async def put() -> None:
        async with sk.async_client(folder) as client:
            await client.put_item(**call)

    with sk.client(folder) as client, LockHolder(folder) as holder:
        for attempt in (lambda: client.put_item(**call), lambda: asyncio.run(put())):
            with pytest.raises(ClientError, match=f"Nothing was written: process {holder.pid} holds") as raised:
                attempt()
            assert raised.value.response["Error"]["Code"] == "ServiceUnavailableException"
            assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503
