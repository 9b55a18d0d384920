"""Connections without sockets, on a server whose seconds and turns are under the test's control."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from sortkey.http.arriving_bodies import ArrivingBodies
from sortkey.http.connection import Connection, RequestHandler
from sortkey.http.metrics import ServerMetrics
from sortkey.http.outbox import Outbox
from sortkey.http.receiving_turns import ReceivingTurns
from sortkey.http.unsent_answers import UnsentAnswers


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
