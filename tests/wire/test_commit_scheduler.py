"""Which thread commits: the loop's while it mostly writes, otherwise the write queue's."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from sortkey.engine.database import Database
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Answer
from sortkey.http.sending import Outbox
from sortkey.wire import commit_scheduler
from sortkey.wire.commit_scheduler import CommitScheduler, PendingWrite
from sortkey.wire.metrics import EndpointMetrics

NOTHING: Any = None
"""The scheduler looks at neither the route nor the request."""
KEY = b"\0\0\0\0test"


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    # However busy the machine is, its memory counts as a quick disk.
    monkeypatch.setattr(commit_scheduler, "QUICK_SECONDS", 60.0)
    database = Database.open()
    yield database
    database.close()


class Write(PendingWrite):
    """Notes the thread on which it ends."""

    __slots__ = ("threads",)
    threads: list[str]

    def answer(self) -> None:
        self.threads.append(threading.current_thread().name)
        super().answer()


class Writes:
    """Writes brought to a database, and the threads on which they were done."""

    def __init__(self, database: Database, commits_on_loop: bool = True) -> None:
        self.threads: list[str] = []
        self.finished: asyncio.Queue[PendingWrite] = asyncio.Queue()
        self.outbox = Outbox(EndpointMetrics(), asyncio.get_running_loop().call_soon)
        self.scheduler = CommitScheduler(database, self.outbox, commits_on_loop)

    def begin(self, finish: Callable[[PendingWrite], None] | None = None, size: int = 0) -> None:
        def work(batch: WriteBatch) -> Answer:
            batch.put(KEY, b"written")
            return {}

        write = Write(self.scheduler, finish or self.finished.put_nowait, work, NOTHING, NOTHING, 0.0, size, True)
        write.threads = self.threads
        self.scheduler.submit(write)

    async def finish(self, count: int) -> None:
        for _ in range(count):
            await asyncio.wait_for(self.finished.get(), 30)


def run(story: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await story()

    asyncio.run(main())


def test_the_loop_commits_what_has_arrived_in_one_go(database: Database) -> None:
    async def story() -> None:
        writes = Writes(database)
        before = database.store.queue.commits
        for _ in range(5):
            writes.begin()
        await writes.finish(5)
        assert database.store.queue.commits == before + 1
        assert set(writes.threads) == {threading.current_thread().name}

    run(story)


# Clients that were answered together write again at nearly the same time; they should share one sync.
def test_a_commit_waits_for_clients_that_shared_the_last(database: Database) -> None:
    async def story() -> None:
        writes = Writes(database)
        for _ in range(5):
            writes.begin()
        await writes.finish(5)
        before = database.store.queue.commits
        database.store.queue.commit_seconds = 10.0
        for _ in range(5):
            writes.begin()
            await asyncio.sleep(0)
        await writes.finish(5)
        assert database.store.queue.commits == before + 1

    run(story)


def test_but_not_for_ever(database: Database) -> None:
    async def story() -> None:
        writes = Writes(database)
        for _ in range(5):
            writes.begin()
        await writes.finish(5)
        writes.begin()
        await writes.finish(1)

    run(story)


# Otherwise the first of many occasional writers would wait for the last.
def test_it_waits_once_not_for_each(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.count()
    monkeypatch.setattr(commit_scheduler, "monotonic", lambda: float(next(seconds)))

    async def story() -> None:
        writes = Writes(database)
        for _ in range(20):
            writes.begin()
        await writes.finish(20)
        before = database.store.queue.commits
        database.store.queue.commit_seconds = 4 / commit_scheduler.PATIENCE
        for _ in range(10):
            writes.begin()
            for _ in range(3):
                await asyncio.sleep(0)
        await writes.finish(10)
        assert database.store.queue.commits > before + 1

    run(story)


# Reads would have to wait for the disk.
def test_a_loop_that_mostly_reads_leaves_the_commit_to_the_thread(database: Database) -> None:
    async def story() -> None:
        writes = Writes(database)
        writes.scheduler.reads += 2
        writes.begin()
        await writes.finish(1)
        assert writes.threads == ["sortkey-writer"]
        # Only what happens from now on counts for the next.
        assert writes.scheduler.reads == 0

    run(story)


def test_a_slow_disk_is_left_to_the_thread(database: Database) -> None:
    async def story() -> None:
        writes = Writes(database)
        database.store.queue.commit_seconds = 10 * commit_scheduler.QUICK_SECONDS
        writes.begin()
        await writes.finish(1)
        assert writes.threads == ["sortkey-writer"]

    run(story)


# It has other work, and other processes may be writing.
def test_a_shared_loop_never_commits(database: Database) -> None:
    async def story() -> None:
        writes = Writes(database, commits_on_loop=False)
        writes.begin()
        await writes.finish(1)
        assert writes.threads == ["sortkey-writer"]

    run(story)


def test_the_loop_does_not_wait_for_another_commit(database: Database) -> None:
    async def story() -> None:
        writes = Writes(database)
        leading, leave = threading.Event(), threading.Event()

        def slow(_: WriteBatch) -> None:
            leading.set()
            leave.wait(30)

        other = threading.Thread(target=database.store.write, args=(slow,))
        other.start()
        await asyncio.to_thread(leading.wait, 30)
        writes.begin()
        # This would not return if the loop waited for the other thread.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not writes.threads
        leave.set()
        await writes.finish(1)
        other.join()

    run(story)


# The rest of the commit would wait for ever.
@pytest.mark.parametrize("commits_on_loop", [True, False])
def test_a_write_that_cannot_be_answered_costs_no_other(
    database: Database, commits_on_loop: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_write: PendingWrite) -> None:
        raise ZeroDivisionError

    async def story() -> None:
        writes = Writes(database, commits_on_loop)
        for finish in (None, broken, None, broken, None):
            writes.begin(finish)
        await writes.finish(3)

    run(story)
    assert "could not be answered" in caplog.text


# The loop answers nothing while it runs the work of a request of megabytes.
def test_large_writes_are_left_to_the_thread(database: Database) -> None:
    async def story() -> None:
        writes = Writes(database)
        writes.begin(size=10_000_000)
        await writes.finish(1)
        assert writes.threads == ["sortkey-writer"]

    run(story)


LARGE = commit_scheduler.LARGE_BYTES + 1


def recorder(names: list[str], name: str, writes: Writes) -> Callable[[PendingWrite], None]:
    def finish(write: PendingWrite) -> None:
        names.append(name)
        writes.finished.put_nowait(write)

    return finish


# Four batches of 10 MB that wait would be four long commits for a write of one item.
def test_a_small_write_waits_for_one_large_one_at_most(database: Database) -> None:
    async def story() -> None:
        writes = Writes(database)
        order: list[str] = []
        for name, size in (("large 1", LARGE), ("large 2", LARGE), ("large 3", LARGE), ("small", 1)):
            writes.begin(recorder(order, name, writes), size)
        await writes.finish(4)
        assert order == ["large 1", "small", "large 2", "large 3"]

    run(story)


def test_a_large_write_that_cannot_be_answered_holds_up_no_other(database: Database) -> None:
    def broken(_write: PendingWrite) -> None:
        raise ZeroDivisionError

    async def story() -> None:
        writes = Writes(database)
        for finish in (broken, None, None):
            writes.begin(finish, LARGE)
        await writes.finish(2)

    run(story)


# A client must not wait for ever, whatever happens to the store.
def test_large_writes_that_wait_when_the_store_closes_are_answered() -> None:
    async def story() -> None:
        database = Database.open()
        writes = Writes(database)
        for _ in range(3):
            writes.begin(None, LARGE)
        # It commits what is in the queue, the first of them.
        database.close()
        await writes.finish(3)
        assert len(writes.threads) == 3

    run(story)
