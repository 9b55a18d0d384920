"""Group commit: every write that waits shares one transaction and one sync.

A caller puts its work into the queue and takes the *lead*, a lock. The leader runs all waiting work, in order, in one
LMDB transaction, commits it, and then lets the callers know. While a leader waits for the disk, other callers queue up
behind the lock. The next leader commits the work of all of them, and they find it done when they get the lock. So a
single caller pays for no thread switch, and sixty-four pay for one sync.

A commit takes only so much work, counted in tickets and in the bytes that it reads and writes. What is left waits for
the next one, so that an answer does not wait for everything that others have queued.

Callers that must not block (an event loop) `submit` instead, and the queue's own thread takes the lead for them.

The leader takes the folder's write lock before it chooses the work, so work that arrives while it waits for another
process shares the commit. A leader that must not wait (`lead`) leaves the work where it is when another process writes.
Work that waits for another process may be withdrawn, and is not done then.

Guarantees
- Work is atomic: it raises before its first write, or not at all. If work breaks that rule, or the disk is full, the
  whole transaction is aborted and each work runs again in a transaction of its own, so that only the faulty one fails.
- Answered work is on disk, once. Work that raised has written nothing.
- A ticket stays in the queue until it is answered. A leader may be interrupted anywhere (Ctrl-C): the next one finds
  which tickets are committed and which are left.
"""

from __future__ import annotations

import errno
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from operator import methodcaller
from typing import Any, Final, Generic, Protocol, TypeVar

import lmdb

from sortkey.clock import monotonic
from sortkey.limits import MIB
from sortkey.storage.environment import StorageError, Transaction
from sortkey.storage.write_lock import WriteLock

Result = TypeVar("Result")

MAP_FULL: Final = -30792
SHORT_WRITE: Final = -30772
"""LMDB's MDB_SHORT_WRITE: the file system had room for only a part of a write."""
NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, MAP_FULL, SHORT_WRITE})

AVERAGED_COMMITS: Final = 8
"""The number of commits that `commit_seconds` averages over, weighted towards recent ones."""

COMMIT: Final = methodcaller("commit")

BATCH_BYTES: Final = 4 * MIB
"""A write batch that has read and written this much takes no more work."""
BATCH_TICKETS: Final = 1024

FAILED: Final = (None,)
"""The fate of a ticket whose work was not committed, and will not be."""

_logger = logging.getLogger(__name__)


class Batch(Protocol):
    """A write batch: one transaction, and hooks around its commit."""

    writes: int
    """Grows with each write, so that the queue notices work that raised after a write."""
    bytes_handled: int
    """Read and written."""

    def finish(self) -> None:
        """Make the last writes before the commit."""

    def committed(self) -> None:
        """Called when the transaction is durable."""


BatchType = TypeVar("BatchType", bound=Batch)
Work = Callable[[BatchType], Any]
Done = Callable[[Any, BaseException | None], None]


class StorageFull(Exception):
    """The disk (or the map) is full; nothing of the work was written."""


class QueueClosed(Exception):
    """The store was closed before the work began."""


class _Aborted(Exception):
    """The transaction of these tickets was aborted, for the error in `__cause__`."""

    def __init__(self, tickets: list[Any]) -> None:
        super().__init__()
        self.tickets = tickets


class Ticket(Generic[BatchType]):
    """Work in the queue, and what became of it. A ticket is queued once."""

    __slots__ = ("error", "fate", "result", "withdrawn", "work")

    def __init__(self, work: Work[BatchType]) -> None:
        self.work = work
        self.result: Any
        self.error: BaseException | None
        self.fate: Sequence[None] = ()
        """Shared by all tickets of a transaction; not empty once it was committed, or its ticket has failed."""
        self.withdrawn = False

    def answer(self) -> None:
        """Called once the work is durable or has failed. Must be quick and must not write: other callers wait."""

    def run(self, batch: BatchType) -> None:
        before = batch.writes
        try:
            self.result, self.error = self.work(batch), None
        except Exception as error:
            if batch.writes != before or isinstance(error, lmdb.Error):
                raise
            self.result, self.error = None, error

    def fail(self, error: BaseException | None) -> None:
        self.result = None
        self.error = error
        self.fate = FAILED


