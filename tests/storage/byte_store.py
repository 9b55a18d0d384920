"""A store of bytes without an engine: work puts and gets bytes, and its batch does nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any, TypeVar

from sortkey.storage import Store, Transaction

Result = TypeVar("Result")
LIMIT_SECONDS = 30.0


class ByteBatch:
    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction
        self.writes = 0
        self.bytes_handled = 0

    def get(self, key: bytes) -> bytes | None:
        value = self.transaction.get(key)
        self.bytes_handled += len(value or b"")
        return value

    def put(self, key: bytes, value: bytes) -> None:
        self.writes += 1
        self.bytes_handled += len(value)
        self.transaction.put(key, value)

    def finish(self) -> None:
        pass

    def committed(self) -> None:
        pass


ByteStore = Store[ByteBatch]


def open_store(path: Path | None = None) -> ByteStore:
    return Store(path, ByteBatch)


def increment(key: bytes) -> Callable[[ByteBatch], int]:
    """Work that returns how often it ran."""

    def work(batch: ByteBatch) -> int:
        count = int(batch.get(key) or b"0") + 1
        batch.put(key, b"%d" % count)
        return count

    return work


def put(key: bytes, value: bytes = b"") -> Callable[[ByteBatch], None]:
    return lambda batch: batch.put(key, value)


def read(store: ByteStore, key: bytes) -> bytes | None:
    with store.read() as snapshot:
        return snapshot.get(key)


class Caller(Thread):
    """A thread that makes one call and keeps its result or error."""

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

    def wait(self) -> Any:
        self.join(LIMIT_SECONDS)
        assert not self.is_alive(), "the call never returned"
        if self.error is not None:
            raise self.error
        return self.result


class SlowLeader:
    """Holds the lead, in the middle of its work, until released. Callers that come meanwhile wait behind it."""

    def __init__(self, store: ByteStore) -> None:
        self._store = store
        self._leading = Event()
        self._released = Event()
        self._caller = Caller(lambda: store.write(self._work))
        assert self._leading.wait(LIMIT_SECONDS)

    def _work(self, batch: ByteBatch) -> None:
        batch.put(b"slow leader", b"was here")
        self._leading.set()
        assert self._released.wait(LIMIT_SECONDS)

    def line_up(self, *works: Callable[[ByteBatch], Any]) -> list[Caller]:
        """Start one thread for each work, in this order; returns when all of them are in the queue."""
        before = len(self._store.queue)
        callers: list[Caller] = []
        for work in works:
            callers.append(Caller(partial(self._store.write, work)))
            wait_until(lambda: len(self._store.queue) == before + len(callers))
        return callers

    def release(self) -> None:
        self._released.set()
        self._caller.wait()


def wait_until(condition: Callable[[], bool]) -> None:
    """For conditions without an event, such as the length of the queue."""
    tick = Event()
    for _ in range(int(LIMIT_SECONDS * 1000)):
        if condition():
            return
        tick.wait(0.001)
    raise AssertionError("the condition never became true")
