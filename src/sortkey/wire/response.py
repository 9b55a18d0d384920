"""HTTP answers with the headers that AWS sends and SDKs check.

What stays the same for a second is put together once a second (`tick`), so that a successful answer costs one
formatting of bytes. `x-amz-crc32` is of the body as it is sent, compressed or not, as SDKs compute it. Isal computes it
in a seventh of zlib's time, but its vector instructions slow what runs after it: a GetItem took a fifth more processor
time, and a Query of 64 items a tenth more.
"""

from __future__ import annotations

from itertools import count
from typing import Final
from zlib import crc32

from sortkey.http.content_encoding import COMPRESS_BYTES, COMPRESS_MOST_BYTES, accepts_gzip, compress
from sortkey.http.request_parser import Request
from sortkey.http.response import ResponseWriter

JSON: Final = b"application/x-amz-json-1.0"
TEXT: Final = b"text/plain; charset=utf-8"

ID_LETTERS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUV"
"""AWS's request ids are 52 of these: ours are an identity of the process, then a number."""
IDENTITY_LETTERS: Final = 36


class Responses(ResponseWriter):
    def __init__(self, identity: str, now: float) -> None:
        if len(identity) != IDENTITY_LETTERS:
            raise ValueError(f"an identity has {IDENTITY_LETTERS} letters")
        self._identity = identity.encode()
        self._numbers = count(1)
        self._success = b""
        super().__init__(now)

    def tick(self, now: float) -> None:
        super().tick(now)
        self._success = self.start(200) + self._aws_headers(JSON)

    def success(self, request: Request, body: bytes) -> bytes:
        """The answer to an operation, which came by POST."""
        if not request.keep_alive or b"connection" in request.headers:
            return self.answer(request, 200, body)
        if len(body) > COMPRESS_BYTES and b"accept-encoding" in request.headers:
            return self.answer(request, 200, body)
        return b"%b%016d\r\nx-amz-crc32: %d\r\nContent-Length: %d\r\n\r\n%b" % (
            self._success,
            next(self._numbers),
            crc32(body),
            len(body),
            body,
        )

    def answer(
        self, request: Request | None, status: int, body: bytes, content_type: bytes = JSON, headers: bytes = b""
    ) -> bytes:
        """Any answer; `headers` are further header lines. Without a request, it is the last on its connection."""
        if request is not None and COMPRESS_BYTES < len(body) <= COMPRESS_MOST_BYTES and accepts_gzip(request):
            body = compress(body)
            headers += b"Content-Encoding: gzip\r\n"
        headers += b"%b%016d\r\nx-amz-crc32: %d\r\n" % (
            self._aws_headers(content_type),
            next(self._numbers),
            crc32(body),
        )
        return self.whole(request, status, headers, body)

    def _aws_headers(self, content_type: bytes) -> bytes:
        """Those before the number that ends the request's id."""
        return b"Server: Sortkey\r\nContent-Type: %b\r\nx-amzn-RequestId: %b" % (content_type, self._identity)
