"""The app on a socket: uvicorn, as it is to be run here."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn

from sortkey.server.connection import IDLE_SECONDS, Connection
from sortkey.server.front import Front
from sortkey.server.metrics import Metrics
from sortkey.wire.server import BACKLOG, GRACE_SECONDS

TICKS_A_SECOND: Final = 10
"""uvicorn's, of its main loop."""


class HttpServer(uvicorn.Server):
    """Serves until `stop`; then every request that has begun is answered."""

    def __init__(self, front: Front, metrics: Metrics) -> None:
        super().__init__(
            uvicorn.Config(
                front,
                http=Connection,
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                log_level="error",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                backlog=BACKLOG,
                timeout_keep_alive=IDLE_SECONDS,
                timeout_graceful_shutdown=int(GRACE_SECONDS),
            )
        )
        self._metrics = metrics
        self._ready: Callable[[], None]

    async def serve_on(self, listening: socket.socket, ready: Callable[[], None]) -> None:
        self._ready = ready
        await self.serve([listening])

    def stop(self) -> None:
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals belong to whoever runs the server. uvicorn would end the process by them once it has stopped."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def on_tick(self, counter: int) -> bool:
        if counter % TICKS_A_SECOND == 0:
            connections = tuple(self.server_state.connections)
            self._metrics.connections = len(connections)
            for connection in connections:
                if isinstance(connection, Connection):
                    connection.check()
        return await super().on_tick(counter)
