"""Group commit: every write that waits shares one transaction and one sync.

A caller puts its work into the queue and takes the *lead*, one lock. Whoever holds the lead runs all work that waits, in
order, in one LMDB transaction, commits it, and only then lets the callers know. While a leader waits for
the disk, others queue up behind the lock; the next leader takes all of them along, and those find their work
done when the lock reaches them. A lone caller so pays for no thread switch, and sixty-four pay for one sync.

Callers that must not block (an event loop) `submit` instead, and a thread of the queue's own takes the lead for them.

Guarantees
- Work is atomic: it raises before its first write, or not at all. If work breaks that rule, or the disk is full, the
  whole transaction is given up and each work runs again alone, so that only the guilty one fails.
- An answered work is on disk. Work that raised has left nothing behind.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import lmdb

from sortkey.storage.environment import Transaction

Result = TypeVar("Result")


class Batch(Protocol):
    """What work writes through: one transaction, and what its owner wants done around it."""

    writes: int
    """Grows with each write, so that the queue can tell work that raised too late."""

    def finish(self) -> None:
        """Last writes before the commit."""

    def committed(self) -> None:
        """The transaction is durable."""


BatchType = TypeVar("BatchType", bound=Batch)
Work = Callable[[BatchType], Any]
Done = Callable[[Any, BaseException | None], None]


class StorageFull(Exception):
    """The disk (or the map) has no room; nothing of the work was written."""


class QueueClosed(Exception):
    """The store was closed before the work began."""


class _TornWork(Exception):
    """Some work raised after it had written: its transaction cannot be kept."""


class _Ticket(Generic[BatchType]):
    __slots__ = ("done", "error", "finished", "result", "work")

    def __init__(self, work: Work[BatchType], done: Done | None) -> None:
        self.work = work
        self.done = done
        self.result: Any = None
        self.error: BaseException | None = None
        self.finished = False

    def finish(self) -> None:
        self.finished = True
        if self.done is not None:
            self.done(self.result, self.error)


class WriteQueue(Generic[BatchType]):
    def __init__(self, environment: lmdb.Environment, batch: Callable[[Transaction], BatchType]) -> None:
        self._environment = environment
        self._batch = batch
        self._waiting: deque[_Ticket[BatchType]] = deque()
        self._lead = threading.Lock()
        self._gate = threading.Lock()
        self._closed = False
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self.commits = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def run(self, work: Callable[[BatchType], Result]) -> Result:
        """Do the work and return its result once it is durable; raise what it raised."""
        ticket = _Ticket(work, None)
        self._enqueue(ticket)
        with self._lead:
            if not ticket.finished:
                self._commit_waiting()
        if ticket.error is not None:
            raise ticket.error
        result: Result = ticket.result
        return result

    def submit(self, work: Work[BatchType], done: Done) -> None:
        """Queue the work and return; `done(result, error)` is called on another thread once it is durable."""
        self._enqueue(_Ticket(work, done))
        if self._thread is None:
            self._start()
        self._wake.set()

    def close(self) -> None:
        """Finish what waits, then refuse more."""
        with self._gate:
            self._closed = True
        with self._lead:
            self._commit_waiting()
        if self._thread is not None:
            self._wake.set()
            self._thread.join()

    def _enqueue(self, ticket: _Ticket[BatchType]) -> None:
        with self._gate:
            if self._closed:
                raise QueueClosed("the store is closed")
            self._waiting.append(ticket)

    def _start(self) -> None:
        with self._lead:
            if self._thread is None:
                self._thread = threading.Thread(target=self._lead_submitted, name="sortkey-writer", daemon=True)
                self._thread.start()

    def _lead_submitted(self) -> None:
        while not (self._closed and not self._waiting):
            self._wake.wait()
            self._wake.clear()
            with self._lead:
                self._commit_waiting()

    def _commit_waiting(self) -> None:
        tickets: list[_Ticket[BatchType]] = []
        while self._waiting:
            tickets.append(self._waiting.popleft())
        if not tickets:
            return
        try:
            self._commit(tickets)
        except (_TornWork, lmdb.Error) as error:
            if len(tickets) == 1:
                _fail(tickets[0], error)
            else:
                self._commit_each(tickets)
        except Exception as error:
            for ticket in tickets:
                ticket.error = error
        except BaseException:
            # The leader itself was interrupted (Ctrl-C): nothing was committed, so the others' work still stands in line.
            self._waiting.extendleft(reversed(tickets))
            raise
        for ticket in tickets:
            ticket.finish()

    def _commit_each(self, tickets: list[_Ticket[BatchType]]) -> None:
        for ticket in tickets:
            ticket.error = None
            try:
                self._commit([ticket])
            except (_TornWork, lmdb.Error) as error:
                _fail(ticket, error)

    def _commit(self, tickets: list[_Ticket[BatchType]]) -> None:
        with self._environment.begin(write=True) as transaction:
            batch = self._batch(transaction)
            for ticket in tickets:
                _run(ticket, batch)
            batch.finish()
        self.commits += 1
        batch.committed()


def _run(ticket: _Ticket[BatchType], batch: BatchType) -> None:
    before = batch.writes
    try:
        ticket.result = ticket.work(batch)
    except lmdb.Error:
        raise
    except Exception as error:
        if batch.writes != before:
            raise _TornWork from error
        ticket.error = error


def _fail(ticket: _Ticket[BatchType], error: Exception) -> None:
    if isinstance(error, _TornWork):
        ticket.error = error.__cause__
    elif isinstance(error, lmdb.MapFullError | lmdb.DiskError):
        ticket.error = StorageFull(f"no space left for the data folder: {error}")
    else:
        ticket.error = error
