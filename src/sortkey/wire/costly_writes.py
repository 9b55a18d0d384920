"""Writes with costly conditions: they are rehearsed in slices, and only then submitted.

If an item changes between its rehearsal and the writer's turn, the write ends without effect and is rehearsed again, a
few times. What follows on the connection waits for it, because a write that is rehearsed again would be overtaken.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from sortkey.engine.operations.rehearsal import CostlyWork
from sortkey.engine.tables.core import Core
from sortkey.errors import ThrottlingException
from sortkey.http.connection import Defer
from sortkey.wire.commit_scheduler import PendingWrite
from sortkey.wire.slice_scheduler import PendingRead, SliceScheduler

REHEARSALS: Final = 4

_logger = logging.getLogger(__name__)


class CostlyWrites:
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
