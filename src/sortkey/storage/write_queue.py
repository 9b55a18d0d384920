"""Group commit: every write that waits shares one transaction and one sync.

A caller puts its work into the queue and takes the *lead*, a lock. The leader runs all waiting work, in order, in one
LMDB transaction, commits it, and then lets the callers know. While a leader waits for the disk, other callers queue up
behind the lock. The next leader commits the work of all of them, and they find it done when they get the lock. So a
single caller pays for no thread switch, and sixty-four pay for one sync.

A commit takes only so much work, counted in tickets and in the bytes that it reads and writes. What is left waits for
the next one, so that an answer does not wait for everything that others have queued.

Callers that must not block (an event loop) `submit` instead, and the queue's own thread takes the lead for them.

The leader takes the folder's write lock before it chooses the work. When another process has the lock, the leader
leaves the work where it is, and the queue's own thread waits in its place, without the lead. So work that arrives
meanwhile shares the commit, and no caller waits for another process longer than it likes: while the lock is not there
(`blocked_since`), nothing of the queue is being done, and work can be withdrawn. It is not done then, now or later.

Guarantees
- Work is atomic: it raises before its first write, or not at all. If work breaks that rule, or the disk is full, the
  whole transaction is aborted and each work runs again in a transaction of its own, so that only the faulty one fails.
- Answered work is on disk, once. Work that raised has written nothing, also when it raised FolderBusy.
- A ticket stays in the queue until it is answered. A leader may be interrupted anywhere (Ctrl-C): the next one finds
  which tickets are committed and which are left.
"""

from __future__ import annotations

import errno
import logging
import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from operator import methodcaller
from typing import Any, Final, Generic, Protocol, TypeVar

import lmdb

from sortkey.clock import DEADLINE, monotonic
from sortkey.errors import FolderBusy
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

