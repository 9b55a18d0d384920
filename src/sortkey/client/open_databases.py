"""The databases that this process has open, and the clients that use them.

LMDB forbids a process to open one file twice, so all clients of a folder share one `Database`; the last client to close
closes it. So do those of `memory:NAME`. Each client of `memory:` has a database of its own.

A client that is collected without having been closed leaves its handle here, and a thread closes it. The collection may
happen anywhere, even in a thread that holds a lock of this module or of the database, so nothing may wait there.

A database cannot be used across a fork: the child would share the parent's locks and its slots in LMDB's reader table,
and closing it there would take them from the parent. So in a child, every handle opened before the fork is closed, and
the stores that were open cannot be opened. A hook at the fork costs calls nothing; comparing process ids would cost
each call a system call.
"""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Final
from weakref import WeakSet

from sortkey.client.stores import StoreAddress
from sortkey.engine.database import Database
from sortkey.engine.faults.faults import Faults
from sortkey.engine.faulty_database import open_database as start_database
from sortkey.engine.tables.core import Settings

_FORK_ADVICE: Final = "open it after the fork, or start processes with 'spawn' or 'forkserver'"
_Shared = Path | str
"""What clients share a database by: a folder, or a name in memory."""


_logger = logging.getLogger(__name__)


class DatabaseHandle:
    """One client's use of a database; `database` is None once the handle is closed."""

    __slots__ = ("__weakref__", "_open_databases", "_reason", "database", "shared", "url")

    def __init__(self, open_databases: _OpenDatabases, url: str, database: Database, shared: _Shared | None) -> None:
        self._open_databases = open_databases
        self.shared = shared
        """The folder, or the name in memory, that it is shared by; None if it is this client's own."""
        self._reason = ""
        self.url = url
        self.database: Database | None = database

    def close(self) -> None:
        """Release the database; the last handle closes it. Closing twice is harmless."""
        self._open_databases.release(self)

    def abandon(self) -> None:
        """Release the database soon, on another thread. Waits for nothing, so that a finalizer may call it."""
        self._open_databases.abandoned.put(self)

    def detach(self, reason: str) -> Database | None:
        """Forget the database, and return it; later calls raise with this reason."""
        database, self.database = self.database, None
        if database is not None:
            self._reason = reason
        return database

    def closed_error(self) -> RuntimeError:
        return RuntimeError(f"this client of {self.url!r} {self._reason}")


class _OpenDatabases:
    """The lock is held while a database opens or closes, so that no client gets one half open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shared: dict[_Shared, tuple[Database, int]] = {}
        """The database of each folder and of each name in memory, and the number of its handles."""
        self._handles: WeakSet[DatabaseHandle] = WeakSet()
        self._inherited: dict[_Shared, Database] = {}
        self.abandoned: SimpleQueue[DatabaseHandle] = SimpleQueue()
        """Its `put` may be called while another `put` of the same thread is under way."""
        self._releasing: threading.Thread | None = None

    def open(self, store: StoreAddress, faults: Faults | None = None) -> DatabaseHandle:
        with self._lock:
            if self._releasing is None:
                self._releasing = threading.Thread(target=self._release_abandoned, name="sortkey-release", daemon=True)
                self._releasing.start()
            shared = store.name or None if store.path is None else store.path.resolve()
            handle = DatabaseHandle(self, store.url, self._database(store, shared, faults), shared)
            self._handles.add(handle)
            return handle

    def _database(self, store: StoreAddress, shared: _Shared | None, faults: Faults | None) -> Database:
        settings = Settings(buckets=store.buckets)
        if shared is None:
            return start_database(None, faults, settings)
        shown = store.url if store.path is None else str(store.path)
        if shared in self._inherited:
            raise RuntimeError(f"{shown!r} was open when this process was forked: {_FORK_ADVICE}")
        folder = shared if isinstance(shared, Path) else None
        database, handles = self._shared.get(shared) or (start_database(folder, faults, settings), 0)
        if database.faults != faults:
            raise ValueError(f"{shown!r} is open in this process with {database.faults}; open it with the same faults")
        if store.buckets not in (None, database.settings.buckets):
            raise ValueError(f"{shown!r} is open in this process with other buckets, or with none")
        self._shared[shared] = (database, handles + 1)
        return database

    def lend(self, name: str, database: Database) -> None:
        """Let clients of `memory:NAME` use a database that somebody else opens and closes."""
        with self._lock:
            if name in self._shared:
                raise ValueError(f"'memory:{name}' is open in this process already")
            self._shared[name] = (database, 1)

    def take_back(self, name: str) -> None:
        """End what `lend` began. Clients that are still open are closed."""
        with self._lock:
            self._shared.pop(name, None)
            for handle in self._handles:
                if handle.shared == name:
                    handle.detach("belongs to regions that are closed")

    def release(self, handle: DatabaseHandle) -> None:
        with self._lock:
            database = handle.detach("is closed")
            if database is not None and self._was_last(handle.shared):
                database.close()

    def _was_last(self, shared: _Shared | None) -> bool:
        """Count one handle less; whether it was the last one."""
        if shared is None:
            return True
        database, handles = self._shared.pop(shared)
        if handles > 1:
            self._shared[shared] = (database, handles - 1)
        return handles == 1

    def _release_abandoned(self) -> None:
        abandoned = self.abandoned
        while True:
            try:
                abandoned.get().close()
            except Exception:
                _logger.exception("a store that was not closed could not be released")

    def after_fork(self) -> None:
        """In a child process: detach all handles from the parent's databases."""
        self._lock = threading.Lock()
        self.abandoned, self._releasing = SimpleQueue(), None
        for handle in self._handles:
            handle.detach(f"was opened before this process was forked: {_FORK_ADVICE}")
        self._inherited.update((shared, database) for shared, (database, _) in self._shared.items())
        self._shared.clear()


_OPEN_DATABASES: Final = _OpenDatabases()
os.register_at_fork(after_in_child=_OPEN_DATABASES.after_fork)

open_database = _OPEN_DATABASES.open
lend_database = _OPEN_DATABASES.lend
take_back_database = _OPEN_DATABASES.take_back
