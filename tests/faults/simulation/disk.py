"""A disk that fails, fills, stalls and tears, under a real LMDB environment.

LMDB commits in this order: it writes pages that nothing refers to yet, syncs them, and writes one of two root pages,
synchronously. So these are all the ways in which a commit can end:

    done       all is on disk
    stall      as done, but others run meanwhile
    full       ENOSPC, or the map is full: nothing is changed. The disk stays full for a while
    failed     EIO while pages are written or synced: nothing is changed
    panic      EIO while the root is written. LMDB rejects everything from then on; the commit may be there or not
    crash      power is lost: before the root is written, with any part of the new pages on disk; or after it

After a crash the folder is copied to another one, as it would be on disk, and opened there.
"""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Final, Self

import lmdb

from tests.faults.simulation.scheduler import Scheduler

PAGE: Final = 4096
SECTOR: Final = 512
ROOTS: Final = 2
"""Pages at the beginning of the file, one of which points to the newest commit."""
DATA: Final = "data.mdb"
MAP_FULL: Final = -30792
PANIC: Final = -30795
ERRORS: Final[dict[int, type[lmdb.Error]]] = {MAP_FULL: lmdb.MapFullError, PANIC: lmdb.PanicError}

ENDS: Final = ("done", "stall", "full", "failed", "panic", "crash")
WEIGHTS: Final = (80, 8, 4, 4, 1, 3)
LONGEST_STALL: Final = 20


def disk_error(code: int) -> lmdb.Error:
    error = ERRORS.get(code, lmdb.Error)(f"simulated error {code}")
    vars(error)["code"] = code
    return error


class Disk:
    """Decides how each commit ends, and knows what a crash would leave."""

    def __init__(self, random: Random, scheduler: Scheduler, folder: Path) -> None:
        self.folder = folder
        self.calm = False
        """No more faults."""
        self.panicked = False
        self.faults: dict[str, int] = dict.fromkeys(ENDS, 0)
        self._random = random
        self._scheduler = scheduler
        self._full = 0
        self._image: bytes | None = None
        self._real: lmdb.Environment

    def open(self, real: lmdb.Environment) -> Environment:
        self._real = real
        return Environment(self, real)

    def close(self) -> None:
        self._real.close()

    def begin(self) -> None:
        self._scheduler.point("begin")
        if self.panicked:
            raise disk_error(PANIC)

    def put(self) -> None:
        if self._full and not self.calm and self._random.random() < 0.2:
            raise disk_error(MAP_FULL)

    def commit(self, transaction: lmdb.Transaction[bytes]) -> None:
        end = self._choose()
        self.faults[end] += 1
        self._scheduler.point(f"commit, {end}")
        if end == "stall":
            for _ in range(self._random.randrange(1, LONGEST_STALL)):
                self._scheduler.point("stalled")
        elif end == "full":
            transaction.abort()
            raise disk_error(errno.ENOSPC)
        elif end == "failed":
            transaction.abort()
            raise disk_error(errno.EIO)
        elif end in ("panic", "crash"):
            self._lose_power(transaction, end)
        transaction.commit()

    def _choose(self) -> str:
        if self.calm:
            return "done"
        if self._full:
            self._full -= 1
            return "full"
        (end,) = self._random.choices(ENDS, WEIGHTS)
        if end == "full":
            self._full = self._random.randrange(6)
        return end

    def _lose_power(self, transaction: lmdb.Transaction[bytes], end: str) -> None:
        before = (self.folder / DATA).read_bytes()
        transaction.commit()
        self._image = self._torn(before, (self.folder / DATA).read_bytes())
        if end == "crash":
            self._scheduler.crash()
        self.panicked = True
        raise disk_error(errno.EIO)

    def _torn(self, before: bytes, after: bytes) -> bytes:
        """What is on disk when a commit is interrupted."""
        if self._random.random() < 0.4:
            return after
        share = self._random.choice((0.0, 0.5, 1.0))
        image = bytearray(before.ljust(len(after) if share else len(before), b"\0"))
        for start in range(ROOTS * PAGE, len(image), SECTOR):
            if self._random.random() < share:
                image[start : start + SECTOR] = after[start : start + SECTOR]
        return bytes(image)

    def survive(self, folder: Path) -> None:
        """Make a folder of what a crash leaves."""
        folder.mkdir()
        if self._image is None:
            shutil.copyfile(self.folder / DATA, folder / DATA)
        else:
            (folder / DATA).write_bytes(self._image)


class Environment:
    """The part of lmdb.Environment that the store uses."""

    def __init__(self, disk: Disk, real: lmdb.Environment) -> None:
        self._disk = disk
        self.real = real
        self.stat = real.stat
        self.info = real.info
        self.close = real.close

    def begin(self, write: bool = False) -> Any:
        if not write:
            return self.real.begin()
        self._disk.begin()
        return WriteTransaction(self._disk, self.real.begin(write=True))


class WriteTransaction:
    """The part of lmdb.Transaction that write batches use."""

    def __init__(self, disk: Disk, real: lmdb.Transaction[bytes]) -> None:
        self._disk = disk
        self._real = real
        self.get = real.get
        self.delete = real.delete
        self.cursor = real.cursor

    def put(self, key: bytes, value: bytes) -> bool:
        self._disk.put()
        return self._real.put(key, value)

    def commit(self) -> None:
        self._disk.commit(self._real)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Ended already, unless it raised before the commit.
        if error is not None:
            self._real.abort()
