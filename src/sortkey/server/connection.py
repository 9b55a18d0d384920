"""uvicorn's connection, with an end to all that a client can make it wait for or keep.

uvicorn itself ends connections that are idle after an answer. It would wait forever for a first request, for the rest
of one, and for a client to take its answer, and would keep a head of any size.
"""

from __future__ import annotations

import asyncio
from typing import Final, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from sortkey.limits import KIB
from sortkey.server.failures import INVALID, OVERLOADED, Failure
from sortkey.server.joined import Joined
from sortkey.wire.server import connections_allowed

HEAD_BYTES: Final = 64 * KIB
PATIENCE_SECONDS: Final = 60
"""For a head, for a body, and for an answer to be taken."""
IDLE_SECONDS: Final = 350
"""Between requests: longer than what stands before a server keeps its connections, so that it is not us who close."""

_ROOM: Final = connections_allowed()


class Connection(HttpToolsProtocol):
    in_head = False
    head_bytes = 0
    waiting: tuple[str, int] | None = None
    """For what, and of which request."""
    waited = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(cast(asyncio.Transport, Joined(transport, self.loop)))
        if len(self.connections) > _ROOM:
            self._refuse(Failure(503, OVERLOADED, "Too many connections are open; try again."))

    def on_message_begin(self) -> None:
        self.in_head = True
        self.head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self.in_head = False
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.in_head:
            self.head_bytes += len(data)
            if self.head_bytes > HEAD_BYTES:
                self._refuse(Failure(431, "too_large", f"The head is too large: at most {HEAD_BYTES:,} bytes."))

    def send_400_response(self, msg: str) -> None:
        self._refuse(Failure(400, INVALID, msg))

    def check(self) -> None:
        """Called once a second."""
        waiting = self._waits_for()
        self.waited = self.waited + 1 if waiting is not None and waiting == self.waiting else 0
        self.waiting = waiting
        if self.waited >= PATIENCE_SECONDS:
            self.transport.abort()

    def _waits_for(self) -> tuple[str, int] | None:
        cycle = self._current()
        if self.flow.write_paused:
            return "reader", id(cycle)
        if cycle is None or cycle.response_complete:
            idle = self.timeout_keep_alive_task is not None and not self.in_head
            return None if idle else ("head", id(cycle))
        return ("body", id(cycle)) if cycle.more_body else None

    def _current(self) -> RequestResponseCycle | None:
        """The newest request; uvicorn's annotation hides that there is none at first."""
        return self.cycle

    def _refuse(self, failure: Failure) -> None:
        if self.transport.is_closing():
            return
        body = failure.json()
        head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[failure.status] + head + body)
        self.transport.close()
