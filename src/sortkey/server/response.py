"""Answers of the app as bytes, each in one piece."""

from __future__ import annotations

from email.utils import formatdate
from http import HTTPStatus
from typing import Final

from sortkey.http.request_parser import Request
from sortkey.server.errors import ErrorAnswer
from sortkey.server.exchange import Exchange

_LINES: Final = {int(status): b"HTTP/1.1 %d %b\r\ndate: " % (status, status.phrase.encode()) for status in HTTPStatus}


class Responses:
    def __init__(self, now: float) -> None:
        self._date = b""
        self.tick(now)

    def tick(self, now: float) -> None:
        """The time that answers bear, to the second."""
        self._date = formatdate(now, usegmt=True).encode()

    def whole(self, request: Request, exchange: Exchange) -> bytes:
        """The answer to a request."""
        headers = b"".join([b"\r\n%b: %b" % header for header in exchange.answer_headers])
        if not request.keep_alive:
            headers += b"\r\nconnection: close"
        elif request.headers.get(b"connection", b"").lower() == b"keep-alive":
            # HTTP/1.0 clients close without it.
            headers += b"\r\nconnection: keep-alive"
        body = exchange.answer_body
        return b"%b%b%b\r\ncontent-length: %d\r\nx-request-id: %b\r\n\r\n%b" % (
            _LINES[exchange.status],
            self._date,
            headers,
            len(body),
            exchange.id.encode(),
            b"" if exchange.method == "HEAD" else body,
        )

    def last(self, error_answer: ErrorAnswer) -> bytes:
        """The last answer on a connection, to what was no request."""
        body = error_answer.json()
        return b"%b%b\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%b" % (
            _LINES[error_answer.status],
            self._date,
            len(body),
            body,
        )
