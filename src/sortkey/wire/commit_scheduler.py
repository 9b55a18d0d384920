"""When the writes that connections have brought are committed, and by whom.

A commit may happen on the loop, once everything that has arrived is begun: no thread has to be woken, and none fights
the loop for the interpreter, which is worth half of a write's cost. But meanwhile nobody is served. So the loop
commits only while writing is most of what it does and the disk is quick; else the write queue's own thread does it, and
reads go on beside it. (PutItem at 8 connections took 105 µs of processor time on the loop, 178 beside it; of nine reads
and a write, the loop served a third less.)

Clients whose writes shared a commit get their answers together, and come back together. The loop waits for them a
little before the next commit, or half of them would be one sync late. (PutItem at 8 connections: 4.5 writes a commit
without, 8 with, and a quarter more a second.)
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Final

from sortkey.engine.database import Database
from sortkey.engine.fast import FastWork
from sortkey.http.outbox import Outbox
from sortkey.storage import Done
from sortkey.wire.endpoint import PendingWrite

QUICK_SECONDS: Final = 0.002
"""A commit that takes no longer may hold up the loop."""
PATIENCE: Final = 0.5
"""Of the time that a commit takes: how long in all it waits for writes to come, while there are fewer than lately."""


class CommitScheduler:
    """Takes writes from the endpoint and hands them back when they are durable."""

    def __init__(self, database: Database, finish: Callable[[PendingWrite], None], outbox: Outbox, leads: bool) -> None:
        """`finish` puts a write's answer into the outbox."""
        self._queue = database.store.queue
        self._finish = finish
        self._outbox = outbox
        self._leads = leads
        self._loop = asyncio.get_running_loop()
        self._planned = False
        self._writes = 0
        self._done: deque[PendingWrite] = deque()
        self._leading = False
        self._woken = False
        self._expected = 0
        """How many writes the next commit hopes for."""
        self._seen = 0
        self._looked = 0.0
        self._idle = 0.0
        """Seconds in which it waited and none came."""
        self.reads = 0
        """Begun since the last commit was planned."""

    def submit(self, work: FastWork, done: Done) -> None:
        """As `WriteQueue.submit`."""
        self._queue.enqueue(work, done)
        self._writes += 1
        if not self._planned:
            self._planned = True
            # After everything else that has arrived, so that it comes along.
            self._loop.call_soon(self._commit)

    def post(self, write: PendingWrite) -> None:
        """A write's commit has ended; on whatever thread that was."""
        self._done.append(write)
        # A write whose client left before the server stopped may outlast the loop; nobody waits for its answer.
        if not self._leading and not self._woken and not self._loop.is_closed():
            self._woken = True
            self._loop.call_soon_threadsafe(self._take)

    def _commit(self) -> None:
        mostly_writing = self.reads <= self._writes
        leads = self._leads and mostly_writing and self._queue.commit_seconds < QUICK_SECONDS
        if leads and self._more_to_come():
            self._loop.call_soon(self._commit)
            return
        self._planned = False
        self._writes = self.reads = self._seen = 0
        self._idle = 0.0
        if not (leads and self._lead()):
            self._queue.summon()

    def _more_to_come(self) -> bool:
        """Whether clients whose writes shared the last commit are likely to be back in a moment."""
        if self._writes >= self._expected:
            self._expected = self._writes
            return False
        now = perf_counter()
        if self._writes > self._seen:
            self._seen = self._writes
        else:
            self._idle += now - self._looked
        self._looked = now
        if self._idle < self._queue.commit_seconds * PATIENCE:
            return True
        # They may have left, or only be late: a lone client waits for nobody after a few commits.
        self._expected = (self._expected + self._writes) // 2
        return False

    def _lead(self) -> bool:
        # Nobody's answer waits for the disk whose request did not need it.
        self._outbox.send()
        self._leading = True
        try:
            return self._queue.lead()
        finally:
            self._leading = False
            self._take()

    def _take(self) -> None:
        # Before the first look: a write posted after the last look must wake the loop again.
        self._woken = False
        while self._done:
            self._finish(self._done.popleft())
            # Not all at the end: whose answer is out may send its next write before the next commit.
            self._outbox.send()
