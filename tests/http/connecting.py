"""Connections without sockets, on a server whose seconds and turns are under the test's control."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from sortkey.http.connection import Connection, Defer, PendingAnswer, RequestHandler
from sortkey.http.metrics import ServerMetrics
from sortkey.http.receiving import ArrivingBodies, ReceivingTurns
from sortkey.http.request_parser import BODY_BYTES, KnownHeads, Request, RequestError
from sortkey.http.response import ResponseWriter
from sortkey.http.sending import Outbox, UnsentAnswers

READ = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
WRITE = b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\n" + bytes(40)
WRONG = b"DELETE / HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = READ.replace(b"Host: x", b"Host: x\r\nConnection: close")


class Transport:
    """Takes what is sent by the end of the loop's turn; `full` is a client that does not read."""

    def __init__(self) -> None:
        self.sent = b""
        self.outbox: Outbox
        self.state = "open"
        self.reading = True
        self.full = False
        self.connection: Connection | None = None

    def get_extra_info(self, _name: str) -> None:
        return None

    @property
    def written(self) -> bytes:
        self.outbox.send()
        return self.sent

    def is_closing(self) -> bool:
        return self.state in ("closed", "aborted")

    def write(self, data: bytes) -> None:
        self.sent += data
        if self.full and self.connection is not None:
            self.connection.pause_writing()

    def get_write_buffer_size(self) -> int:
        return len(self.sent) if self.full else 0

    def write_eof(self) -> None:
        self.state = "ended"

    def close(self) -> None:
        self.state = "closed"

    def abort(self) -> None:
        self.state = "aborted"

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def statuses(self) -> list[int]:
        return [int(part.split(b" ", 1)[0]) for part in self.written.split(b"HTTP/1.1 ")[1:]]


class Host:
    """What connections need from a server."""

    def __init__(self) -> None:
        self.handler: RequestHandler
        self.metrics = ServerMetrics("test", "route")
        self.tick = 0
        self.arriving = ArrivingBodies()
        self.unsent = UnsentAnswers()
        self.heads = KnownHeads()
        self.stopping = False
        self.room = True
        self.soon: list[Callable[[], None]] = []
        self.call_soon: Callable[[Callable[[], None]], object] = self.soon.append
        self.outbox = Outbox(self.metrics, self.call_soon)
        self.receiving = ReceivingTurns(self.call_soon)

    def handler_for(self, _peer: str) -> RequestHandler:
        return self.handler

    def add(self, _connection: Connection) -> bool:
        return self.room

    def remove(self, connection: Connection) -> None:
        pass

    def end_turn(self) -> None:
        """Run once what was left for the loop's next turn."""
        due, self.soon[:] = self.soon[:], []
        for callback in due:
            callback()


def connect(host: Host, transport: Transport) -> Connection:
    connection = Connection(host)
    transport.connection = connection
    transport.outbox = host.outbox
    connection.connection_made(cast(asyncio.Transport, cast(Any, transport)))
    return connection


class Handler:
    """Answers reads at once, and writes when a test finishes them. Writes may overlap; some are wrong."""

    def __init__(self) -> None:
        self._responses = ResponseWriter(0.0)
        self._writes: list[tuple[Request, PendingAnswer]] = []
        self._written = 0

    def begin(self, request: Request, defer: Defer) -> bytes | None:
        if request.method == b"GET":
            return self._responses.whole(request, 200, b"", b"%d written" % self._written)
        if request.method != b"PUT":
            return self._responses.whole(request, 400, b"", b"")
        self._writes.append((request, defer()))
        return None

    def reject(self, error: RequestError) -> bytes:
        return self._responses.whole(None, error.status, b"", error.message.encode())

    def body_limit(self, _headers: dict[bytes, bytes]) -> int:
        return BODY_BYTES

    def may_overlap(self, request: Request) -> bool:
        return request.method != b"GET"

    def finish(self, number: int) -> None:
        """Answer the first writes."""
        for _ in range(number):
            request, pending = self._writes.pop(0)
            self._written += 1
            pending.send(self._responses.whole(request, 201, b"", b""))
