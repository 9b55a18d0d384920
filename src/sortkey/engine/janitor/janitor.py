"""The janitor: one thread that does background work in small transactions.

Every step first looks for work in a snapshot, and looks again inside the transaction that does it. So a sweep over a
clean store writes nothing, two processes may sweep at once, and a crash between two chunks loses nothing. Steps take
turns chunk by chunk: filling a large index does not delay the expiry of items.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Final

from sortkey.clock import DEADLINE, monotonic
from sortkey.engine.janitor.backfill import fill_expiries, fill_indexes
from sortkey.engine.janitor.backups import copy_backups, drop_expired_backups
from sortkey.engine.janitor.change_logs import LogTrim
from sortkey.engine.janitor.exports import write_exports
from sortkey.engine.janitor.imports import Imports
from sortkey.engine.janitor.removal import TokenSweep, drop_ownerless_expiries, empty_spaces, expire_items, trim_streams
from sortkey.engine.janitor.restores import fill_restored_tables
from sortkey.engine.tables.core import Core
from sortkey.storage import FolderBusy

Step = Callable[[Core], Iterator[None]]
"""Work in chunks: each `next` does one chunk, and the iterator ends when there is no more work."""

WRITE_WAIT_SECONDS: Final = 1.0
"""How long a chunk, and with it `close`, waits for another process that writes."""

_logger = logging.getLogger(__name__)


class Janitor:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._steps: tuple[Step, ...] = (
            fill_indexes,
            fill_expiries,
            copy_backups,
            fill_restored_tables,
            write_exports,
            Imports(),
            expire_items,
            trim_streams,
            drop_ownerless_expiries,
            empty_spaces,
            drop_expired_backups,
            TokenSweep(),
            LogTrim(),
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
        """Sweep at once instead of after the interval."""
        self._woken.set()

    def sweep(self) -> None:
        """Do all outstanding work in this thread; raises errors."""
        for _ in _in_turns([step(self._core) for step in self._steps]):
            pass

    def close(self) -> None:
        """Stop after the current chunk and wait for it; the rest is done when the folder is opened again."""
        self._closing.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._woken.clear()
            DEADLINE.set(monotonic() + WRITE_WAIT_SECONDS)
            for _ in _in_turns([_surviving(step, self._core) for step in self._steps]):
                if self._closing.is_set():
                    return
                DEADLINE.set(monotonic() + WRITE_WAIT_SECONDS)
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
    """The step; an error is logged and ends it until the next sweep."""
    try:
        yield from step(core)
    except FolderBusy as busy:
        _logger.debug("%s; the next sweep tries again", busy)
    except Exception:
        _logger.exception("a janitor step failed; the next sweep tries again")
