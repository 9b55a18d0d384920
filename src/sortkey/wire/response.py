"""HTTP answers as bytes: the headers that AWS sends and SDKs check.

Whatever stays the same for a second is put together once a second (`tick`), so that an answer costs one formatting
of bytes. `x-amz-crc32` is of the body as it is sent, compressed or not, as SDKs compute it. Isal does that in a seventh
of the time that zlib takes, which was a twelfth of a Query of 64 items.
"""

from __future__ import annotations

from email.utils import formatdate
from itertools import count
from typing import Final

from isal import igzip
from isal.isal_zlib import crc32

from sortkey.http.request_parser import Request

JSON: Final = b"application/x-amz-json-1.0"
TEXT: Final = b"text/plain; charset=utf-8"

COMPRESS_BYTES: Final = 1024
"""A shorter body is not worth the work."""
COMPRESS_LEVEL: Final = 1
"""The loop waits for the compressor, and DynamoDB JSON repeats itself so much that the fastest level is good."""

ID_LETTERS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUV"
"""AWS's request ids are 52 of these: ours are an identity of the process, then a number."""
IDENTITY_LETTERS: Final = 36

REASONS: Final = {
    200: b"OK",
    400: b"Bad Request",
    403: b"Forbidden",
    404: b"Not Found",
    405: b"Method Not Allowed",
    408: b"Request Timeout",
    413: b"Content Too Large",
    414: b"URI Too Long",
    415: b"Unsupported Media Type",
    417: b"Expectation Failed",
    431: b"Request Header Fields Too Large",
    500: b"Internal Server Error",
    503: b"Service Unavailable",
}


class Responses:
    def __init__(self, identity: str, now: float) -> None:
        if len(identity) != IDENTITY_LETTERS:
            raise ValueError(f"an identity has {IDENTITY_LETTERS} letters")
        self._identity = identity.encode()
        self._numbers = count(1)
        self._date = self._ok = b""
        self.tick(now)

    def tick(self, now: float) -> None:
        """The time that answers bear, to the second."""
        self._date = formatdate(now, usegmt=True).encode()
        self._ok = self._start(200, JSON)

    def success(self, request: Request, body: bytes) -> bytes:
        """The answer to an operation, which came by POST."""
        if not request.keep_alive or b"connection" in request.headers:
            return self.answer(request, 200, body)
        if len(body) > COMPRESS_BYTES and b"accept-encoding" in request.headers:
            return self.answer(request, 200, body)
        return b"%b%016d\r\nx-amz-crc32: %d\r\nContent-Length: %d\r\n\r\n%b" % (
            self._ok,
            next(self._numbers),
            crc32(body),
            len(body),
            body,
        )

    def answer(self, request: Request, status: int, body: bytes, kind: bytes = JSON, extra: bytes = b"") -> bytes:
        """Any answer to a request that was understood as HTTP; `extra` are whole header lines."""
        if len(body) > COMPRESS_BYTES and accepts_gzip(request.headers.get(b"accept-encoding", b"")):
            body = igzip.compress(body, COMPRESS_LEVEL, mtime=0)
            extra += b"Content-Encoding: gzip\r\n"
        if not request.keep_alive:
            extra += b"Connection: close\r\n"
        elif request.headers.get(b"connection", b"").lower() == b"keep-alive":
            # HTTP/1.0 clients close without it.
            extra += b"Connection: keep-alive\r\n"
        return self._whole(status, body, kind, extra, bodiless=request.method == b"HEAD")

    def error(self, status: int, body: bytes) -> bytes:
        """The last answer on a connection."""
        return self._whole(status, body, JSON, b"Connection: close\r\n")

    def _whole(self, status: int, body: bytes, kind: bytes, extra: bytes, bodiless: bool = False) -> bytes:
        return b"%b%016d\r\nx-amz-crc32: %d\r\nContent-Length: %d\r\n%b\r\n%b" % (
            self._start(status, kind),
            next(self._numbers),
            crc32(body),
            len(body),
            extra,
            b"" if bodiless else body,
        )

    def _start(self, status: int, kind: bytes) -> bytes:
        return b"HTTP/1.1 %d %b\r\nServer: Sortkey\r\nDate: %b\r\nContent-Type: %b\r\nx-amzn-RequestId: %b" % (
            status,
            REASONS[status],
            self._date,
            kind,
            self._identity,
        )


def accepts_gzip(header: bytes) -> bool:
    """Whether an Accept-Encoding names gzip, and not with a weight of zero."""
    for part in header.lower().split(b","):
        coding, _, weight = part.strip().partition(b";")
        if coding.strip() in (b"gzip", b"*"):
            return weight.replace(b" ", b"") not in (b"q=0", b"q=0.0", b"q=0.00", b"q=0.000")
    return False
