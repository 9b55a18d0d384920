"""Clients that do what clients should not do: vanish, stall, send nonsense."""

from __future__ import annotations

import socket
import struct
from collections import deque
from collections.abc import Callable
from random import Random
from threading import Event
from typing import Final
from urllib.parse import urlsplit

from tests.faults.fuzz.http_bytes import HttpBytes
from tests.faults.soak.load import TABLE
from tests.wire.serving import request

PAUSE_SECONDS: Final = 0.05
STALLED: Final = 12
"""Connections that stall at the same time."""
RESET: Final = struct.pack("ii", 1, 0)
"""Linger for no time: the connection is reset."""


class BadClients:
    def __init__(self, urls: list[str]) -> None:
        self._addresses = [(urlsplit(url).hostname or "", urlsplit(url).port or 0) for url in urls]
        self._random = Random("bad clients")
        self._stalled: deque[socket.socket] = deque()
        self.done: dict[str, int] = {}

    def run(self, over: Event) -> None:
        acts: list[Callable[[socket.socket], None]] = [self._vanish, self._reset, self._stall, self._babble]
        while not over.wait(PAUSE_SECONDS):
            act = self._random.choice(acts)
            connection = socket.create_connection(self._random.choice(self._addresses), timeout=5)
            try:
                act(connection)
            except OSError:
                # The server closed the connection first, or was just killed.
                connection.close()
                self._count("closed by the server")
                continue
            self._count(act.__name__.removeprefix("_"))
        for connection in self._stalled:
            connection.close()

    def _count(self, name: str) -> None:
        self.done[name] = self.done.get(name, 0) + 1

    def _scan(self) -> bytes:
        return request("Scan", {"TableName": TABLE, "FilterExpression": "attribute_exists(id)"})

    def _vanish(self, connection: socket.socket) -> None:
        """In the middle of a request."""
        whole = request("PutItem", {"TableName": TABLE, "Item": {"id": {"S": "never"}, "text": {"S": "x" * 5000}}})
        connection.sendall(whole[: self._random.randrange(len(whole))])
        connection.close()

    def _reset(self, connection: socket.socket) -> None:
        """While the answers are made, which are larger than a socket's buffer."""
        connection.sendall(self._scan() * self._random.choice((1, 1, 4, 16)))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        connection.close()

    def _stall(self, connection: socket.socket) -> None:
        """In a body, in a head, or while answers are sent that nobody reads."""
        announced = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16777216\r\n\r\n" + b"x" * 100_000
        connection.sendall(self._random.choice((announced, b"POST / HTTP/1.1\r\nHo", self._scan() * 30)))
        self._stalled.append(connection)
        if len(self._stalled) > STALLED:
            self._stalled.popleft().close()

    def _babble(self, connection: socket.socket) -> None:
        for piece in HttpBytes().make(self._random).pieces:
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 16):
            pass
        connection.close()
