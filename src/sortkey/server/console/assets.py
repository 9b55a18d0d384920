"""The built page: files of the package, read once, with the headers that keep a browser safe.

The page loads nothing from other hosts and runs no script but its own files. Those have a hash in their name, so that a
browser keeps them; the page itself it asks for each time.
"""

from __future__ import annotations

import zlib
from functools import cached_property
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from sortkey.http.request_parser import Request
from sortkey.http.response import COMPRESS_BYTES, accepts_gzip

PAGE: Final = "index.html"
FOLDER: Final = "assets"
BUILT: Final = files("sortkey.server.console").joinpath("static")
POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Has the browser refuse inline scripts, other hosts, and being a frame of another page."""
SAFE_HEADERS: Final = (
    b"X-Content-Type-Options: nosniff\r\n"
    b"Referrer-Policy: no-referrer\r\n"
    b"Cross-Origin-Opener-Policy: same-origin\r\n"
    b"Cross-Origin-Resource-Policy: same-origin\r\n"
)
"""Of every answer."""
_TYPES: Final = {
    "css": b"text/css; charset=utf-8",
    "html": b"text/html; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "json": b"application/json",
    "png": b"image/png",
    "svg": b"image/svg+xml",
    "txt": b"text/plain; charset=utf-8",
    "woff2": b"font/woff2",
}
_BINARY: Final = frozenset({"png", "woff2"})
_KEPT: Final = b"Cache-Control: public, max-age=31536000, immutable\r\n"
_ASKED_FOR: Final = b"Cache-Control: no-cache\r\n"


class Asset:
    def __init__(self, name: str, content: bytes) -> None:
        self.name = name
        self.content = content
        self._kind = name.rpartition(".")[2]

    @cached_property
    def etag(self) -> bytes:
        return b'"%b"' % blake2b(self.content, digest_size=16).hexdigest().encode()

    @cached_property
    def _compressed(self) -> bytes | None:
        """Once for all browsers, and only if one asks."""
        if len(self.content) < COMPRESS_BYTES or self._kind in _BINARY:
            return None
        compressor = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
        return compressor.compress(self.content) + compressor.flush()

    def answer(self, request: Request) -> tuple[int, bytes, bytes]:
        """Status, headers and body."""
        is_page = self.name == PAGE
        headers = b"ETag: %b\r\n%b%bVary: Accept-Encoding\r\n" % (
            self.etag,
            _ASKED_FOR if is_page else _KEPT,
            SAFE_HEADERS,
        )
        if request.headers.get(b"if-none-match") == self.etag:
            return 304, headers, b""
        headers += b"Content-Type: %b\r\nContent-Security-Policy: %b\r\n" % (_TYPES[self._kind], POLICY)
        compressed = self._compressed if accepts_gzip(request) else None
        if compressed is None:
            return 200, headers, self.content
        return 200, headers + b"Content-Encoding: gzip\r\n", compressed


class Assets:
    """The files of a build. Only those that are listed when it is opened are ever served."""

    def __init__(self, folder: Traversable = BUILT) -> None:
        page = folder.joinpath(PAGE)
        self.page = Asset(PAGE, page.read_bytes()) if page.is_file() else None
        """None in a checkout whose page was never built."""
        self._files = {each.name: each for each in _files(folder.joinpath(FOLDER))}

    def file(self, name: str) -> Asset | None:
        return self._files.get(name)


def _files(folder: Traversable) -> list[Asset]:
    if not folder.is_dir():
        return []
    listed = [each for each in folder.iterdir() if each.name.rpartition(".")[2] in _TYPES]
    return [Asset(each.name, each.read_bytes()) for each in listed]
