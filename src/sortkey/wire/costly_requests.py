"""Requests that would keep the loop too long: reads and conditions in slices, large bodies on threads."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

from sortkey.engine.operations.fast_path import FastAnswer
from sortkey.engine.operations.rehearsal import CostlyWork
from sortkey.engine.operations.slices import Slices
from sortkey.engine.tables.core import Answer, Core
from sortkey.errors import ThrottlingException
from sortkey.http.connection import Defer, PendingAnswer
from sortkey.http.request_parser import Request
from sortkey.limits import KIB, MIB
from sortkey.wire.commit_scheduler import PendingWrite
from sortkey.wire.protocol import Route

UNDER_WAY: Final = 8
"""Reads that have done their first slice and not their last."""


class PendingRead:
    """A read between its request and its answer."""

    __slots__ = (
        "_begin",
        "_slices",
        "advance",
        "answer",
        "hides_capacity",
        "pending",
        "request",
        "route",
        "size",
        "started",
    )

    def __init__(
        self,
        begin: Callable[[], Slices[Answer]],
        advance: Callable[[PendingRead], bool],
        route: Route,
        request: Request,
        started: float,
        size: int,
        hides_capacity: bool = False,
    ) -> None:
        """`begin` makes the slices. `advance` runs one, and answers after the last; it returns whether it was that."""
        self._begin = begin
        self._slices: Slices[Answer] | Slices[FastAnswer] | None = None
        self.advance = advance
        self.route = route
        self.request = request
        self.started = started
        self.size = size
        self.hides_capacity = hides_capacity
        self.pending: PendingAnswer
        self.answer: Answer | FastAnswer = {}

    def go_on_with(self, slices: Slices[FastAnswer]) -> None:
        """The first slice has been done elsewhere; these are the others."""
        self._slices = slices

    @property
    def begun(self) -> bool:
        """Whether its first slice is done."""
        return self._slices is not None

    def run_slice(self) -> bool:
        """Whether it was the last one; then `answer` is set. Raises what the operation raises."""
        if self._slices is None:
            self._slices = self._begin()
        try:
            next(self._slices)
        except StopIteration as end:
            self.answer = end.value
            return True
        return False

    def drop(self) -> None:
        """Free what it holds. The next slice is its first again."""
        if self._slices is not None:
            self._slices.close()
            self._slices = None


class SliceScheduler:
    """Requests that take more than one slice: the loop runs a few slices a turn, and answers other requests in between.

    Most reads need only a slice or two. So each turn of the loop runs the first slice of one new read, and one slice of
    one that is under way; those take turns. Only a few may be under way, since each holds a snapshot and the part of
    its answer that it has. A read that is not done after its first slice when there are enough of them waits, and
    begins again later.
    """

    def __init__(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        self._call_soon = call_soon
        self._new: deque[PendingRead] = deque()
        self._waiting: deque[PendingRead] = deque()
        self._under_way: deque[PendingRead] = deque()
        self._planned = False
        self.bytes = 0
        """Of the requests that are not done."""

    def __len__(self) -> int:
        """Reads that are not done. If there are any, another read has to wait for its turn, too."""
        return len(self._new) + len(self._waiting) + len(self._under_way)

    def add(self, read: PendingRead) -> None:
        self.bytes += read.size
        if read.begun:
            self._keep(read)
        else:
            self._new.append(read)
        self._plan()

    def _plan(self) -> None:
        if not self._planned:
            self._planned = True
            self._call_soon(self._turn)

    def _turn(self) -> None:
        self._planned = False
        try:
            if self._under_way:
                self._run(self._under_way.popleft())
            if self._new:
                self._run(self._new.popleft())
            elif self._waiting and len(self._under_way) < UNDER_WAY:
                self._run(self._waiting.popleft())
        finally:
            # Whatever failed, the other reads go on.
            if len(self):
                self._plan()

    def _run(self, read: PendingRead) -> None:
        if read.pending.abandoned:
            read.drop()
            self.bytes -= read.size
            return
        ended = True
        try:
            ended = read.advance(read)
        finally:
            if ended:
                self.bytes -= read.size
        if not ended:
            self._keep(read)

    def _keep(self, read: PendingRead) -> None:
        if len(self._under_way) < UNDER_WAY:
            self._under_way.append(read)
        else:
            read.drop()
            self._waiting.append(read)


REHEARSALS: Final = 4

_logger = logging.getLogger(__name__)


class CostlyWrites:
    """Writes with costly conditions: they are rehearsed in slices, and only then submitted.

    If an item changes between its rehearsal and the writer's turn, the write ends without effect and is rehearsed
    again, a few times. What follows on the connection waits for it, because a write that is rehearsed again would be
    overtaken.
    """

    def __init__(
        self,
        core: Core,
        slices: SliceScheduler,
        submit: Callable[[PendingWrite], None],
        fail: Callable[[PendingWrite], None],
    ) -> None:
        """`fail` answers a write that cannot be submitted."""
        self._core = core
        self._slices = slices
        self._submit = submit
        self._fail = fail

    def begin(self, work: CostlyWork[Any], write: PendingWrite, defer: Defer) -> None:
        """Rehearse the write; submit it, if one slice suffices."""
        rehearsal = self._rehearsal(work, write)
        rehearsed = not len(self._slices) and rehearsal.run_slice()
        if rehearsed:
            self._submit(write)
        write.pending = rehearsal.pending = defer()
        write.pending.overlaps = False
        if not rehearsed:
            self._slices.add(rehearsal)

    def is_rehearsed_again(self, write: PendingWrite) -> bool:
        """Whether a write gets another turn, after it has ended with NotRehearsed."""
        work = write.work
        if not isinstance(work, CostlyWork):
            return False
        if write.rehearsals + 1 == REHEARSALS:
            write.error = ThrottlingException(
                "The items change faster than the condition can be evaluated; retry with a longer pause."
            )
            return False
        rehearsal = self._rehearsal(work, write.again())
        rehearsal.pending = write.pending
        self._slices.add(rehearsal)
        return True

    def _rehearsal(self, work: CostlyWork[Any], write: PendingWrite) -> PendingRead:
        begin = partial(work.rehearse, self._core)
        advance = partial(self._advance, write)
        return PendingRead(begin, advance, write.route, write.request, write.started, write.size)

    def _advance(self, write: PendingWrite, rehearsal: PendingRead) -> bool:
        """Run a slice, and submit the write after the last one; returns whether it was."""
        try:
            if not rehearsal.run_slice():
                return False
            self._submit(write)
        except Exception:
            _logger.exception("%s failed", write.route.operation)
            self._fail(write)
        return True


Result = TypeVar("Result")
Done = Callable[[Result | None, BaseException | None], None]

LARGE_BYTES: Final = 64 * KIB
"""Larger bodies are large. The loop decodes others itself, which takes milliseconds at most."""
ITEM_BODY_BYTES: Final = MIB
"""Larger bodies have a thread of their own. An item of 400 KB has less, unless most of it is tiny values."""


class LargeRequests:
    """Large requests: threads decode and check them, one after the other, while the loop answers others.

    A body of 16 MB can have a million values, and to make them canonical takes seconds. What follows on the connection
    waits meanwhile. There is one thread for bodies that a single item can have, and one for larger ones: a client that
    sends batches of 16 MB delays nobody's item of 300 KB. More threads would gain nothing: they compete with the loop
    for the interpreter, and each such request takes much memory.
    """

    def __init__(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        """`call_soon` runs a call on the loop; it may be called on any thread."""
        self._call_soon = call_soon
        self._items = ThreadPoolExecutor(1, "sortkey-large-requests")
        self._batches = ThreadPoolExecutor(1, "sortkey-largest-requests")
        self.bytes = 0
        """Of the bodies that wait or are being decoded."""

    def begin(self, size: int, work: Callable[[], Result], done: Done[Result]) -> None:
        """Run the work on a thread, and then `done(result, error)` on the loop."""
        self.bytes += size
        thread = self._items if size <= ITEM_BODY_BYTES else self._batches
        thread.submit(work).add_done_callback(lambda ended: self._call_soon(partial(self._end, size, done, ended)))

    def close(self) -> None:
        """Wait for the requests that are being decoded; those that wait are dropped."""
        for thread in (self._items, self._batches):
            thread.shutdown(cancel_futures=True)

    def _end(self, size: int, done: Done[Result], ended: Future[Result]) -> None:
        self.bytes -= size
        if ended.cancelled():
            return
        error = ended.exception()
        done(None if error is not None else ended.result(), error)
