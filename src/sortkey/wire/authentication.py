"""Who may use the endpoint: every program of this machine, or the holders of keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from sortkey.clock import Clock
from sortkey.engine.requests.shapes import Shape
from sortkey.errors import AccessDeniedException
from sortkey.http.listener import AllowedHosts, rejection
from sortkey.http.request_parser import Request
from sortkey.wire import signature
from sortkey.wire.keys import Key, Rights
from sortkey.wire.protocol import CoralError


class Caller(Protocol):
    """A caller whose rights are limited."""

    def check(self, operation: str, request: Shape) -> None:
        """Raises AccessDeniedException if the caller may not do this."""


class Authentication(Protocol):
    def admit(self, request: Request) -> Caller | None:
        """The caller; None if the caller may do everything. Raises AWS's error if the request is not admitted."""

    def check_host(self, request: Request) -> None:
        """Raises CoralError if not even what needs no key may be shown to this request, such as the metrics."""


class NoAuthentication:
    """No keys: every program that can reach the port may use it, and only programs of this machine can.

    Web pages may not, since a browser on this machine runs pages of other origins. It sends `Origin` with every
    request that changes anything; SDKs never do. A page that has led its own name to this machine is known by `Host`.
    """

    def __init__(self, hosts: AllowedHosts) -> None:
        self._hosts = hosts
        self._admitted = hosts.admitted

    def admit(self, request: Request) -> Caller | None:
        headers = request.headers
        if b"origin" in headers:
            raise AccessDeniedException("Web pages may use this endpoint only if it was started with --keys.")
        # Handles the common case, which is every request of an SDK but its first.
        if request.target != b"/" or headers.get(b"host") not in self._admitted:
            self.check_host(request)
        return None

    def check_host(self, request: Request) -> None:
        host = request.host
        if not self._hosts.admits(host):
            raise CoralError(403, "AccessDeniedException", rejection(host, "--keys"))


class KeyAuthentication:
    """Admits requests that are signed with one of the keys."""

    def __init__(self, keys: Mapping[str, Key], clock: Clock) -> None:
        self._keys = keys
        self._clock = clock
        self._rights = {name: Rights(name, key.tables) for name, key in keys.items() if key.tables is not None}

    def admit(self, request: Request) -> Caller | None:
        key_id = signature.verify(request, self._secret, self._clock.now(), self._region)
        return self._rights.get(key_id)

    def check_host(self, request: Request) -> None:
        """Any host: a page that leads its name here still has no key."""

    def _secret(self, key_id: str) -> str | None:
        key = self._keys.get(key_id)
        return None if key is None else key.secret

    def _region(self, key_id: str) -> str | None:
        return self._keys[key_id].region
