"""The janitor: one thread that does, in the background and in small transactions, what no request waits for.

Every step looks first, in a snapshot, whether there is anything to do, and looks again inside the transaction that
does it. So a sweep over a tidy store writes nothing, two processes may sweep at once, and a crash between two chunks
loses nothing. Steps take turns chunk by chunk: filling a large index does not hold up the expiry of items.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator

from sortkey.engine.core import Core
from sortkey.engine.janitor.backfill import fill_expiries, fill_indexes
from sortkey.engine.janitor.expired_items import expire_items
from sortkey.engine.janitor.garbage import TokenSweep, drop_ownerless_expiries, empty_spaces
from sortkey.engine.janitor.stream_retention import trim_streams

Step = Callable[[Core], Iterator[None]]
"""Work in chunks: each `next` does one, and the end means that there is no more."""

_logger = logging.getLogger(__name__)


class Janitor:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._steps: tuple[Step, ...] = (
            fill_indexes,
            fill_expiries,
            expire_items,
            trim_streams,
            drop_ownerless_expiries,
            empty_spaces,
            TokenSweep(),
        )
        self._woken = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Sweep every `settings.sweep_seconds` from now on, in a thread."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="sortkey-janitor", daemon=True)
            self._thread.start()

    def wake(self) -> None:
        """There is something to do: sweep at once, not at the next tick."""
        self._woken.set()

    def sweep(self) -> None:
        """Do all there is to do, here and now; raises what goes wrong."""
        for _ in _in_turns([step(self._core) for step in self._steps]):
            pass

    def close(self) -> None:
        """Stop after the chunk that is being done, and wait for it; the rest is done when the folder is next opened."""
        self._closing.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._woken.clear()
            for _ in _in_turns([_surviving(step, self._core) for step in self._steps]):
                if self._closing.is_set():
                    return
            self._woken.wait(self._core.settings.sweep_seconds)


def _in_turns(steps: list[Iterator[None]]) -> Iterator[None]:
    """One chunk of each step after another, until all steps have ended."""
    while steps:
        going = []
        for step in steps:
            for _ in step:
                going.append(step)
                yield
                break
        steps = going


def _surviving(step: Step, core: Core) -> Iterator[None]:
    """The step, but an error ends it only until the next sweep."""
    try:
        yield from step(core)
    except Exception:
        _logger.exception("the janitor could not do all of its work, and will try again")
