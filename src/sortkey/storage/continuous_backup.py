"""Copies of a data folder at an interval, until it is told to stop.

The interval is counted from the newest copy in the place, so a process that was killed goes on in the same rhythm, and
one that was restarted does not copy again at once. A copy that fails is reported and tried again soon.

Each copy is whole. LMDB keeps no log from which a younger copy could be made of an older one, and pages move on every
write; the compact, compressed copy of a folder takes a few seconds a gigabyte and is restored in one step.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from sortkey.clock import Clock, monotonic
from sortkey.object_storage import ObjectError
from sortkey.storage.copy_places import CopyPlace, make_copy
from sortkey.storage.environment import StorageError

FIRST_RETRY_SECONDS: Final = 1.0
"""Each further one is twice as long after the failure before it, up to the longest."""
LONGEST_RETRY_SECONDS: Final = 60.0

FAMILIES: Final = {
    "sortkey_backups_total": ("counter", "Copies by outcome: ok or failed; a failed one is tried again."),
    "sortkey_backup_newest_timestamp_seconds": ("gauge", "When the newest copy began, in seconds since 1970."),
    "sortkey_backup_newest_bytes": ("gauge", "The size of the newest copy, compressed."),
    "sortkey_backup_copies": ("gauge", "Copies in the place."),
    "sortkey_backup_duration_seconds": ("gauge", "How long the last copy took."),
}


class Stop(Protocol):
    def is_set(self) -> bool: ...

    def wait(self, seconds: float) -> bool:
        """Whether it was set within this time."""


class Stopped(Exception):
    """While a copy was made. Nothing of it is left."""


class ContinuousBackup:
    """One thread runs it; any may read the samples."""

    def __init__(
        self,
        folder: Path,
        place: CopyPlace,
        keep: int | None,
        clock: Clock,
        stop: Stop,
        report: Callable[[str], None],
    ) -> None:
        """`report` gets a line for each failure."""
        self._folder = folder
        self._place = place
        self._keep = keep
        self._clock = clock
        self._stop = stop
        self._report = report
        self._made = 0
        self._failed = 0
        self._state: dict[str, float] = {}

    def run(self, every: float, ready: Callable[[], None]) -> None:
        """Raises StorageError or ObjectError if the place cannot be read at the start."""
        self._look()
        ready()
        newest = self._state.get("sortkey_backup_newest_timestamp_seconds")
        now = self._clock.now()
        # A copy from the future is one of another clock.
        due = now if newest is None or newest > now else newest + every
        retry = FIRST_RETRY_SECONDS
        while not self._stop.wait(max(0.0, due - self._clock.now())):
            began = self._clock.now()
            try:
                self._copy()
            except Stopped:
                return
            except (ObjectError, StorageError) as error:
                self._failed += 1
                self._report(f"{error}; the next attempt is in {retry:g} s")
                due, retry = self._clock.now() + retry, min(2 * retry, LONGEST_RETRY_SECONDS)
            else:
                due, retry = began + every, FIRST_RETRY_SECONDS

    def _copy(self) -> None:
        began = monotonic()
        make_copy(self._folder, self._place, self._keep, self._clock, self._check_stop)
        self._made += 1
        self._state = self._state | {"sortkey_backup_duration_seconds": monotonic() - began}
        self._look()

    def _check_stop(self, *_: int) -> None:
        if self._stop.is_set():
            raise Stopped

    def _look(self) -> None:
        copies = self._place.copies()
        found = {"sortkey_backup_copies": float(len(copies))}
        if copies:
            found["sortkey_backup_newest_timestamp_seconds"] = copies[-1].at
            found["sortkey_backup_newest_bytes"] = copies[-1].packed.size
        self._state = self._state | found

    def samples(self) -> dict[str, float]:
        counts = {"ok": self._made, "failed": self._failed}
        return {f'sortkey_backups_total{{outcome="{name}"}}': number for name, number in counts.items()} | self._state
