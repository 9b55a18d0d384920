"""The stores of tests that are open in this process, and which of them a request is for.

A request is for the store that its thread or task has opened, or inherited: that is the context's. A thread that was
started without its starter's context has none. It gets the innermost store of the process; if several tests run side
by side, each with a store of its own, the one in which the request's client was made.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, Literal
from weakref import WeakKeyDictionary

from sortkey.engine.database import Database

Others = Literal["allow", "refuse"]
"""What happens to requests of other services."""


class OpenStore:
    """A store from its opening to its end."""

    def __init__(self, database: Callable[[], Database | None], others: Others, outer: OpenStore | None) -> None:
        self._database = database
        self.others = others
        self.outer = outer
        """The one that this one is nested in."""
        self.is_open = True

    @property
    def database(self) -> Database:
        """Raises RuntimeError if its session was closed."""
        database = self._database()
        if database is None:
            raise RuntimeError("the store of this test is not in the process")
        return database


class AmbiguousStore(RuntimeError):
    """Several stores are open side by side, and nothing tells which one a request is for."""


_CURRENT: Final[ContextVar[OpenStore | None]] = ContextVar("sortkey_testing_store", default=None)


class OpenStores:
    """All that are open. Opening and closing are rare; a request reads what they have left."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: tuple[OpenStore, ...] = ()
        self._innermost: tuple[OpenStore, ...] = ()
        """Those in which no other one is nested."""
        self._made_in: WeakKeyDictionary[Any, OpenStore] = WeakKeyDictionary()

    def open(self, database: Callable[[], Database | None], others: Others) -> OpenStore:
        opened = OpenStore(database, others, self._of_context())
        with self._lock:
            self._set((*self._open, opened))
        _CURRENT.set(opened)
        return opened

    def close(self, store: OpenStore) -> bool:
        """Whether it was the last one."""
        store.is_open = False
        with self._lock:
            self._set(tuple(each for each in self._open if each is not store))
            is_last = not self._open
        # The context may be another one than that of `open`: of a fixture's end, for example.
        _CURRENT.set(self._of_context())
        return is_last

    def _set(self, stores: tuple[OpenStore, ...]) -> None:
        outer = {id(each.outer) for each in stores}
        self._open, self._innermost = stores, tuple(each for each in stores if id(each) not in outer)

    def of_request(self, client: Any = None) -> OpenStore | None:
        """The store that a request is for; None if none is open. `client` is what `made` was told."""
        found = self._of_context()
        if found is not None or not self._innermost:
            return found
        innermost = self._innermost
        if len(innermost) == 1:
            return innermost[0]
        own = None if client is None else self._made_in.get(client)
        if own not in innermost:
            raise AmbiguousStore(
                f"{len(innermost)} tests have opened stores in this process, and this thread has the context of none: "
                "run it with contextvars.copy_context().run, or make its client within the test"
            )
        return own

    def made(self, client: Any) -> None:
        """Note in which store a client is made."""
        store = self.of_request()
        if store is not None:
            self._made_in[client] = store

    def _of_context(self) -> OpenStore | None:
        store = _CURRENT.get()
        while store is not None and not store.is_open:
            store = store.outer
        return store


STORES: Final = OpenStores()
