"""DynamoDB's JSON 1.0 protocol without HTTP: which operation a request is for, and errors as JSON.

The `__type` of an error starts with a namespace: that of DynamoDB's operations, or that of Coral, AWS's framework
around them, which checks shapes and signatures. SDKs read only what follows the `#`.
"""

from __future__ import annotations

from typing import Any, Final

from sortkey.engine import requests
from sortkey.engine.operations.answers import to_json
from sortkey.errors import DynamoDBError

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


class CoralError(Exception):
    """An error of the layer before the operations: HTTP, signatures, encodings."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


def error_json(error: DynamoDBError | CoralError) -> bytes:
    """The error as AWS sends it, with its further members (`Item`, `CancellationReasons`)."""
    code = error.code
    if isinstance(error, CoralError):
        namespace, members = CORAL, {}
    else:
        namespace, members = NAMESPACES.get(code, DYNAMODB), error.members
    answer: dict[str, Any] = {"__type": namespace + code}
    if error.message:
        answer["Message" if code in CAPITAL_MESSAGE else "message"] = error.message
    return to_json(answer | members)