WRITE_WAIT_SECONDS: Final = 30.0
"""How long work waits for another process if its caller has no `DEADLINE`."""
LONGEST_SLEEP_SECONDS: Final = 1.0
SHORTEST_SLEEP_SECONDS: Final = 0.02
"""Of a caller that waits for another process, before it looks again."""
WATCH_SECONDS: Final = 0.05
"""How often the deadlines of submitted work are looked at, while it waits for another process."""

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
DoneInPlace = Callable[[int, Any, BaseException | None], None]


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
    __slots__ = ("_done", "until")

    def __init__(self, work: Work[BatchType], done: Done, until: float = math.inf) -> None:
        super().__init__(work)
        self._done = done
        self.until = until
        """Until when it waits for another process, by `monotonic`."""

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
        self._watcher: threading.Thread | None = None
        self._blocked = threading.Event()
        self._sleepers: list[threading.Event] = []
        """Set after each commit: one for each caller that waits for another process."""
        self.commits = 0
        self.answered = 0
        """The number of tickets that have left the queue."""
        self.commit_seconds = 0.0
        """How long recent commits waited for other processes and for the disk."""
        self.blocked_since: float | None = None
        """Since when (`monotonic`) the queue waits for another process, if it does. Set and cleared by leaders only."""

    def __len__(self) -> int:
        """The number of tickets in the queue, including those being committed."""
        return len(self._waiting)

    def run(self, work: Callable[[BatchType], Result]) -> Result:
        """Run the work; return its result once it is durable, or raise its error.

        Raises FolderBusy if another process writes until the caller's `DEADLINE`.
        """
        ticket = Ticket(work)
        self.enqueue(ticket)
        try:
            # Each commit takes work in the order of the queue. The callers that it has served go on before the next.
            while not ticket.fate:
                with self._lead:
                    has_led = bool(ticket.fate) or self._commit_waiting()
                if not has_led:
                    self._wait_for_commit(ticket)
        except BaseException:
            # The caller leaves, so this work must not run later, unless another leader is running it now.
            ticket.withdrawn = True
            raise
        if ticket.error is not None:
            raise ticket.error
        result: Result = ticket.result
        return result

    def submit(self, work: Work[BatchType], done: Done, until: float | None = None) -> Ticket[BatchType]:
        """Queue the work and return; `done(result, error)` is called on another thread once it is durable, or with
        FolderBusy if another process writes until the caller's `DEADLINE`, or `until`.

        `done` must be quick and must not write to this queue: other callers wait for it. It is not called for a ticket
        that its caller withdraws.
        """
        ticket = CallbackTicket(work, done, _deadline() if until is None else until)
        self.enqueue(ticket)
        self.summon()
        return ticket

    def enqueue(self, *tickets: Ticket[BatchType]) -> None:
        """Queue the tickets, for a caller that then calls `lead` or `summon`."""
        with self._gate:
            if self._closed:
                raise QueueClosed("the store is closed")
            self._waiting.extend(tickets)

    def submit_all(self, works: Sequence[Work[BatchType]], done: DoneInPlace) -> list[Ticket[BatchType]]:
        """The same for several: each is done by itself, and `done(place, result, error)` is called for each. Together,
        they wake the queue's thread once."""
        until = _deadline()
        tickets: list[Ticket[BatchType]] = [
            CallbackTicket(work, partial(done, place), until) for place, work in enumerate(works)
        ]
        self.enqueue(*tickets)
        self.summon()
        return tickets

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
            return self._commit_waiting()
        finally:
            self._lead.release()

    def withdraw(self, chosen: Callable[[Ticket[BatchType]], bool]) -> list[Ticket[BatchType]]:
        """Take the chosen work out of the queue while it waits for another process; it will not be done."""
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

    def withdraw_one(self, ticket: Ticket[BatchType]) -> bool:
        """The same for one ticket; whether it was withdrawn."""
        with self._gate:
            if self.blocked_since is None or ticket.fate or ticket.withdrawn:
                return False
            ticket.withdrawn = True
            self._waiting.remove(ticket)
            self.answered += 1
        return True

    def busy_error(self) -> FolderBusy:
        """The error of work that was withdrawn."""
        process = self.blocking_process()
        holder = f"process {process}" if process else "another process"
        return FolderBusy(f"{holder} holds the data folder's write lock; the write that waited for it was withdrawn")

    def blocking_process(self) -> int | None:
        """The other process that writes now; 0 if that is in another container."""
        return None if self._lock is None else self._lock.holder()

    def close(self) -> None:
        """Commit the waiting work, then reject more. Work that waits too long for another process gets FolderBusy."""
        with self._gate:
            self._closed = True
        until = _deadline()
        while self._waiting:
            with self._lead:
                has_led = self._commit_waiting()
            if not has_led and monotonic() >= until:
                self._give_up(lambda _: True)
            elif not has_led:
                threading.Event().wait(SHORTEST_SLEEP_SECONDS)
        # From here on, the queue's own thread does not lead any more.
        with self._lead:
            pass
        self._blocked.set()
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
            while self._waiting or self.blocked_since is not None:
                with self._lead:
                    if self._closed and not self._waiting:
                        return
                    has_led = self._commit_waiting()
                if not has_led:
                    self._wait_for_lock()

    def _commit_waiting(self) -> bool:
        """False if another process writes; then the queue's own thread waits for it."""
        lock = self._lock
        try:
            # Inside, because an interrupt may come as soon as it has the lock.
            if lock is not None and not lock.try_acquire():
                if self.blocked_since is None:
                    self.blocked_since = monotonic()
                    self._watch_deadlines()
                self.summon()
                return False
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
        if self._sleepers:
            for sleeper in tuple(self._sleepers):
                sleeper.set()
        return True

    def _wait_for_lock(self) -> None:
        """Return when no other process writes, on the queue's own thread.

        It waits without the lead. So another thread may lead meanwhile, and release the lock, which belongs to the
        process; then the next commit has to wait again.
        """
        assert self._lock is not None
        began = monotonic()
        try:
            self._lock.acquire()
        except (OSError, ValueError):
            # The queue was closed, and the lock with it: nothing is left to write.
            if not self._closed:
                raise
        self.commit_seconds += (monotonic() - began) / AVERAGED_COMMITS

    def _watch_deadlines(self) -> None:
        """Has a thread look after submitted work while the queue is blocked. When nobody is in the way, a deadline
        costs nothing."""
        self._blocked.set()
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._answer_overdue, name="sortkey-deadlines", daemon=True)
            self._watcher.start()

    def _answer_overdue(self) -> None:
        while not self._closed:
            self._blocked.wait()
            self._blocked.clear()
            while self.blocked_since is not None and not self._closed:
                threading.Event().wait(WATCH_SECONDS)
                self._give_up(_is_overdue)

    def _wait_for_commit(self, ticket: Ticket[BatchType]) -> None:
        """Return when another thread has done the work. Raises FolderBusy after the caller's deadline."""
        until = _deadline()
        woken = threading.Event()
        self._sleepers.append(woken)
        try:
            while not ticket.fate:
                left = until - monotonic()
                # It cannot be withdrawn while it is being committed; that ends soon.
                if left <= 0 and self.withdraw_one(ticket):
                    raise self.busy_error()
                woken.wait(min(max(left, SHORTEST_SLEEP_SECONDS), LONGEST_SLEEP_SECONDS))
                woken.clear()
        finally:
            self._sleepers.remove(woken)

    def _give_up(self, chosen: Callable[[Ticket[BatchType]], bool]) -> None:
        """Answer chosen work that waits for another process."""
        for ticket in self.withdraw(chosen):
            ticket.fail(self.busy_error())
            ticket.answer()

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


def _is_overdue(ticket: Ticket[Any]) -> bool:
    return isinstance(ticket, CallbackTicket) and ticket.until <= monotonic()


def _deadline() -> float:
    """Until when the caller waits for another process, by `monotonic`."""
    until = DEADLINE.get()
    return monotonic() + WRITE_WAIT_SECONDS if until is None else until


def _reason(error: BaseException | None) -> BaseException | None:
    """The error to raise for the caller."""
    # Errors of the binding itself have no code.
    if isinstance(error, lmdb.Error) and getattr(error, "code", None) in NO_ROOM:
        full = StorageFull(f"no space left for the data folder: {error.__cause__ or error}")
        full.__cause__ = error
        return full
    return error
