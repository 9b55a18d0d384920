"""gzip of bodies: which answers to compress, and requests decompressed up to a limit."""

from __future__ import annotations

import zlib
from typing import Final

from isal import igzip

from sortkey.http.request_parser import BODY_BYTES, Request, RequestError
from sortkey.limits import MIB

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
