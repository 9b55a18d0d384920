"""When the writes that connections have brought are committed, and by whom.

A commit may happen on the loop, once everything that has arrived is begun: no thread has to be woken, and none fights
the loop for the interpreter, which is worth half of a write's cost. But meanwhile nobody is served. So the loop
commits only while writing is most of what it does and the disk is quick; else the write queue's own thread does it, and
reads go on beside it. (PutItem at 8 connections took 105 µs of processor time on the loop, 178 beside it; of nine reads
and a write, the loop served a third less.)
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from sortkey.engine.database import Database
from sortkey.engine.usual import UsualWork
from sortkey.storage import Done
from sortkey.wire.endpoint import PendingWrite

QUICK_SECONDS: Final = 0.002
"""A commit that takes no longer may hold up the loop."""


class Committing:
    """Takes writes from the endpoint and hands them back when they are durable."""

    def __init__(self, database: Database, finish: Callable[[PendingWrite], None], leads: bool) -> None:
        self._queue = database.store.queue
        self._finish = finish
        self._leads = leads
        self._loop = asyncio.get_running_loop()
        self._planned = False
        self._writes = 0
        self._done: deque[PendingWrite] = deque()
        self._leading = False
        self._woken = False
        self.reads = 0
        """Begun since the last commit was planned."""

    def submit(self, work: UsualWork, done: Done) -> None:
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
        self._planned = False
        self._writes = self.reads = 0
        if not (self._leads and mostly_writing and self._queue.commit_seconds < QUICK_SECONDS and self._lead()):
            self._queue.summon()

    def _lead(self) -> bool:
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
