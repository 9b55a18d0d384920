"""Answers as bytes, each but the longest in one piece, so that it is sent by one write; and gzip of bodies: which
answers to compress, and requests decompressed up to a limit."""

from __future__ import annotations

import zlib
from email.utils import formatdate
from http import HTTPStatus
from typing import Final

from isal import igzip

from sortkey.http.request_parser import BODY_BYTES, Request, RequestError
from sortkey.limits import MIB

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
        sent = b"" if request is not None and request.method == b"HEAD" else body
        return b"%b%b" % (self.head(request, status, headers, len(body)), sent)

    def head(self, request: Request | None, status: int, headers: bytes, length: int) -> bytes:
        """The same without the body, which has this length."""
        if request is None or not request.keep_alive:
            headers += b"Connection: close\r\n"
        elif b"connection" in request.headers and request.headers[b"connection"].lower() == b"keep-alive":
            # HTTP/1.0 clients close without it.
            headers += b"Connection: keep-alive\r\n"
        return b"%b%b%bContent-Length: %d\r\n\r\n" % (_STATUS_LINES[status], self._date, headers, length)


COMPRESS_BYTES: Final = 1024
"""Shorter bodies are not compressed."""
COMPRESS_MOST_BYTES: Final = 2 * MIB
"""Nor are longer ones: the loop would answer nothing else for too long."""
COMPRESS_LEVEL: Final = 1
"""The loop waits for the compressor, and JSON of many items repeats itself so much that the fastest level does well."""

_GZIP_WINDOW: Final = zlib.MAX_WBITS | 16


def accepts_gzip(request: Request) -> bool:
    """Whether Accept-Encoding names gzip, and not with a weight of zero."""
    for part in request.headers.get(b"accept-encoding", b"").lower().split(b","):
        coding, _, weight = part.strip().partition(b";")
        if coding.strip() in (b"gzip", b"*"):
            return weight.replace(b" ", b"") not in (b"q=0", b"q=0.0", b"q=0.00", b"q=0.000")
    return False


def compress(body: bytes) -> bytes:
    return igzip.compress(body, COMPRESS_LEVEL, mtime=0)


def decompress(body: bytes) -> bytes:
    """The content of a gzip body. Raises RequestError if it is not gzip, or more than `BODY_BYTES`."""
    decompressor = zlib.decompressobj(_GZIP_WINDOW)
    try:
        content = decompressor.decompress(body, BODY_BYTES + 1)
    except zlib.error as error:
        raise RequestError(400, "The request's body is not gzip.") from error
    if len(content) > BODY_BYTES:
        raise RequestError(413, f"The request's body has more than {BODY_BYTES} bytes, decompressed.")
    if not decompressor.eof or decompressor.unused_data:
        raise RequestError(400, "The request's body is not one whole gzip stream.")
    return content
