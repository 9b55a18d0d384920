"""HTTP by hand, for clients that must cost next to nothing beside the server that they measure or attack."""

from __future__ import annotations

from typing import Final

from benchmarks._workload import NAMESPACE, Request

HEAD: Final = (
    "POST / HTTP/1.1\r\n"
    "Host: 127.0.0.1\r\n"
    "Content-Type: application/x-amz-json-1.0\r\n"
    f"Authorization: AWS4-HMAC-SHA256 Credential={NAMESPACE}/20260101/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host, Signature=x\r\n"
    "X-Amz-Date: 20260101T000000Z\r\n"
    "X-Amz-Target: DynamoDB_20120810.%s\r\n"
    "Content-Length: %d\r\n\r\n"
)
END_OF_HEAD: Final = b"\r\n\r\n"


def encode(request: Request) -> bytes:
    return (HEAD % (request.operation, len(request.body))).encode() + request.body


def status(received: bytes | bytearray) -> int:
    """The status of an answer that has begun."""
    return int(received[9:12])


def missing(received: bytes | bytearray) -> int:
    """How many bytes the answer still lacks; 1 while its head is not complete."""
    head = received.find(END_OF_HEAD)
    if head < 0:
        return 1
    for line in bytes(received[:head]).lower().split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name == b"content-length":
            return head + len(END_OF_HEAD) + int(value) - len(received)
    raise ValueError(f"an answer without a length: {bytes(received[:head])!r}")
