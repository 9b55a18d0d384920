"""The lock that excludes other processes, and what is known about its holder."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sortkey.storage.write_lock import WriteLock
from tests.storage.byte_store import Caller, increment, open_store, put, read, wait_until
from tests.storage.conftest import Child, StartChild

pytestmark = pytest.mark.slow


@pytest.fixture
def holder(tmp_path: Path, child: StartChild) -> Child:
    """A process that holds the lock of `tmp_path`."""
    process = child("hold_lock", tmp_path)
    assert process.line() == "holding"
    return process


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[WriteLock]:
    with closing(WriteLock(tmp_path)) as lock:
        yield lock


def test_another_process_has_it(holder: Child, lock: WriteLock) -> None:
    assert not lock.try_acquire()
    assert lock.holder() == holder.pid
    assert holder.stdin is not None
    holder.stdin.close()
    assert holder.line() == "released"
    assert lock.holder() is None
    assert lock.try_acquire()


@pytest.mark.parametrize("stopped", [False, True])
def test_a_killed_process_has_it_no_more(holder: Child, lock: WriteLock, stopped: bool) -> None:
    if stopped:
        os.kill(holder.pid, signal.SIGSTOP)
        assert not lock.try_acquire()
    waiting = Caller(lock.acquire)
    holder.murder()
    waiting.wait()
    assert lock.holder() is None


# A child that outlives its parent must not keep what the parent had.
def test_a_forked_child_does_not_have_it(lock: WriteLock) -> None:
    assert lock.try_acquire()
    process = os.fork()
    if process == 0:
        os._exit(0 if lock.holder() == os.getppid() and not lock.try_acquire() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0


# An event loop leads only where it need not wait.
def test_a_leader_that_may_not_wait_leaves_the_work(tmp_path: Path, child: StartChild) -> None:
    store = open_store(tmp_path)
    process = child("hold_lock", tmp_path)
    assert process.line() == "holding"
    done: list[object] = []
    store.queue.submit(put(b"k", b"v"), lambda result, error: done.append((result, error)))
    assert not store.queue.lead()
    assert len(store.queue) == 1
    assert read(store, b"k") is None
    process.murder()
    wait_until(lambda: bool(done))
    assert done == [(None, None)]
    assert read(store, b"k") == b"v"
    store.close()


# What arrives while the leader waits for another process shares the leader's commit.
def test_work_that_arrives_while_the_leader_waits_shares_its_commit(tmp_path: Path, child: StartChild) -> None:
    store = open_store(tmp_path)
    process = child("hold_lock", tmp_path)
    assert process.line() == "holding"
    callers = [Caller(lambda: store.write(increment(b"n"))) for _ in range(5)]
    wait_until(lambda: len(store.queue) == 5)
    before = store.queue.commits
    process.murder()
    assert sorted(caller.wait() for caller in callers) == [1, 2, 3, 4, 5]
    assert store.queue.commits == before + 1
    store.close()
