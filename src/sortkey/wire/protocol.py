"""DynamoDB's JSON 1.0 protocol: which operation a request means, what its body says, how an error reads.

An error is JSON whose `__type` bears the namespace of whoever raises it at AWS: the operations of DynamoDB itself, or
Coral, the framework around them, which checks shapes and signatures. SDKs look at what is behind the `#`.
"""

from __future__ import annotations

import zlib
from typing import Any, Final

from sortkey.engine import requests
from sortkey.engine.answers import to_json
from sortkey.errors import DynamoDBError
from sortkey.http.request_parser import BODY_BYTES, Request

SERVICE: Final = "DynamoDB_20120810"
STREAMS: Final = "DynamoDBStreams_20120810"
STREAM_OPERATIONS: Final = frozenset({"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"})

TARGETS: Final[dict[bytes, str]] = {
    f"{STREAMS if operation in STREAM_OPERATIONS else SERVICE}.{operation}".encode(): operation
    for operation in requests.OPERATIONS
}
"""Operations by `X-Amz-Target`."""

DYNAMODB: Final = "com.amazonaws.dynamodb.v20120810#"
CORAL: Final = "com.amazon.coral.service#"
NAMESPACES: Final = {
    "ValidationException": "com.amazon.coral.validate#",
    "ThrottlingException": "com.amazon.coral.availability#",
    "AccessDeniedException": CORAL,
    "SerializationException": CORAL,
    "UnknownOperationException": CORAL,
}
CAPITAL_MESSAGE: Final = frozenset({"AccessDeniedException", "SerializationException", "TransactionCanceledException"})
"""Errors that AWS sends with `Message` instead of `message`; SDKs read both."""

GZIP_WINDOW: Final = zlib.MAX_WBITS | 16


class HttpError(Exception):
    """A request that is rejected before it means an operation."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


def error_json(error: DynamoDBError | HttpError) -> bytes:
    """The error as AWS words it; what an error holds besides (`Item`, `CancellationReasons`) comes along."""
    code = error.code
    if isinstance(error, HttpError):
        namespace, members = CORAL, {}
    else:
        namespace, members = NAMESPACES.get(code, DYNAMODB), error.members
    said: dict[str, Any] = {"__type": namespace + code}
    if error.message:
        said["Message" if code in CAPITAL_MESSAGE else "message"] = error.message
    return to_json(said | members)


def content(request: Request) -> bytes:
    """The request's body as its sender meant it, unpacked."""
    coding = request.headers.get(b"content-encoding", b"").strip().lower()
    # Old SDKs of AWS call their own way of writing JSON an encoding.
    if coding in (b"", b"identity", b"amz-1.0"):
        return request.body
    if coding != b"gzip":
        raise HttpError(415, "UnsupportedMediaTypeException", "The only Content-Encoding that can be read is gzip.")
    return _unpacked(request.body)


def _unpacked(body: bytes) -> bytes:
    unpacker = zlib.decompressobj(GZIP_WINDOW)
    try:
        unpacked = unpacker.decompress(body, BODY_BYTES + 1)
    except zlib.error as error:
        raise HttpError(400, "SerializationException", "The request's body is not gzip.") from error
    if len(unpacked) > BODY_BYTES:
        raise too_large()
    if not unpacker.eof or unpacker.unused_data:
        raise HttpError(400, "SerializationException", "The request's body is not one whole gzip stream.")
    return unpacked


def too_large() -> HttpError:
    return HttpError(
        413, "RequestEntityTooLargeException", f"The request's body has more than {BODY_BYTES} bytes, unpacked."
    )
