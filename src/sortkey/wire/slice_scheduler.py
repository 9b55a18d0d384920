"""Requests that take more than one slice: the loop runs a few slices a turn, and answers other requests in between.

Most reads need only a slice or two. So each turn of the loop runs the first slice of one new read, and one slice of one
that is under way; those take turns. Only a few may be under way, since each holds a snapshot and the part of its answer
that it has. A read that is not done after its first slice when there are enough of them waits, and begins again later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from sortkey.engine.operations.fast_path import FastAnswer
from sortkey.engine.operations.slices import Slices
from sortkey.engine.tables.core import Answer
from sortkey.http.connection import PendingAnswer
from sortkey.http.request_parser import Request
from sortkey.wire.route import Route

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
