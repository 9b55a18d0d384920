"""Large requests: threads decode and check them, one after the other, while the loop answers others.

A body of 16 MB can have a million values, and to make them canonical takes seconds. What follows on the connection
waits meanwhile. There is one thread for bodies that a single item can have, and one for larger ones: a client that
sends batches of 16 MB delays nobody's item of 300 KB. More threads would gain nothing: they compete with the loop for
the interpreter, and each such request takes much memory.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

from sortkey.limits import KIB, MIB

Result = TypeVar("Result")
Done = Callable[[Result | None, BaseException | None], None]

LARGE_BYTES: Final = 64 * KIB
"""Larger bodies are large. The loop decodes others itself, which takes milliseconds at most."""
ITEM_BODY_BYTES: Final = MIB
"""Larger bodies have a thread of their own. An item of 400 KB has less, unless most of it is tiny values."""


class LargeRequests:
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
