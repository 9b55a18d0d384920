"""Waiting for records instead of polling."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from sortkey.engine.database import Database
from sortkey.engine.streams import stream_reader
from sortkey.engine.streams.stream_reader import wait_for_records, wait_for_records_async
from sortkey.engine.streams.stream_writer import reshard
from tests.engine.orders import Orders, events

LONG = 60.0


@pytest.fixture
def orders(db: Database) -> Orders:
    return Orders(db, "KEYS_ONLY")


@pytest.fixture
def no_polling(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No polling: only a commit's signal can end a wait, and one that lasts until its timeout fails the test."""
    monkeypatch.setattr(stream_reader, "POLL_SECONDS", LONG)
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < LONG / 2


def later(action: object, *arguments: object) -> threading.Thread:
    assert callable(action)
    thread = threading.Thread(target=action, args=arguments)
    thread.start()
    return thread


def test_records_that_are_there_need_no_wait(orders: Orders) -> None:
    orders.put("a")
    assert wait_for_records(orders.db, orders.iterator(), timeout=0)


def test_time_runs_out(orders: Orders) -> None:
    assert not wait_for_records(orders.db, orders.iterator(), timeout=0.01)


@pytest.mark.usefixtures("no_polling")
def test_commit_wakes_a_waiting_thread(orders: Orders) -> None:
    iterator = orders.iterator("LATEST")
    writer = later(orders.put, "a")
    assert wait_for_records(orders.db, iterator, LONG)
    assert events(orders.read(iterator)["Records"]) == [("INSERT", "a")]
    writer.join()


# Otherwise a consumer at the end of a closed shard would never get to the children.
@pytest.mark.usefixtures("no_polling")
def test_end_of_a_shard_wakes_a_waiting_thread(orders: Orders) -> None:
    iterator = orders.iterator("LATEST")
    writer = later(reshard, orders.db, orders.name, 2)
    assert wait_for_records(orders.db, iterator, LONG)
    writer.join()
    assert "NextShardIterator" not in orders.read(iterator)


# Commits of another process are not signalled to this one.
def test_record_that_was_not_announced_is_found_by_polling(orders: Orders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders.db.signal, "wait", lambda *_: orders.put("a"))
    assert wait_for_records(orders.db, orders.iterator("LATEST"), LONG)


@pytest.mark.usefixtures("no_polling")
def test_commit_wakes_a_task_and_leaves_the_loop_free_meanwhile(orders: Orders) -> None:
    async def consume() -> list[tuple[str, str]]:
        iterator = orders.iterator("LATEST")
        arrived = asyncio.create_task(wait_for_records_async(orders.db, iterator, LONG))
        await asyncio.sleep(0)
        await asyncio.to_thread(orders.put, "a")
        assert await arrived
        return events(orders.read(iterator)["Records"])

    assert asyncio.run(consume()) == [("INSERT", "a")]


def test_time_runs_out_for_a_task(orders: Orders) -> None:
    assert not asyncio.run(wait_for_records_async(orders.db, orders.iterator(), timeout=0.01))


@pytest.mark.usefixtures("no_polling")
def test_cancelled_task_no_longer_listens(orders: Orders) -> None:
    async def give_up() -> None:
        arrived = asyncio.create_task(wait_for_records_async(orders.db, orders.iterator(), LONG))
        await asyncio.sleep(0)
        arrived.cancel()
        with pytest.raises(asyncio.CancelledError):
            await arrived

    asyncio.run(give_up())
    orders.put("a")
    assert len(orders.records()) == 1
