"""Who has which database open.

LMDB forbids a process to open one file twice, so all clients of a folder share one `Database`; the last to close
closes it. Each client in memory has a database of its own.

A database cannot be carried over a fork: the child would share the parent's locks and its places in LMDB's table of
readers, and closing it there would take them from the parent. So in a child every lease that was taken before the fork
is void, and the folders that were open stay closed to it. A hook at the fork costs callers nothing, where comparing
process ids would cost each call a system call.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Final
from weakref import WeakSet

from sortkey.client.store_url import Store
from sortkey.engine.database import Database

_FORK_ADVICE: Final = "open it after forking only, or start processes by 'spawn' or 'forkserver'"


class Lease:
    """One client's hold on a database; `database` is None once that is over."""

    __slots__ = ("__weakref__", "_ended", "_shelf", "database", "url")

    def __init__(self, shelf: _Shelf, url: str, database: Database) -> None:
        self._shelf = shelf
        self._ended = ""
        self.url = url
        self.database: Database | None = database

    def release(self) -> None:
        """Give the database back; the last one closes it. Giving it back twice is giving it back once."""
        self._shelf.give_back(self)

    def end(self, why: str) -> Database | None:
        database, self.database = self.database, None
        if database is not None:
            self._ended = why
        return database

    def error(self) -> RuntimeError:
        return RuntimeError(f"this client of {self.url!r} {self._ended}")


class _Shelf:
    """The open databases of this process. Its lock is held while one opens or closes, so nobody finds one half open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folders: dict[Path, tuple[Database, int]] = {}
        self._leases: WeakSet[Lease] = WeakSet()
        self._inherited: dict[Path, Database] = {}

    def take(self, store: Store) -> Lease:
        with self._lock:
            lease = Lease(self, store.url, self._database(store.path))
            self._leases.add(lease)
            return lease

    def _database(self, path: Path | None) -> Database:
        if path is None:
            return Database.open(None)
        folder = path.resolve()
        if folder in self._inherited:
            raise RuntimeError(f"{str(path)!r} was open when this process was forked: {_FORK_ADVICE}")
        database, holders = self._folders.get(folder) or (Database.open(folder), 0)
        self._folders[folder] = (database, holders + 1)
        return database

    def give_back(self, lease: Lease) -> None:
        with self._lock:
            database = lease.end("is closed")
            if database is not None and self._was_last(database):
                database.close()

    def _was_last(self, database: Database) -> bool:
        """Count one holder less."""
        folder = database.store.path
        if folder is None:
            return True
        _, holders = self._folders.pop(folder)
        if holders > 1:
            self._folders[folder] = (database, holders - 1)
        return holders == 1

    def forked(self) -> None:
        """In a child: the parent's databases are out of reach."""
        self._lock = threading.Lock()
        for lease in self._leases:
            lease.end(f"was opened before this process was forked: {_FORK_ADVICE}")
        self._inherited.update((folder, database) for folder, (database, _) in self._folders.items())
        self._folders.clear()


_SHELF: Final = _Shelf()
os.register_at_fork(after_in_child=_SHELF.forked)

take = _SHELF.take
