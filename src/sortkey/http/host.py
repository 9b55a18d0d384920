"""The sockets: one event loop's connections, and their end.

Nothing here knows what the bytes mean. A stop closes the door, lets every request that has arrived be answered, closes
the connections, and only then returns.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

from sortkey.http.connection import Connection, RequestHandler
from sortkey.http.metrics import ServerMetrics
from sortkey.http.outbox import Outbox

CONNECTIONS: Final = 10_000
OTHER_FILES: Final = 64
"""Files that are open besides connections."""
BACKLOG: Final = 4096
GRACE_SECONDS: Final = 10.0
"""For clients to send the rest of what they began, and to take their answers, before a stop leaves them."""


class Host(ABC):
    """Serves until told to stop. Belongs to one event loop."""

    def __init__(self, metrics: ServerMetrics) -> None:
        self._connections: set[Connection] = set()
        self._room = connections_allowed()
        self._stop = asyncio.Event()
        self._all_left = asyncio.Event()
        self.metrics = metrics
        self.tick = 0
        self.buffered = 0
        self.stopping = False
        self.call_soon: Callable[[Callable[[], None]], object] = asyncio.get_running_loop().call_soon
        self.outbox = Outbox(metrics, self.call_soon)

    @abstractmethod
    def handler(self, peer: str) -> RequestHandler:
        """Who answers the requests of a connection from there."""

    @abstractmethod
    def second(self) -> None:
        """Another second has passed."""

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
        metrics = self.metrics
        metrics.connections = len(self._connections)
        metrics.connections_accepted += 1
        welcome = metrics.connections <= self._room
        if not welcome:
            metrics.connections_rejected += 1
        return welcome

    def leaves(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self.metrics.connections = len(self._connections)
        if self.stopping and not self._connections:
            self._all_left.set()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(1)
            self.tick += 1
            for connection in tuple(self._connections):
                connection.check()
            self.second()

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
