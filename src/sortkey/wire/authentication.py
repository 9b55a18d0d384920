"""Who may ask: everybody on this machine, or the holders of keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from sortkey.clock import Clock
from sortkey.engine.requests.shapes import Shape
from sortkey.errors import AccessDeniedException
from sortkey.http.request_parser import Request
from sortkey.wire import signature
from sortkey.wire.keys_file import Key
from sortkey.wire.rights import Rights


class Caller(Protocol):
    def check(self, operation: str, request: Shape) -> None:
        """Raises AccessDeniedException where the caller has no right to this."""


class Authentication(Protocol):
    def admit(self, request: Request) -> Caller | None:
        """Who sent the request; None where the sender may do everything. Raises what AWS says to strangers."""


class NoAuthentication:
    """No keys: whoever can reach the port may use it, which only programs of this machine can.

    Web pages are the exception: a browser here runs what strangers wrote. It names the page in `Origin` with every
    request that changes anything, which no SDK sends.
    """

    def admit(self, request: Request) -> Caller | None:
        if b"origin" in request.headers:
            raise AccessDeniedException("Web pages may not use this endpoint unless it was given keys.")
        return None


class KeyAuthentication:
    """Only what is signed by one of the keys gets through."""

    def __init__(self, keys: Mapping[str, Key], clock: Clock) -> None:
        self._keys = keys
        self._clock = clock
        self._rights = {name: Rights(name, key.tables) for name, key in keys.items() if key.tables is not None}

    def admit(self, request: Request) -> Caller | None:
        key_id = signature.verify(request, self._secret, self._clock.now(), self._region)
        return self._rights.get(key_id)

    def _secret(self, key_id: str) -> str | None:
        key = self._keys.get(key_id)
        return None if key is None else key.secret

    def _region(self, key_id: str) -> str | None:
        return self._keys[key_id].region
