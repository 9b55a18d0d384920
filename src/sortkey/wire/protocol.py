"""DynamoDB's JSON 1.0 protocol over HTTP: what is known of each operation, bodies, and answers with AWS's headers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, Final
from zlib import crc32

from sortkey.engine import requests
from sortkey.engine.operations import SLICED_READS, STATEMENTS, WRITES, writes
from sortkey.engine.operations.fast_path import FAST_READS, FAST_WRITES
from sortkey.http.request_parser import Request, RequestError
from sortkey.http.response import (
    COMPRESS_BYTES,
    COMPRESS_MOST_BYTES,
    ResponseWriter,
    accepts_gzip,
    compress,
    decompress,
)
from sortkey.wire.messages import CoralError
from sortkey.wire.metrics import EndpointMetrics

NOT_ASKED: Final = (None, "NONE")
"""Values of `ReturnConsumedCapacity` that keep the capacity out of the answer."""


class Route:
    """What the endpoint knows of an operation before a request for it arrives."""

    __slots__ = (
        "_metered",
        "_of_writes",
        "consumed",
        "fast_read",
        "fast_write",
        "has_statements",
        "metrics",
        "operation",
        "sliced_read",
        "writes",
    )

    def __init__(
        self, operation: str, metrics: EndpointMetrics, short_cuts: bool = True, of_writes: bool = False
    ) -> None:
        """A database that sees every request allows no short cuts. Of an operation with statements, this is the route
        of those that read, unless it is `of_writes`."""
        self.operation = operation
        self.has_statements = operation in STATEMENTS
        self._of_writes: Route | None = None
        if self.has_statements and not of_writes:
            self._of_writes = Route(operation, metrics, short_cuts, of_writes=True)
        self.fast_read = FAST_READS.get(operation) if short_cuts else None
        self.sliced_read = SLICED_READS.get(operation) if short_cuts else None
        self.fast_write = FAST_WRITES.get(operation) if short_cuts else None
        self.writes = operation in WRITES and (of_writes or not self.has_statements)
        self.metrics = metrics.requests(operation)
        self.consumed = metrics.capacity["write" if self.writes else "read"]
        """Capacity units by table."""
        self._metered = "return_consumed_capacity" in requests.OPERATIONS[operation].__struct_fields__

    def for_request(self, shape: Any) -> Route:
        """The route of a request with statements."""
        return self._of_writes if self._of_writes is not None and writes(self.operation, shape) else self

    def ask_for_capacity(self, shape: Any) -> bool:
        """Have the engine report the capacity, for the metrics. Whether to hide it from the client."""
        hidden = self._metered and shape.return_consumed_capacity in NOT_ASKED
        if hidden:
            shape.return_consumed_capacity = "TOTAL"
        return hidden


TOO_LARGE: Final = "RequestEntityTooLargeException"


def content(request: Request) -> bytes:
    """The request's body, decompressed."""
    encoding = request.headers.get(b"content-encoding", b"").strip().lower()
    # `amz-1.0` is what old AWS SDKs call their JSON.
    if encoding in (b"", b"identity", b"amz-1.0"):
        return request.body
    if encoding != b"gzip":
        raise CoralError(415, "UnsupportedMediaTypeException", "The only Content-Encoding that is supported is gzip.")
    try:
        return decompress(request.body)
    except RequestError as error:
        code = TOO_LARGE if error.status == 413 else "SerializationException"
        raise CoralError(error.status, code, error.message) from error


def http_error(error: RequestError) -> CoralError:
    """The error for a request that is not acceptable HTTP."""
    codes = {413: TOO_LARGE, 503: "ServiceUnavailableException"}
    return CoralError(error.status, codes.get(error.status, "MalformedHttpRequestException"), error.message)