class CallbackTicket(Ticket[BatchType]):
    __slots__ = ("_done",)

    def __init__(self, work: Work[BatchType], done: Done) -> None:
        super().__init__(work)
        self._done = done

    def answer(self) -> None:
        self._done(self.result, self.error)


class WriteQueue(Generic[BatchType]):
    def __init__(
        self,
        begin: Callable[[], Transaction],
        batch: Callable[[Transaction], BatchType],
        make_room: Callable[[], None] | None = None,
        lock: WriteLock | None = None,
    ) -> None:
        """`begin` begins a write transaction. `make_room` enlarges a map that is full; later transactions use it.

        `lock` excludes other processes; memory has none.
        """
        self.begin = begin
        """Begins a write transaction."""
        self._batch = batch
        self._make_room = make_room
        self._lock = lock
        self._waiting: deque[Ticket[BatchType]] = deque()
        self._lead = threading.Lock()
        self._gate = threading.Lock()
        self._closed = False
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self.commits = 0
        self.answered = 0
        """The number of tickets that have left the queue."""
        self.commit_seconds = 0.0
        """How long recent commits waited for other processes and for the disk."""
        self.blocked_since: float | None = None
        """Since when (`monotonic`) the leader waits for another process, if it does."""

    def __len__(self) -> int:
        """The number of tickets in the queue, including those being committed."""
        return len(self._waiting)

    def run(self, work: Callable[[BatchType], Result]) -> Result:
        """Run the work; return its result once it is durable, or raise its error."""
        ticket = Ticket(work)
        self.enqueue(ticket)
        try:
            # Each commit takes work in the order of the queue. The callers that it has served go on before the next.
            while not ticket.fate:
                with self._lead:
                    if not ticket.fate:
                        self._commit_waiting()
        except BaseException:
            # The caller leaves, so this work must not run later, unless another leader is running it now.
            ticket.withdrawn = True
            raise
        if ticket.error is not None:
            raise ticket.error
        result: Result = ticket.result
        return result

    def submit(self, work: Work[BatchType], done: Done) -> None:
        """Queue the work and return; `done(result, error)` is called on another thread once it is durable.

        `done` must be quick and must not write to this queue: other callers wait for it.
        """
        self.enqueue(CallbackTicket(work, done))
        self.summon()

    def enqueue(self, ticket: Ticket[BatchType]) -> None:
        """Queue the ticket, for a caller that then calls `lead` or `summon`."""
        with self._gate:
            if self._closed:
                raise QueueClosed("the store is closed")
            self._waiting.append(ticket)

    def summon(self) -> None:
        """Let the queue's own thread take the lead."""
        if self._thread is None:
            self._start()
        self._wake.set()

    def lead(self) -> bool:
        """Commit the waiting work on this thread, or the first part of it if there is much.

        False if another thread leads, which may miss the latest work, or if another process writes.
        """
        if not self._lead.acquire(blocking=False):
            return False
        try:
            return self._commit_waiting(may_wait=False)
        finally:
            self._lead.release()

    def withdraw(self, chosen: Callable[[Ticket[BatchType]], bool]) -> list[Ticket[BatchType]]:
        """Take the chosen work out of the queue while the leader waits for another process; it will not be done."""
        with self._gate:
            if self.blocked_since is None:
                return []
            withdrawn = [ticket for ticket in self._waiting if not ticket.fate and chosen(ticket)]
            for ticket in withdrawn:
                ticket.withdrawn = True
            left = [ticket for ticket in self._waiting if not ticket.withdrawn]
            self.answered += len(self._waiting) - len(left)
            self._waiting.clear()
            self._waiting.extend(left)
        return withdrawn

    def blocking_process(self) -> int | None:
        """The other process that writes now; 0 if that is in another container."""
        return None if self._lock is None else self._lock.holder()

    def close(self) -> None:
        """Commit the waiting work, then reject more."""
        with self._gate:
            self._closed = True
        while self._waiting:
            with self._lead:
                self._commit_waiting()
        if self._thread is not None:
            self._wake.set()
            # One that waits for another process, and has nothing to write any more, may wait for ever.
            if self.blocked_since is None:
                self._thread.join()

    def _start(self) -> None:
        with self._gate:
            if self._thread is None:
                self._thread = threading.Thread(target=self._lead_submitted, name="sortkey-writer", daemon=True)
                self._thread.start()

    def _lead_submitted(self) -> None:
        while not (self._closed and not self._waiting):
            self._wake.wait()
            self._wake.clear()
            while self._waiting:
                with self._lead:
                    self._commit_waiting()

    def _commit_waiting(self, may_wait: bool = True) -> bool:
        """False if another process writes, and this thread may not wait for it."""
        lock = self._lock
        try:
            # Inside, because an interrupt may come as soon as it has the lock.
            if lock is not None and not lock.try_acquire():
                if not may_wait:
                    return False
                self._wait_for(lock)
            with self._gate:
                # From here on, nothing can be withdrawn.
                self.blocked_since = None
                first = self._waiting if len(self._waiting) <= BATCH_TICKETS else islice(self._waiting, BATCH_TICKETS)
                tickets = [ticket for ticket in first if not (ticket.fate or ticket.withdrawn)]
            if tickets:
                self._settle(tickets)
        finally:
            if lock is not None:
                lock.release()
        self._answer_settled()
        return True

    def _wait_for(self, lock: WriteLock) -> None:
        self.blocked_since = began = monotonic()
        lock.acquire()
        self.commit_seconds += (monotonic() - began) / AVERAGED_COMMITS

    def _answer_settled(self) -> None:
        waiting = self._waiting
        while waiting and ((ticket := waiting[0]).fate or ticket.withdrawn):
            try:
                ticket.answer()
            except Exception:
                # An error in one caller's callback must not affect the others.
                _logger.exception("the callback of a finished write raised an error")
            waiting.popleft()
            self.answered += 1

    def _settle(self, tickets: list[Ticket[BatchType]]) -> None:
        """Commit the tickets together, or the first of them if there is much work; if that fails, one by one."""
        try:
            self._commit(tickets)
        except _Aborted as aborted:
            if self._has_more_room_after(aborted.__cause__):
                self._settle(tickets)
            elif len(tickets) == 1:
                tickets[0].fail(_reason(aborted.__cause__))
            else:
                for ticket in aborted.tickets:
                    self._settle([ticket])

    def _has_more_room_after(self, error: BaseException | None) -> bool:
        """Whether the map was full and has been enlarged."""
        if self._make_room is None or not isinstance(error, lmdb.MapFullError):
            return False
        try:
            self._make_room()
        except StorageError as reason:
            error.__cause__ = reason
            return False
        return True

    def _commit(self, tickets: list[Ticket[BatchType]]) -> None:
        fate: list[None] = []
        taken = 0
        began = monotonic()
        try:
            with self.begin() as transaction:
                waited = monotonic() - began
                batch = self._batch(transaction)
                for ticket in tickets:
                    taken += 1
                    ticket.fate = fate
                    ticket.run(batch)
                    if batch.bytes_handled > BATCH_BYTES:
                        break
                batch.finish()
                worked = monotonic()
                # No Python code runs between the commit and noting it, so an interrupt cannot come between.
                fate.extend(map(COMMIT, (transaction,)))
        except Exception as error:
            raise _Aborted(tickets[:taken] or tickets) from error
        self.commits += 1
        waited += monotonic() - worked
        self.commit_seconds += (waited - self.commit_seconds) / AVERAGED_COMMITS
        try:
            batch.committed()
        except Exception:
            _logger.exception("an error after a commit; the commit is durable")


def _reason(error: BaseException | None) -> BaseException | None:
    """The error to raise for the caller."""
    # Errors of the binding itself have no code.
    if isinstance(error, lmdb.Error) and getattr(error, "code", None) in NO_ROOM:
        full = StorageFull(f"no space left for the data folder: {error.__cause__ or error}")
        full.__cause__ = error
        return full
    return error
