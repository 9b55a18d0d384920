"""The lock of a data folder's writer, which the kernel releases when its process dies.

LMDB has a lock of its own, a mutex in shared memory. When its owner releases it, one waiter is woken. If that one is
killed before it takes the mutex, and another process takes it first, nobody wakes the waiters that are left: they sleep
for ever (two of 36 kills among four writing processes). So processes exclude each other here first, and never wait for
LMDB's mutex.

The lock is one of `fcntl`, on a file that holds nothing. The system releases it however its process ends, wakes all who
wait, and knows who has it. It belongs to a process, not to a thread: threads exclude each other by the queue's lead. A
child that was forked does not have it. Closing any descriptor of the file releases it, so nothing else may open the
file in this process.
"""

from __future__ import annotations

import errno
import os
import struct
import sys
import time
from collections.abc import Callable
from fcntl import F_GETLK, F_UNLCK, F_WRLCK, LOCK_EX, LOCK_NB, LOCK_UN, fcntl, lockf
from functools import partial
from pathlib import Path
from typing import Final

from sortkey.clock import monotonic

WRITE_LOCK_FILE: Final = "write.lock"
RETRY_SECONDS: Final = 0.001
OPENING_SECONDS: Final = 30.0
_CLOSED: Final = -1
_HELD: Final = frozenset({errno.EACCES, errno.EAGAIN})
_IS_DARWIN: Final = sys.platform == "darwin"
_FLOCK: Final = struct.Struct("qqihh" if _IS_DARWIN else "hhqqi")
"""The system's `struct flock`."""


class WriteLock:
    """Its methods but `holder` are for one thread at a time."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError if the file cannot be made."""
        self._file = os.open(folder / WRITE_LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        # Not a method: an interrupt (Ctrl-C) may come at the first step of a Python function, before it does anything.
        self.release: Callable[[], object] = partial(lockf, self._file, LOCK_UN)
        """Does nothing if this process does not have it, or it was closed."""

    def try_acquire(self) -> bool:
        """Whether no other process has it."""
        try:
            lockf(self._file, LOCK_EX | LOCK_NB)
        except OSError as error:
            if error.errno not in _HELD:
                raise
            return False
        return True

    def acquire(self) -> None:
        """Wait until no other process has it."""
        while True:
            try:
                lockf(self._file, LOCK_EX)
                return
            except OSError as error:
                # The system counts by process: two that each write to the same two folders look like a deadlock.
                if error.errno != errno.EDEADLK:
                    raise
            time.sleep(RETRY_SECONDS)

    def __enter__(self) -> None:
        """Wait, but not for ever: whoever opens a folder. Raises TimeoutError, which names the process that has it."""
        until = monotonic() + OPENING_SECONDS
        while not self.try_acquire():
            if monotonic() > until:
                holder = self.holder()
                holds = f"process {holder} holds its write lock" if holder else "another process holds its write lock"
                raise TimeoutError(errno.ETIMEDOUT, holds)
            time.sleep(RETRY_SECONDS)

    def __exit__(self, *_: object) -> None:
        self.release()

    def holder(self) -> int | None:
        """The other process that has it now; 0 if that is in another container."""
        return process_that_locks(self._file, 0, 0)

    def close(self) -> None:
        """May be called again."""
        if self._file != _CLOSED:
            self.release = _nothing
            os.close(self._file)
            self._file = _CLOSED


def _nothing() -> None:
    pass


def process_that_locks(file: int, start: int, length: int) -> int | None:
    """The process that has a lock on these bytes of a file, other than this one; a length of 0 is up to the end."""
    if _IS_DARWIN:
        found = _FLOCK.unpack(fcntl(file, F_GETLK, _FLOCK.pack(start, length, 0, F_WRLCK, os.SEEK_SET)))
        kind, process = found[3], found[2]
    else:
        found = _FLOCK.unpack(fcntl(file, F_GETLK, _FLOCK.pack(F_WRLCK, os.SEEK_SET, start, length, 0)))
        kind, process = found[0], found[4]
    return None if kind == F_UNLCK else max(process, 0)
