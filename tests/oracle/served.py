"""The same engine behind its own endpoint, in a thread: HTTP gives the same answers as the embedded engine."""

from __future__ import annotations

import asyncio
from queue import SimpleQueue
from threading import Thread
from typing import Final

import uvloop

from sortkey.engine.database import Database
from sortkey.http.listener import AllowedHosts, listen, url_of
from sortkey.wire.authentication import NoAuthentication
from sortkey.wire.metrics import NoOtherWorkers
from sortkey.wire.server import Server
from tests.oracle.endpoint import Endpoint

SECONDS: Final = 60


class Served(Endpoint):
    """One server for each test, so that tests do not share tables and streams."""

    def __init__(self) -> None:
        self._database = Database.open()
        self._listening = listen("127.0.0.1", 0)
        self._started: SimpleQueue[tuple[asyncio.AbstractEventLoop, Server]] = SimpleQueue()
        self._thread = Thread(target=self._run)
        self._thread.start()
        self._loop, self._server = self._started.get(timeout=SECONDS)
        super().__init__(url_of(self._listening), namespace="served")

    def close(self) -> None:
        super().close()
        self._loop.call_soon_threadsafe(self._server.stop)
        self._thread.join(SECONDS)
        self._listening.close()
        self._database.close()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = Server(self._database, NoAuthentication(AllowedHosts()), NoOtherWorkers())
        loop = asyncio.get_running_loop()
        await server.serve(self._listening, lambda: self._started.put((loop, server)))