JSON: Final = b"application/x-amz-json-1.0"
TEXT: Final = b"text/plain; charset=utf-8"
PREFLIGHT_SECONDS: Final = 172_800
"""How long a browser may remember that pages may send requests."""
EXPOSED: Final = b"x-amzn-requestid,x-amzn-errortype,x-amzn-errormessage,date"
"""Headers that pages may read. The checksum is not among them, on AWS either: it is of the compressed body, which no
page sees, and the SDK for JavaScript would compare it (https://github.com/aws/aws-sdk-js/issues/1614)."""
ID_LETTERS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUV"
"""AWS's request ids are 52 of these: ours are an identity of the process, then a number."""
IDENTITY_LETTERS: Final = 36


class Responses(ResponseWriter):
    """HTTP answers with the headers that AWS sends and SDKs check.

    What stays the same for a second is put together once a second (`tick`), so that a successful answer costs one
    formatting of bytes. `x-amz-crc32` is of the body as it is sent, compressed or not, as SDKs compute it. Isal
    computes it in a seventh of zlib's time, but its vector instructions slow what runs after it: a GetItem took a fifth
    more processor time, and a Query of 64 items a tenth more.
    """

    def __init__(
        self,
        identity: str,
        now: float,
        allowed_origin: Callable[[bytes], bytes | None] = lambda _origin: None,
        product: str = "Sortkey",
    ) -> None:
        """`allowed_origin` tells which web pages may read an answer; see `Authentication`."""
        if len(identity) != IDENTITY_LETTERS:
            raise ValueError(f"an identity has {IDENTITY_LETTERS} letters")
        self._identity = identity.encode()
        self._product = product.encode()
        self._numbers = count(1)
        self._allowed_origin = allowed_origin
        self._success = b""
        super().__init__(now)

    def tick(self, now: float) -> None:
        super().tick(now)
        self._success = self.start(200) + self._aws_headers(JSON)

    def success(self, request: Request, body: bytes) -> bytes:
        """The answer to an operation, which came by POST."""
        if not request.keep_alive or b"connection" in request.headers or b"origin" in request.headers:
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
        headers += self._headers(request, content_type, crc32(body))
        return self.whole(request, status, headers, body)

    def in_pieces(self, request: Request, pieces: list[bytes]) -> list[bytes]:
        """The answer to an operation that is too long to be joined."""
        checksum = 0
        for piece in pieces:
            checksum = crc32(piece, checksum)
        return [self.head(request, 200, self._headers(request, JSON, checksum), sum(map(len, pieces))), *pieces]

    def _headers(self, request: Request | None, content_type: bytes, checksum: int) -> bytes:
        headers = b""
        if request is not None and b"origin" in request.headers:
            headers = self._for_web_pages(request.headers[b"origin"])
        return b"%b%b%016d\r\nx-amz-crc32: %d\r\n" % (
            headers,
            self._aws_headers(content_type),
            next(self._numbers),
            checksum,
        )

    def preflight(self, request: Request) -> bytes:
        """The answer to a browser that asks whether a page may send a request: whatever it asks for, as AWS does."""
        asked = request.headers
        method, names = asked[b"access-control-request-method"], asked.get(b"access-control-request-headers", b"")
        allowed = b"Access-Control-Allow-Methods: %b\r\n" % method
        if names:
            allowed += b"Access-Control-Allow-Headers: %b\r\n" % names
        return self.answer(request, 200, b"", headers=allowed + b"Access-Control-Max-Age: %d\r\n" % PREFLIGHT_SECONDS)

    def _for_web_pages(self, origin: bytes) -> bytes:
        allowed = self._allowed_origin(origin)
        if allowed is None:
            return b""
        varies = b"" if allowed == b"*" else b"Vary: Origin\r\n"
        return b"Access-Control-Allow-Origin: %b\r\nAccess-Control-Expose-Headers: %b\r\n%b" % (
            allowed,
            EXPOSED,
            varies,
        )

    def _aws_headers(self, content_type: bytes) -> bytes:
        """Those before the number that ends the request's id."""
        return b"Server: %b\r\nContent-Type: %b\r\nx-amzn-RequestId: %b" % (
            self._product,
            content_type,
            self._identity,
        )
