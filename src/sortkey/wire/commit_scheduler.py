"""When the writes that connections have brought are committed, and on which thread.

The loop may commit by itself, once everything that has arrived is begun. No thread has to be woken, and none competes
with the loop for the interpreter, which saves half of a write's cost. But the loop serves nothing meanwhile. So it
commits only while it mostly writes and the disk is quick; otherwise the write queue's own thread commits, and reads go
on beside it. (PutItem at 8 connections took 105 µs of processor time on the loop, 178 on the thread; at nine reads to
one write, the loop served a third fewer requests.)

Clients whose writes shared a commit get their answers together, and send their next writes together. The loop waits for
them a little before the next commit; otherwise half of them would be one sync late. (PutItem at 8 connections: 4.5
writes a commit without the wait, 8 with it, and a quarter more requests a second.)

A batch of 10 MB holds the writer for tens of milliseconds. So only one large write is in the queue at a time, and a
small one waits for one of them at most. Nothing that follows a large write on its connection begins before its answer,
so none of its client's writes overtakes it.

Other processes may write to the folder, and be stopped while they do. The loop never waits for them: when one writes,
the queue's thread waits in its place. A write that has waited longer than `write_wait` is withdrawn and answered by
503, which SDKs retry. Nothing of it is written, then or later.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Final

from sortkey.clock import monotonic
from sortkey.engine.database import Database
from sortkey.engine.operations.fast_path import FastWork
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.http.connection import PendingAnswer
from sortkey.http.request_parser import Request
from sortkey.http.sending import Outbox
from sortkey.limits import KIB, MIB
from sortkey.storage import QueueClosed, Ticket
from sortkey.wire.messages import CoralError
from sortkey.wire.protocol import Route

QUICK_SECONDS: Final = 0.002
"""A commit that takes no longer may block the loop."""
QUICK_BYTES: Final = 256 * KIB
"""If the queued requests are larger together, their work is left to the write queue's thread."""
LARGE_BYTES: Final = MIB
"""Of the request of a write that waits for other large ones."""
WRITE_WAIT_SECONDS: Final = 5.0
"""How long a write waits for another process. SDKs give up after 30 seconds or more, unless they are told otherwise."""
BLOCKED_SECONDS: Final = 1.0
"""Whoever waits longer for another process is blocked by it; others only take turns with it."""
PATIENCE: Final = 0.5
"""How long a commit waits in all for more writes, while there are fewer than lately; in durations of a commit."""
BLOCKED: Final = "Nothing was written: another process has been writing to the data folder for too long; retry."

_logger = logging.getLogger(__name__)


class PendingWrite(Ticket[WriteBatch]):
    """A write between its request and its answer."""

    __slots__ = (
        "_scheduler",
        "finish",
        "hides_capacity",
        "pending",
        "rehearsals",
        "request",
        "route",
        "size",
        "started",
    )

    def __init__(
        self,
        scheduler: CommitScheduler,
        finish: Callable[[PendingWrite], None],
        work: FastWork,
        route: Route,
        request: Request,
        started: float,
        size: int,
        hides_capacity: bool,
    ) -> None:
        """`finish` answers the request, on the loop; `size` is that of its body."""
        # Not by `super()`, which takes half a microsecond.
        Ticket.__init__(self, work)
        self._scheduler = scheduler
        self.finish = finish
        self.route = route
        self.request = request
        self.started = started
        self.size = size
        self.hides_capacity = hides_capacity
        self.rehearsals = 0
        self.pending: PendingAnswer

    def answer(self) -> None:
        self._scheduler.post(self)

    def again(self) -> PendingWrite:
        """The same write as a new ticket."""
        again = PendingWrite(
            self._scheduler,
            self.finish,
            self.work,
            self.route,
            self.request,
            self.started,
            self.size,
            self.hides_capacity,
        )
        again.rehearsals = self.rehearsals + 1
        again.pending = self.pending
        return again


