"""Answers as bytes, each in one piece, so that it is sent by one write."""

from __future__ import annotations

from email.utils import formatdate
from http import HTTPStatus
from typing import Final

from sortkey.http.request_parser import Request

# RFC 9110's names; Python before 3.13 has older ones.
_RENAMED: Final = {413: b"Content Too Large", 414: b"URI Too Long"}
_REASONS: Final = {int(status): status.phrase.encode() for status in HTTPStatus} | _RENAMED
_STATUS_LINES: Final = {status: b"HTTP/1.1 %d %b\r\n" % (status, reason) for status, reason in _REASONS.items()}


RETRY_SECONDS: Final = 1
"""After which a request that was rejected for want of room may come again."""
RETRY_AFTER: Final = b"Retry-After: %d\r\n" % RETRY_SECONDS


class ResponseWriter:
    """Puts answers together. The `Date` header is formatted once a second."""

    def __init__(self, now: float) -> None:
        self._date = b""
        self.tick(now)

    def tick(self, now: float) -> None:
        """Set the time of the answers."""
        self._date = b"Date: %b\r\n" % formatdate(now, usegmt=True).encode()

    def start(self, status: int) -> bytes:
        """The status line and the date."""
        return _STATUS_LINES[status] + self._date

    def whole(self, request: Request | None, status: int, headers: bytes, body: bytes) -> bytes:
        """The answer to a request; or to bytes that were none, after which the connection closes.

        `headers` are whole lines. The length of the body and what becomes of the connection are added.
        """
        if request is None or not request.keep_alive:
            headers += b"Connection: close\r\n"
        elif b"connection" in request.headers and request.headers[b"connection"].lower() == b"keep-alive":
            # HTTP/1.0 clients close without it.
            headers += b"Connection: keep-alive\r\n"
        sent = b"" if request is not None and request.method == b"HEAD" else body
        return b"%b%b%bContent-Length: %d\r\n\r\n%b" % (
            _STATUS_LINES[status],
            self._date,
            headers,
            len(body),
            sent,
        )
