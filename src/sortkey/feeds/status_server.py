"""Serves a worker's `GET /metrics` and `GET /health`, on a thread of its own.

It answers while the event loop is busy with a batch, at almost no cost to the batch.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Final, Self

from sortkey.http.listener import AllowedHosts, rejection
from sortkey.http.metrics import CONTENT_TYPE

POLL_SECONDS: Final = 0.05
"""Between two looks whether it is to stop."""
TEXT: Final = "text/plain; charset=utf-8"
CLIENT_SECONDS: Final = 10
"""The time limit for a client to send its request and to read the answer."""


class StatusServer:
    """A context manager that serves on a listening socket."""

    def __init__(
        self, listening: socket.socket, scrape: Callable[[], bytes], hosts: AllowedHosts | None = None
    ) -> None:
        """`hosts` are those for which it serves metrics; None means all."""
        self._server = _Server(listening, scrape, hosts)
        self._thread = Thread(target=self._server.serve_forever, args=(POLL_SECONDS,), name="status")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    def __init__(self, listening: socket.socket, scrape: Callable[[], bytes], hosts: AllowedHosts | None) -> None:
        super().__init__(listening.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.scrape = scrape
        self.hosts = hosts


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "Sortkey"
    sys_version = ""
    timeout = CLIENT_SECONDS

    def do_GET(self) -> None:
        match self.path.partition("?")[0]:
            case "/" | "/health":
                self._answer(TEXT, b"healthy\n")
            case "/metrics":
                self._answer_metrics()
            case _:
                self.send_error(404)

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Requests are not logged: standard error has errors only."""

    def _answer_metrics(self) -> None:
        host = self.headers.get("Host", "").encode()
        if self.server.hosts is None or self.server.hosts.admits(host):
            self._answer(CONTENT_TYPE, self.server.scrape())
        else:
            self._answer(TEXT, f"{rejection(host)}\n".encode(), 403)

    def _answer(self, content_type: str, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)
