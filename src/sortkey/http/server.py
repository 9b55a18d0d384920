"""A server's sockets: accepts connections on one event loop, and ends them.

A stop accepts no more connections, waits until every request that has arrived is answered, and closes the connections.
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
from sortkey.http.receiving import ArrivingBodies, ReceivingTurns
from sortkey.http.request_parser import KnownHeads
from sortkey.http.sending import Outbox, UnsentAnswers

CONNECTIONS: Final = 10_000
OTHER_FILES: Final = 64
"""Files that are open besides connections."""
BACKLOG: Final = 4096
GRACE_SECONDS: Final = 10.0
"""At a stop, for clients to send the rest of a request and to take their answers."""


class HttpServer(ABC):
    """Serves until `stop`. Belongs to one event loop."""

    def __init__(self, metrics: ServerMetrics) -> None:
        self._connections: set[Connection] = set()
        self._room = connections_allowed()
        self._stop = asyncio.Event()
        self._all_closed = asyncio.Event()
        self.metrics = metrics
        self.tick = 0
        self.arriving = ArrivingBodies()
        self.unsent = UnsentAnswers()
        self.heads = KnownHeads()
        self.stopping = False
        self.call_soon: Callable[[Callable[[], None]], object] = asyncio.get_running_loop().call_soon
        self.outbox = Outbox(metrics, self.call_soon)
        self.receiving = ReceivingTurns(self.call_soon)

    @abstractmethod
    def handler_for(self, peer: str) -> RequestHandler:
        """Answers the requests of a connection from this address."""

    @abstractmethod
    def each_second(self) -> None:
        """Called once a second."""

    async def serve(self, listening: socket.socket, ready: Callable[[], None]) -> None:
        """Accept connections until `stop`; then wait until everything under way is answered."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Connection(self), sock=listening, backlog=BACKLOG)
        ticking = asyncio.create_task(self._tick())
        ready()
        await self._stop.wait()
        self.stopping = True
        server.close()
        await self._close_connections()
        ticking.cancel()

    def stop(self) -> None:
        self._stop.set()

    def add(self, connection: Connection) -> bool:
        self._connections.add(connection)
        metrics = self.metrics
        metrics.connections = len(self._connections)
        metrics.connections_accepted += 1
        has_room = metrics.connections <= self._room
        if not has_room:
            metrics.connections_rejected += 1
        return has_room

    def remove(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self.metrics.connections = len(self._connections)
        if self.stopping and not self._connections:
            self._all_closed.set()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(1)
            self.tick += 1
            self._check_connections()
            self.each_second()

    def _check_connections(self) -> None:
        """A method, so that no variable keeps the last connection after it has closed."""
        for connection in tuple(self._connections):
            connection.check()

    async def _close_connections(self) -> None:
        for connection in tuple(self._connections):
            connection.stop()
        if not self._connections:
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._all_closed.wait(), GRACE_SECONDS)
        for connection in tuple(self._connections):
            connection.abort()


def connections_allowed() -> int:
    """`CONNECTIONS`, or fewer where the system limits open files; raises the soft limit if it can."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS + OTHER_FILES
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(CONNECTIONS, soft - OTHER_FILES)
