"""What a data folder shows to an onlooker: its size, its commits, and the snapshots that are open in it.

An inspection opens the folder read-only. It takes no write lock, creates no file, and leaves the slots of ended
processes in LMDB's reader table where they are; the next process that opens the folder to write clears them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import lmdb

from sortkey.storage.environment import FORMAT_KEY, StorageError, open_existing
from sortkey.storage.write_lock import process_that_locks


class Unreadable(StorageError):
    """LMDB could not read the folder at this moment: it is damaged, or all slots for readers are taken."""


class Reader(NamedTuple):
    """A slot of LMDB's reader table."""

    process: int
    snapshot: int | None
    """The number of the commit that it sees; None if it is idle."""
    is_alive: bool


class FolderState(NamedTuple):
    format: str
    bytes_used: int
    commits: int
    slots: int
    """The most snapshots that may be open at once."""
    readers: tuple[Reader, ...]
    """Those of other processes."""


def inspect(path: Path) -> FolderState:
    """Look at a folder that may be in use. Raises StorageError if it is not a data folder of this version."""
    lock_file = path / "lock.mdb"
    # LMDB would create the lock file. Without one, no process has the folder open.
    has_lock_file = lock_file.is_file()
    try:
        with open_existing(path, lock=has_lock_file) as environment:
            info, page = environment.info(), int(environment.stat()["psize"])
            slots = _slots(environment.readers())
            with environment.begin() as snapshot:
                stamp = snapshot.get(FORMAT_KEY, b"")
    except lmdb.Error as error:
        raise Unreadable(f"cannot read the data folder {path}: {error}") from error
    # Only now: closing any handle of the lock file ends all locks that this process has on it.
    readers = _with_liveness(slots, lock_file) if has_lock_file else ()
    return FolderState(stamp.decode(), page * (info["last_pgno"] + 1), info["last_txnid"], info["max_readers"], readers)


def _slots(listing: str) -> list[tuple[int, int | None]]:
    """The processes and snapshots in LMDB's listing, which has a head and the columns pid, thread and txnid."""
    rows = (line.split() for line in listing.splitlines())
    return [
        (int(row[0]), int(row[2]) if row[2].isdigit() else None) for row in rows if len(row) == 3 and row[0].isdigit()
    ]


def _with_liveness(slots: list[tuple[int, int | None]], lock_file: Path) -> tuple[Reader, ...]:
    file = os.open(lock_file, os.O_RDWR)
    try:
        return tuple(
            Reader(process, snapshot, _is_alive(file, process)) for process, snapshot in slots if process != os.getpid()
        )
    finally:
        os.close(file)


def _is_alive(lock_file: int, process: int) -> bool:
    """Every reader locks the byte at its process id, so this holds across containers, where process ids differ."""
    return process_that_locks(lock_file, process, 1) is not None
