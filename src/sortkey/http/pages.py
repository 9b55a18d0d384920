"""Pages that a server shows besides what it is for. The console is one; a server knows only this interface."""

from __future__ import annotations

from typing import Final, Protocol

from sortkey.http.connection import Defer
from sortkey.http.request_parser import Request

PREFIX: Final = b"/console/"
"""Of the targets of pages, all but `/`."""


class Pages(Protocol):
    def serves(self, request: Request) -> bool:
        """Whether the request is for the pages. Services ask only if the target is `/` or has this prefix; the
        endpoint, if the request names no operation."""

    def begin(self, request: Request, peer: str, defer: Defer) -> bytes | None:
        """As `RequestHandler.begin`, for a request from this address. Checks itself who sends it."""
