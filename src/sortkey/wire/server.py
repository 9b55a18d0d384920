"""The sockets: one process's event loop, its connections, and its end.

Nothing here knows what the bytes mean. A stop closes the door, lets every request that has arrived be answered, closes
the connections, and only then returns; the caller then closes the database.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import secrets
import socket
from collections.abc import Callable
from typing import Final

from sortkey.engine.database import Database
from sortkey.wire.committing import Committing
from sortkey.wire.connection import Connection
from sortkey.wire.endpoint import Endpoint, PendingWrite
from sortkey.wire.gate import Gate
from sortkey.wire.metrics import Metrics
from sortkey.wire.prometheus import Samples, merged
from sortkey.wire.response import ID_LETTERS, IDENTITY_LETTERS, Responses
from sortkey.wire.siblings import Siblings

CONNECTIONS: Final = 10_000
OTHER_FILES: Final = 64
"""Files that are open besides connections."""
BACKLOG: Final = 4096
GRACE_SECONDS: Final = 10.0
"""For clients to send the rest of what they began, and to take their answers, before a stop leaves them."""


class Server:
    """Serves one database until told to stop. Belongs to one event loop."""

    def __init__(self, database: Database, gate: Gate, siblings: Siblings, leads: bool = False) -> None:
        """A server that `leads` may commit on its loop: one that has the loop and the data folder to itself."""
        loop = asyncio.get_running_loop()
        self._database = database
        self._siblings = siblings
        identity = "".join(secrets.choice(ID_LETTERS) for _ in range(IDENTITY_LETTERS))
        self._responses = Responses(identity, database.clock.now())
        committing = Committing(database, self._finish, leads)
        self._connections: set[Connection] = set()
        self._room = connections_allowed()
        self._stop = asyncio.Event()
        self._all_left = asyncio.Event()
        self.metrics = Metrics()
        self.endpoint = Endpoint(database, self._responses, self.metrics, gate, committing, self._samples_of_all)
        self.tick = 0
        self.buffered = 0
        self.stopping = False
        self.call_soon: Callable[[Callable[[], None]], object] = loop.call_soon

    async def serve(self, listening: socket.socket, ready: Callable[[], None]) -> None:
        """Accept connections until `stop`, then until everything under way is answered."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Connection(self), sock=listening, backlog=BACKLOG)
        ticking = asyncio.create_task(self._tick())
        ready()
        await self._stop.wait()
        self.stopping = True
        server.close()
        await self._part()
        ticking.cancel()

    def stop(self) -> None:
        self._stop.set()

    def joins(self, connection: Connection) -> bool:
        self._connections.add(connection)
        self.metrics.connections_accepted += 1
        if len(self._connections) > self._room:
            self.metrics.connections_refused += 1
            return False
        return True

    def leaves(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if self.stopping and not self._connections:
            self._all_left.set()

    def samples(self) -> Samples:
        """This process's numbers."""
        self.metrics.connections = len(self._connections)
        return self.metrics.samples() | {
            "sortkey_queued_writes": self.endpoint.queued,
            "sortkey_commits_total": self._database.store.queue.commits,
        }

    def _samples_of_all(self) -> Samples:
        own = {"sortkey_store_bytes": float(self._database.store.bytes_used())}
        return merged([self.samples(), *self._siblings.others()]) | own

    def _finish(self, write: PendingWrite) -> None:
        self.endpoint.finish(write)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(1)
            self.tick += 1
            self._responses.tick(self._database.clock.now())
            for connection in tuple(self._connections):
                connection.check()
            self._siblings.publish(self.samples())

    async def _part(self) -> None:
        for connection in tuple(self._connections):
            connection.stop()
        if not self._connections:
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._all_left.wait(), GRACE_SECONDS)
        for connection in tuple(self._connections):
            connection.abort()


def connections_allowed() -> int:
    """As many as wanted, or as the system lets the process have files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS + OTHER_FILES
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(CONNECTIONS, soft - OTHER_FILES)
