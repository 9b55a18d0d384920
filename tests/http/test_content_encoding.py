from __future__ import annotations

import gzip

import pytest

from sortkey.http.request_parser import BODY_BYTES, Request, RequestError
from sortkey.http.response import accepts_gzip, compress, decompress


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        (b"gzip", True),
        (b"deflate, GZIP;q=0.5", True),
        (b"*", True),
        (b"gzip; q=0", False),
        (b"br", False),
        (b"", False),
    ],
)
def test_accept_encoding(header: bytes, accepted: bool) -> None:
    assert accepts_gzip(Request(b"GET", b"/", {b"accept-encoding": header}, b"", True)) is accepted


def test_what_is_compressed_can_be_decompressed() -> None:
    assert decompress(compress(b"body" * 1000)) == b"body" * 1000


PACKED = gzip.compress(b"{}", mtime=0)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{}", 400),
        (PACKED[:-1], 400),
        (PACKED + b"more", 400),
        (b"", 400),
        # A small request that would fill the memory.
        (gzip.compress(bytes(BODY_BYTES + 1), mtime=0), 413),
    ],
    ids=["not compressed", "cut off", "more behind it", "empty", "too large"],
)
def test_bodies_that_cannot_be_decompressed(body: bytes, status: int) -> None:
    with pytest.raises(RequestError) as caught:
        decompress(body)
    assert caught.value.status == status
