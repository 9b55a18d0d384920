"""Group commit: every write that waits shares one transaction and one sync.

A caller puts its work into the queue and takes the *lead*, one lock. Whoever holds the lead runs all work that waits,
in order, in one LMDB transaction, commits it, and only then lets the callers know. While a leader waits for
the disk, others queue up behind the lock; the next leader takes all of them along, and those find their work
done when the lock reaches them. A lone caller so pays for no thread switch, and sixty-four pay for one sync.

Callers that must not block (an event loop) `submit` instead, and a thread of the queue's own takes the lead for them.

Guarantees
- Work is atomic: it raises before its first write, or not at all. If work breaks that rule, or the disk is full, the
  whole transaction is given up and each work runs again alone, so that only the guilty one fails.
- An answered work is on disk, once. Work that raised has left nothing behind.
- A ticket stays in line until it is answered. A leader may be interrupted anywhere (Ctrl-C): the next one finds what is
  left to do, and what was committed already.
"""

from __future__ import annotations

import errno
import logging
import threading
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final, Generic, Protocol, TypeVar

import lmdb

from sortkey.storage.environment import Transaction

Result = TypeVar("Result")

MAP_FULL: Final = -30792
SHORT_WRITE: Final = -30772
"""LMDB's MDB_SHORT_WRITE: the file system took the first part of a write, and had no room for the rest."""
NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, MAP_FULL, SHORT_WRITE})

LATELY: Final = 8
"""Commits over which `commit_seconds` is an average, the more recent ones weighing more."""

_logger = logging.getLogger(__name__)


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


class _GivenUp(Exception):
    """The transaction was not kept; the cause says why."""


class _Ticket(Generic[BatchType]):
    __slots__ = ("done", "error", "fate", "result", "withdrawn", "work")

    def __init__(self, work: Work[BatchType], done: Done | None) -> None:
        self.work = work
        self.done = done
        self.result: Any = None
        self.error: BaseException | None = None
        self.fate: list[None] = []
        """Shared by all tickets of one transaction; no longer empty when that was committed or has failed for good."""
        self.withdrawn = False

    @property
    def settled(self) -> bool:
        return bool(self.fate) or self.withdrawn

    def run(self, batch: BatchType) -> None:
        self.result = self.error = None
        before = batch.writes
        try:
            self.result = self.work(batch)
        except Exception as error:
            if batch.writes != before or isinstance(error, lmdb.Error):
                raise
            self.error = error

    def fail(self, error: BaseException | None) -> None:
        self.error = error
        self.fate = [None]

    def answer(self) -> None:
        if self.done is None or self.withdrawn:
            return
        try:
            self.done(self.result, self.error)
        except Exception:
            # The leader works for strangers here, who must not suffer from one another.
            _logger.exception("a callback of a finished write failed")


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
        self.commit_seconds = 0.0
        """How long a commit waits, lately: for other processes to let it begin, and for the disk."""

    def __len__(self) -> int:
        """How many are in line, those included whose work is being done."""
        return len(self._waiting)

    def run(self, work: Callable[[BatchType], Result]) -> Result:
        """Do the work and return its result once it is durable; raise what it raised."""
        ticket = _Ticket(work, None)
        self._enqueue(ticket)
        try:
            with self._lead:
                if not ticket.settled:
                    self._commit_waiting()
        except BaseException:
            # Nobody will hear of this work any more: it does not happen later, unless another leader is at it now.
            ticket.withdrawn = True
            raise
        if ticket.error is not None:
            raise ticket.error
        result: Result = ticket.result
        return result

    def submit(self, work: Work[BatchType], done: Done) -> None:
        """Queue the work and return; `done(result, error)` is called on another thread once it is durable.

        It must be quick and must not write here itself: others wait behind it.
        """
        self.enqueue(work, done)
        self.summon()

    def enqueue(self, work: Work[BatchType], done: Done) -> None:
        """Queue the work for a caller who will see to it that somebody takes the `lead`, or `summon` the thread."""
        self._enqueue(_Ticket(work, done))

    def summon(self) -> None:
        """Have the queue's own thread take the lead."""
        if self._thread is None:
            self._start()
        self._wake.set()

    def lead(self) -> bool:
        """Commit what waits, here and now; false when somebody else leads, who may have begun before the last came."""
        if not self._lead.acquire(blocking=False):
            return False
        try:
            self._commit_waiting()
        finally:
            self._lead.release()
        return True

    def close(self) -> None:
        """Finish what waits, then reject more."""
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
        with self._gate:
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
        with self._gate:
            tickets = [ticket for ticket in self._waiting if not ticket.settled]
        if tickets:
            self._settle(tickets)
        while self._waiting and self._waiting[0].settled:
            self._waiting[0].answer()
            self._waiting.popleft()

    def _settle(self, tickets: list[_Ticket[BatchType]]) -> None:
        """Commit the tickets together or, if that cannot be, each alone."""
        try:
            self._commit(tickets)
        except _GivenUp as given_up:
            if len(tickets) == 1:
                tickets[0].fail(_reason(given_up.__cause__))
            else:
                for ticket in tickets:
                    self._settle([ticket])

    def _commit(self, tickets: list[_Ticket[BatchType]]) -> None:
        fate: list[None] = []
        began = perf_counter()
        try:
            with self._environment.begin(write=True) as transaction:
                waited = perf_counter() - began
                batch = self._batch(transaction)
                for ticket in tickets:
                    ticket.fate = fate
                    ticket.run(batch)
                batch.finish()
                worked = perf_counter()
                # No line of Python runs between the commit and the note of it, so no interrupt can fall there.
                fate.extend(map(lmdb.Transaction.commit, (transaction,)))
        except Exception as error:
            raise _GivenUp from error
        self.commits += 1
        waited += perf_counter() - worked
        self.commit_seconds += (waited - self.commit_seconds) / LATELY
        try:
            batch.committed()
        except Exception:
            _logger.exception("what follows a commit failed; the commit stands")


def _reason(error: BaseException | None) -> BaseException | None:
    """What the caller is told."""
    if isinstance(error, lmdb.Error) and error.code in NO_ROOM:
        full = StorageFull(f"no space left for the data folder: {error}")
        full.__cause__ = error
        return full
    return error
