"""The plainest store there is: work puts and gets bytes, and nothing else happens around it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any, TypeVar

from sortkey.storage import Store, Transaction

Result = TypeVar("Result")
LIMIT_SECONDS = 30.0


class PlainBatch:
    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction
        self.writes = 0

    def get(self, key: bytes) -> bytes | None:
        return self.transaction.get(key)

    def put(self, key: bytes, value: bytes) -> None:
        self.writes += 1
        self.transaction.put(key, value)

    def finish(self) -> None:
        pass

    def committed(self) -> None:
        pass


PlainStore = Store[PlainBatch]


def open_store(path: Path | None = None) -> PlainStore:
    return Store(path, PlainBatch)


def increment(key: bytes) -> Callable[[PlainBatch], int]:
    """Work whose result tells how often it was done."""

    def work(batch: PlainBatch) -> int:
        count = int(batch.get(key) or b"0") + 1
        batch.put(key, b"%d" % count)
        return count

    return work


def put(key: bytes, value: bytes = b"") -> Callable[[PlainBatch], None]:
    return lambda batch: batch.put(key, value)


def read(store: PlainStore, key: bytes) -> bytes | None:
    with store.read() as snapshot:
        return snapshot.get(key)


class Caller(Thread):
    """A thread that makes one call and keeps what became of it."""

    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._call = call
        self.result: Any = None
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self.result = self._call()
        except BaseException as error:
            self.error = error
            if not isinstance(error, Exception | KeyboardInterrupt):
                raise

    def outcome(self) -> Any:
        self.join(LIMIT_SECONDS)
        assert not self.is_alive(), "the call never returned"
        if self.error is not None:
            raise self.error
        return self.result


class SlowLeader:
    """Holds the lead, in the middle of its work, until told to go on: whoever comes meanwhile lines up behind it."""

    def __init__(self, store: PlainStore) -> None:
        self._store = store
        self._leading = Event()
        self._released = Event()
        self._caller = Caller(lambda: store.write(self._work))
        assert self._leading.wait(LIMIT_SECONDS)

    def _work(self, batch: PlainBatch) -> None:
        batch.put(b"slow leader", b"was here")
        self._leading.set()
        assert self._released.wait(LIMIT_SECONDS)

    def line_up(self, *works: Callable[[PlainBatch], Any]) -> list[Caller]:
        """One thread for each work, in this order; returns when all of them wait behind those that wait already."""
        before = len(self._store.queue)
        callers: list[Caller] = []
        for work in works:
            callers.append(Caller(partial(self._store.write, work)))
            wait_until(lambda: len(self._store.queue) == before + len(callers))
        return callers

    def release(self) -> None:
        self._released.set()
        self._caller.outcome()


def wait_until(condition: Callable[[], bool]) -> None:
    """For what announces itself by no event, such as the length of the queue."""
    tick = Event()
    for _ in range(int(LIMIT_SECONDS * 1000)):
        if condition():
            return
        tick.wait(0.001)
    raise AssertionError("waited in vain")
