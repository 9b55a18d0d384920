"""Who may ask: everybody on this machine, or the holders of keys."""

from __future__ import annotations

from typing import Protocol

from sortkey.engine.requests.shapes import Shape
from sortkey.errors import AccessDeniedException
from sortkey.wire.request_parser import Request


class Caller(Protocol):
    def check(self, operation: str, request: Shape) -> None:
        """Raises AccessDeniedException where the caller has no right to this."""


class Gate(Protocol):
    def admit(self, request: Request) -> Caller | None:
        """Who sent the request; None where everybody may do everything. Raises what AWS says to strangers."""


class OpenGate:
    """No keys: whoever can reach the port may use it, which only programs of this machine can.

    Web pages are the exception: a browser here runs what strangers wrote. It names the page in `Origin` with every
    request that changes anything, which no SDK sends.
    """

    def admit(self, request: Request) -> Caller | None:
        if b"origin" in request.headers:
            raise AccessDeniedException("Web pages may not use this endpoint unless it was given keys.")
        return None
