"""`GET /metrics` and `GET /health` of a worker, on a thread that does nothing else.

It answers while the event loop is busy with a batch, and costs the batch next to nothing.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Final, Self

from sortkey.http.prometheus import CONTENT_TYPE

CLIENT_SECONDS: Final = 10
"""For a client to send its request, and to take the answer."""


class StatusServer:
    """From `with` to its end, on a socket that listens already."""

    def __init__(self, listening: socket.socket, scrape: Callable[[], bytes]) -> None:
        self._server = _Server(listening, scrape)
        self._thread = Thread(target=self._server.serve_forever, name="status")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    def __init__(self, listening: socket.socket, scrape: Callable[[], bytes]) -> None:
        super().__init__(listening.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.scrape = scrape


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "Sortkey"
    sys_version = ""
    timeout = CLIENT_SECONDS

    def do_GET(self) -> None:
        match self.path.partition("?")[0]:
            case "/" | "/health":
                self._answer("text/plain; charset=utf-8", b"healthy\n")
            case "/metrics":
                self._answer(CONTENT_TYPE, self.server.scrape())
            case _:
                self.send_error(404)

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Standard error is for what goes wrong."""

    def _answer(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)
