from __future__ import annotations

import gzip

import pytest

from sortkey.http.request_parser import BODY_BYTES, Request, RequestError
from sortkey.wire import protocol
from sortkey.wire.messages import CoralError


def request(body: bytes, coding: bytes | None = None) -> Request:
    return Request(b"POST", b"/", {} if coding is None else {b"content-encoding": coding}, body, True)


@pytest.mark.parametrize("coding", [None, b"identity", b"amz-1.0"])
def test_uncompressed_bodies(coding: bytes | None) -> None:
    assert protocol.content(request(b"{}", coding)) == b"{}"


def test_compressed_bodies() -> None:
    assert protocol.content(request(gzip.compress(b"{}", mtime=0), b"GZIP")) == b"{}"


@pytest.mark.parametrize(
    ("body", "coding", "status", "code"),
    [
        (b"{}", b"br", 415, "UnsupportedMediaTypeException"),
        (b"{}", b"gzip", 400, "SerializationException"),
        (gzip.compress(bytes(BODY_BYTES + 1), mtime=0), b"gzip", 413, "RequestEntityTooLargeException"),
    ],
    ids=["other encoding", "not compressed", "too large"],
)
def test_bodies_that_cannot_be_decompressed(body: bytes, coding: bytes, status: int, code: str) -> None:
    with pytest.raises(CoralError) as caught:
        protocol.content(request(body, coding))
    assert (caught.value.status, caught.value.code) == (status, code)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "MalformedHttpRequestException"),
        (413, "RequestEntityTooLargeException"),
        (503, "ServiceUnavailableException"),
    ],
)
def test_unacceptable_http_has_a_code(status: int, code: str) -> None:
    assert protocol.http_error(RequestError(status, "m")).code == code
