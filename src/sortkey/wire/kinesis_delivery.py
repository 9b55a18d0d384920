"""Delivers the changes of tables to their Kinesis streaming destinations, in a thread that no writer waits for.

Each destination is delivered in order and by itself: one that fails is tried again after a pause, which grows, while
the others go on. Of several processes on one folder, one delivers; if it ends, another takes over.
"""

from __future__ import annotations

import fcntl
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from sortkey.clock import DEADLINE, monotonic
from sortkey.engine.rows.records import space_bytes
from sortkey.engine.streams import kinesis_records
from sortkey.engine.streams.kinesis_records import Destination
from sortkey.engine.tables.core import Core
from sortkey.storage import FolderBusy
from sortkey.wire.kinesis_targets import FAILURES, Target

POLL_SECONDS: Final = 1.0
"""How often changes of other processes are looked for; those of this one wake the thread."""
FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 60.0
WRITE_WAIT_SECONDS: Final = 1.0
LOCK: Final = "kinesis.lock"

_logger = logging.getLogger(__name__)


class KinesisDelivery:
    def __init__(self, core: Core, target: Target, data: Path | None) -> None:
        """`data` is the folder that other processes may deliver from as well; None for memory."""
        self._core = core
        self._target = target
        self._data = data
        self._spaces: frozenset[bytes] = frozenset()
        self._pauses: dict[int, tuple[float, float]] = {}
        """Of destinations that failed, by their space: until when, and how long."""
        self._woken = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sortkey-kinesis", daemon=True)
        self._stop_listening = core.signal.listen(self._on_commit)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop after the request that is under way, and wait for it. The rest is delivered when a process starts."""
        self._stop_listening()
        self._closing.set()
        self._woken.set()
        self._thread.join()

    def _on_commit(self, streams: set[bytes]) -> None:
        if not self._spaces.isdisjoint(streams):
            self._woken.set()

    def _run(self) -> None:
        lock = None if self._data is None else (self._data / LOCK).open("wb")
        try:
            while not self._closing.is_set():
                self._woken.clear()
                if lock is None or _take(lock):
                    self._deliver_surviving()
                self._woken.wait(POLL_SECONDS)
        finally:
            if lock is not None:
                lock.close()

    def _deliver_surviving(self) -> None:
        try:
            self.deliver()
        except Exception:
            _logger.exception("the delivery to Kinesis failed; the next round tries again")

    def deliver(self) -> None:
        """Deliver what there is to every destination that is not paused."""
        found = kinesis_records.destinations(self._core)
        self._spaces = frozenset(space_bytes(each.stream.space) for each in found)
        for destination in found:
            until, _ = self._pauses.get(destination.stream.space, (0.0, 0.0))
            if monotonic() >= until and not self._closing.is_set():
                with self._surviving(destination):
                    self._deliver_to(destination)
                    self._pauses.pop(destination.stream.space, None)

    def _deliver_to(self, destination: Destination) -> None:
        while records := kinesis_records.pending(self._core, destination):
            for batch in self._target.batches(records):
                if self._closing.is_set():
                    return
                self._target.put(destination, batch)
                deadline = DEADLINE.set(monotonic() + WRITE_WAIT_SECONDS)
                try:
                    kinesis_records.remove(self._core, batch)
                finally:
                    DEADLINE.reset(deadline)

    @contextmanager
    def _surviving(self, destination: Destination) -> Iterator[None]:
        try:
            yield
        except FolderBusy as busy:
            _logger.debug("%s; delivered again later", busy)
        except FAILURES as error:
            self._pause(destination, error)
        except Exception as error:
            _logger.exception("changes of table %s cannot be delivered", destination.table)
            self._pause(destination, error)

    def _pause(self, destination: Destination, error: Exception) -> None:
        space = destination.stream.space
        _, before = self._pauses.get(space, (0.0, 0.0))
        pause = min(LONGEST_PAUSE, 2 * before or FIRST_PAUSE)
        self._pauses[space] = monotonic() + pause, pause
        _logger.warning(
            "changes of table %s wait for the Kinesis stream %s: %s; tried again in %g s",
            destination.table,
            destination.name,
            error,
            pause,
        )


def _take(lock: IO[bytes]) -> bool:
    """Whether this process is the one that delivers."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
