"""Pages that a server shows besides what it is for. The console is one; a server knows only this interface."""

from __future__ import annotations

from typing import Final, Protocol

from sortkey.http.connection import Defer
from sortkey.http.request_parser import Request

PREFIX: Final = b"/console/"
"""Of the targets of pages, all but `/`."""


class Pages(Protocol):
    def serves(self, request: Request) -> bool:
        """Whether the request is for the pages. A server asks this only of requests that may be: of those with this
        prefix or for `/`, or those that are not for it."""

    def begin(self, request: Request, peer: str, defer: Defer) -> bytes | None:
        """As `RequestHandler.begin`, for a request from this address. Checks itself who sends it."""
