"""Work that waits for another process, until its caller's deadline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import copy_context
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from sortkey.clock import DEADLINE, monotonic
from sortkey.storage import FolderBusy, StorageError, write_lock, write_queue
from tests.storage.byte_store import LIMIT_SECONDS, ByteBatch, ByteStore, Caller, open_store, put, read, wait_until
from tests.storage.lock_holder import LockHolder


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ByteStore]:
    store = open_store(tmp_path)
    yield store
    store.close()


def within(seconds: float, call: Callable[[], Any]) -> Any:
    """What a call returns that has so much time."""

    def limited() -> Any:
        DEADLINE.set(monotonic() + seconds)
        return call()

    return copy_context().run(limited)


def test_work_that_waited_too_long_is_never_done(store: ByteStore, tmp_path: Path) -> None:
    with LockHolder(tmp_path) as holder:
        with pytest.raises(FolderBusy, match=f"^process {holder.pid} holds the data folder's write lock"):
            within(0.01, lambda: store.write(put(b"late", b"v")))
        assert len(store.queue) == 0
        waiting = Caller(lambda: store.write(put(b"patient", b"v")))
        wait_until(lambda: len(store.queue) == 1)
    waiting.wait()
    assert read(store, b"patient") == b"v"
    assert read(store, b"late") is None
    assert store.queue.blocked_since is None


# The caller must not be told that nothing was written.
@pytest.mark.slow
def test_work_that_is_being_committed_is_answered_after_its_deadline(store: ByteStore, tmp_path: Path) -> None:
    running, ended = Event(), Event()

    def slow(batch: ByteBatch) -> str:
        batch.put(b"slow", b"v")
        running.set()
        assert ended.wait(LIMIT_SECONDS)
        return "done"

    until = monotonic() + 0.3
    with LockHolder(tmp_path):
        callers = [Caller(partial(within, 0.3, partial(store.write, work))) for work in (slow, put(b"behind", b"v"))]
        wait_until(lambda: len(store.queue) == 2)
    assert running.wait(LIMIT_SECONDS)
    wait_until(lambda: monotonic() > until)
    ended.set()
    assert [caller.wait() for caller in callers] == ["done", None]
    assert (read(store, b"slow"), read(store, b"behind")) == (b"v", b"v")


# Nobody else is in the way, so nothing is waited for that might not end.
def test_alone_a_deadline_that_has_passed_is_no_error(store: ByteStore) -> None:
    within(-1, lambda: store.write(put(b"k", b"v")))
    assert read(store, b"k") == b"v"


def test_a_caller_without_a_deadline_has_a_default(
    store: ByteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_queue, "WRITE_WAIT_SECONDS", 0.01)
    with LockHolder(tmp_path), pytest.raises(FolderBusy):
        store.write(put(b"k", b"v"))


def test_only_work_that_waits_for_another_process_can_be_withdrawn(store: ByteStore, tmp_path: Path) -> None:
    done: list[object] = []
    with LockHolder(tmp_path):
        kept = store.submit(put(b"kept", b"v"), lambda *answer: done.append(answer))
        withdrawn = store.submit(put(b"withdrawn", b"v"), lambda *_: done.append("the withdrawn one"))
        wait_until(lambda: store.queue.blocked_since is not None)
        assert store.queue.withdraw_one(withdrawn)
        assert not store.queue.withdraw_one(withdrawn)
    wait_until(lambda: bool(done))
    assert not store.queue.withdraw_one(kept)
    assert done == [(None, None)]
    assert (read(store, b"kept"), read(store, b"withdrawn")) == (b"v", None)


# A program that ends must not wait for another one that may never go on.
def test_closing_gives_up(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    answered: list[object] = []
    with LockHolder(tmp_path):
        store.submit(put(b"k", b"v"), lambda _, error: answered.append(type(error)))
        within(0.01, store.close)
        assert answered == [FolderBusy]
    reopened = open_store(tmp_path)
    assert read(reopened, b"k") is None
    reopened.close()


# It would wait with the event loop of a program that opens a folder there.
def test_opening_a_new_folder_gives_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_lock, "OPENING_SECONDS", 0.01)
    with LockHolder(tmp_path) as holder, pytest.raises(StorageError, match=f": process {holder.pid} holds its write"):
        open_store(tmp_path)