class CommitScheduler:
    """Takes writes from the endpoint and finishes them when they are durable."""

    def __init__(
        self, database: Database, outbox: Outbox, commits_on_loop: bool, write_wait: float = WRITE_WAIT_SECONDS
    ) -> None:
        self._queue = database.store.queue
        self._outbox = outbox
        self._commits_on_loop = commits_on_loop
        self._write_wait = write_wait
        self._reported: float | None = None
        """Since when the writes waited that the log told of last."""
        self._loop = asyncio.get_running_loop()
        self._commit_planned = False
        self._finish_planned = False
        self._on_loop = False
        """The loop is committing."""
        self._writes = 0
        """Submitted since the last commit."""
        self._durable: deque[PendingWrite] = deque()
        self._large: deque[PendingWrite] = deque()
        """The first is in the queue, the others wait for it."""
        self._expected = 0
        """How many writes the next commit waits for."""
        self._seen = 0
        self._looked = 0.0
        self._idle = 0.0
        """Seconds in which it waited and no write arrived."""
        self.reads = 0
        """Begun since the last commit was planned."""
        self.queued = 0
        """Writes that were submitted and are not finished."""
        self.queued_bytes = 0
        """Of their requests."""

    def submit(self, write: PendingWrite) -> None:
        size = write.size
        if size > LARGE_BYTES:
            self._large.append(write)
        if size <= LARGE_BYTES or len(self._large) == 1:
            self._enqueue(write)
        self.queued += 1
        self.queued_bytes += size

    def _enqueue(self, write: PendingWrite) -> None:
        self._queue.enqueue(write)
        self._writes += 1
        if not self._commit_planned:
            self._commit_planned = True
            # After everything else that has arrived, so that it shares the commit.
            self._loop.call_soon(self._commit)

    def blockage(self) -> str | None:
        """What the writes of this process wait for, in words; None if they do not."""
        since = self._queue.blocked_since
        if since is None or (seconds := monotonic() - since) < BLOCKED_SECONDS:
            return None
        process = self._queue.blocking_process()
        holder = f"process {process}" if process else "another process"
        return f"writes have waited {seconds:.0f} s for {holder}, which holds the data folder's write lock"

    def give_up_blocked(self) -> None:
        """Answer the writes that have waited too long for another process. Called each second."""
        since = self._queue.blocked_since
        if since is None:
            return
        until = monotonic() - self._write_wait
        withdrawn = self._queue.withdraw(lambda ticket: isinstance(ticket, PendingWrite) and ticket.started <= until)
        if withdrawn and self._reported != since:
            self._reported = since
            _logger.warning("%s; they are answered by 503", self.blockage() or "writes waited for another process")
        for write in withdrawn:
            assert isinstance(write, PendingWrite)
            write.fail(CoralError(503, "ServiceUnavailableException", BLOCKED))
            self._durable.append(write)
        self._finish_durable()

    def post(self, write: PendingWrite) -> None:
        """A write's commit has ended. May be called on any thread."""
        self._durable.append(write)
        # The write of a client that left before the server stopped may outlast the loop.
        if not self._on_loop and not self._finish_planned and not self._loop.is_closed():
            self._finish_planned = True
            self._loop.call_soon_threadsafe(self._finish_durable)

    def _commit(self) -> None:
        mostly_writes = self.reads <= self._writes
        quick = self._queue.commit_seconds < QUICK_SECONDS and self.queued_bytes < QUICK_BYTES
        on_loop = self._commits_on_loop and mostly_writes and quick
        if on_loop and self._expects_more():
            self._loop.call_soon(self._commit)
            return
        self._commit_planned = False
        self._writes = self.reads = self._seen = 0
        self._idle = 0.0
        if not (on_loop and self._commit_on_loop()) or len(self._queue):
            self._queue.summon()

    def _expects_more(self) -> bool:
        """Whether clients whose writes shared the last commit are likely to write again in a moment."""
        if self._writes >= self._expected:
            self._expected = self._writes
            return False
        now = monotonic()
        if self._writes > self._seen:
            self._seen = self._writes
        else:
            self._idle += now - self._looked
        self._looked = now
        if self._idle < self._queue.commit_seconds * PATIENCE:
            return True
        # They may have left, or only be late: after a few commits, a single client waits no longer.
        self._expected = (self._expected + self._writes) // 2
        return False

    def _commit_on_loop(self) -> bool:
        """False when another thread is committing."""
        # Answers that do not depend on the commit must not wait for the disk.
        self._outbox.send()
        self._on_loop = True
        try:
            return self._queue.lead()
        finally:
            self._on_loop = False
            self._finish_durable()

    def _finish_durable(self) -> None:
        # Before the first look: a write posted after the last look must wake the loop again.
        self._finish_planned = False
        while self._durable:
            write = self._durable.popleft()
            size = write.size
            self.queued -= 1
            self.queued_bytes -= size
            try:
                write.finish(write)
            except Exception:
                # The others of this commit still get their answers.
                _logger.exception("a durable write could not be answered")
            if size > LARGE_BYTES:
                self._enqueue_next_large()

    def _enqueue_next_large(self) -> None:
        self._large.popleft()
        if self._large:
            write = self._large[0]
            try:
                self._enqueue(write)
            except QueueClosed as error:
                write.fail(error)
                write.answer()
