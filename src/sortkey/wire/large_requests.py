"""Large requests: a thread decodes and checks them, one after the other, while the loop answers others.

A body of 16 MB can have a million values, and to make them canonical takes seconds. What follows on the connection
waits meanwhile. One thread is enough: it competes with the loop for the interpreter, and each such request takes much
memory.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

from sortkey.limits import KIB

Result = TypeVar("Result")
Done = Callable[[Result | None, BaseException | None], None]

LARGE_BYTES: Final = 64 * KIB
"""Larger bodies are large. The loop decodes others itself, which takes milliseconds at most."""


class LargeRequests:
    def __init__(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        """`call_soon` runs a call on the loop; it may be called on any thread."""
        self._call_soon = call_soon
        self._thread = ThreadPoolExecutor(1, "sortkey-large-requests")
        self.bytes = 0
        """Of the bodies that wait or are being decoded."""

    def begin(self, size: int, work: Callable[[], Result], done: Done[Result]) -> None:
        """Run the work on the thread, and then `done(result, error)` on the loop."""
        self.bytes += size
        self._thread.submit(work).add_done_callback(
            lambda ended: self._call_soon(partial(self._end, size, done, ended))
        )

    def close(self) -> None:
        """Wait for the request that is being decoded; those that wait are dropped."""
        self._thread.shutdown(cancel_futures=True)

    def _end(self, size: int, done: Done[Result], ended: Future[Result]) -> None:
        self.bytes -= size
        if ended.cancelled():
            return
        error = ended.exception()
        done(None if error is not None else ended.result(), error)
