"""Which clients may do what: the tokens file that `--tokens` names, and the scope that a route needs.

    [search]
    sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    scopes = ["boosts:read"]

A token is 256 random bits, so its hash needs no salt and need not be secret. Clients send the token as
`Authorization: Bearer TOKEN`.

A scope may be narrower than its service:

    boosts:write:de                        requests whose route has the path parameter `tenant`, with this value
    pricing:read:/pricing/stores/12        requests whose path is this one or below it, by whole segments
    console:read:pricing                   of the console, what belongs to this service

Both are compared with the decoded path, as routes are. A route without `tenant` is closed to the first, and so are
paths with empty or dotted segments to the second: what a router makes of them is not what they say.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import msgspec

from sortkey.http.listener import AllowedHosts, rejection
from sortkey.server.errors import api_error
from sortkey.wire.authentication import exposure

Right = Literal["read", "write"]

_PREFIX: Final = b"bearer "
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TENANT: Final = re.compile(r"[^\s\"\\/]{1,256}")
_PATH: Final = re.compile(r"(/[^\s\"\\/?#%]{1,256})+")
RIGHTS: Final = ("read", "write")
CONSOLE: Final = "console"
"""In the place of a service: the console."""
TENANT: Final = "tenant"
"""The path parameter that names a request's tenant."""
_UNSAFE: Final = frozenset({"", ".", ".."})

SERVICE: Final = "service"
"""The route option that holds the service's name; the app sets it for all routes of a service."""
SCOPE: Final = "scope"
OPEN: Final = "open"
"""The scope of routes that need no token: pages and scripts, which a browser requests without one."""
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class BadTokens(Exception):
    """The tokens cannot be used; the message says why, in one line."""


class Asked(Protocol):
    """What a token must be good for."""

    @property
    def headers(self) -> Mapping[bytes, bytes]: ...
    @property
    def path(self) -> str:
        """Without percent-encoding."""
        ...

    @property
    def tenant(self) -> str | None:
        """That the path names; None if its route names none."""
        ...


class Scope(msgspec.Struct, frozen=True):
    """One of a token's scopes."""

    service: str
    right: str
    only: str = ""
    """A tenant, or a path, which begins with a slash; empty for all."""

    @property
    def general(self) -> str:
        """What a route needs."""
        return f"{self.service}:{self.right}"

    @property
    def is_of_tenant(self) -> bool:
        return bool(self.only) and not self.only.startswith("/")

    def admits(self, asked: Asked) -> bool:
        if not self.only:
            return True
        if self.is_of_tenant:
            return asked.tenant == self.only
        begin, *segments = asked.path.removesuffix("/").split("/")
        _, *allowed = self.only.split("/")
        return begin == "" and not _UNSAFE.intersection(segments) and segments[: len(allowed)] == allowed


class Holder(msgspec.Struct, frozen=True):
    """A client that has a token."""

    name: str
    digest: bytes
    scopes: tuple[Scope, ...]


class Tokens(Protocol):
    def check_host(self, host: bytes) -> None:
        """Raises ApiError if not even what needs no token may be shown to requests for this host."""

    def check(self, asked: Asked, scope: str) -> str | None:
        """The name of the token's holder; None if there are no tokens. Raises ApiError if it may not do this."""

    def check_tenants(self, service: str, has_tenants: bool) -> None:
        """Raises BadTokens if a scope names a tenant of a service that has none."""


class NoTokens:
    """Every program that can reach the port may use it, and only programs of this machine can.

    Web pages of other origins may not, since a browser on this machine runs them. It sends the page's `Origin` with
    every request that changes anything; only our own documentation page has the server's origin. A page that has led
    its own name to this machine has it, too, and is known by `Host`.
    """

    def __init__(self, hosts: AllowedHosts) -> None:
        self.hosts = hosts

    def check_host(self, host: bytes) -> None:
        if not self.hosts.admits(host):
            raise api_error(403, rejection(host, "--tokens"))

    def check(self, asked: Asked, scope: str) -> str | None:  # noqa: ARG002
        headers = asked.headers
        origin = headers.get(b"origin")
        if origin is not None and origin.partition(b"://")[2] != headers.get(b"host"):
            raise api_error(403, "Web pages of other origins may use this server only if it was started with --tokens.")
        return None

    def check_tenants(self, service: str, has_tenants: bool) -> None:
        """There are no scopes."""


class KnownTokens:
    def __init__(self, holders: Collection[Holder]) -> None:
        self._holders = tuple(holders)

    def check_host(self, host: bytes) -> None:
        """Any host: a page that leads its name here still has no token."""

    def check(self, asked: Asked, scope: str) -> str | None:
        holder = self.holder(asked.headers.get(b"authorization", b""))
        granted = [each for each in holder.scopes if each.general == scope]
        if not granted:
            raise api_error(403, f"The token {holder.name!r} lacks the scope {scope!r}.")
        if not any(each.admits(asked) for each in granted):
            only = ", ".join(each.only for each in granted)
            raise api_error(403, f"The token {holder.name!r} has the scope {scope!r} only for {only}.")
        return holder.name

    def check_tenants(self, service: str, has_tenants: bool) -> None:
        for holder in self._holders:
            for scope in holder.scopes:
                if scope.service == service and scope.is_of_tenant and not has_tenants:
                    raise BadTokens(
                        f"the token {holder.name!r} has the scope {scope.general}:{scope.only}, but no route of "
                        f"{service} names a tenant; for a part of its paths, use {scope.general}:/PATH"
                    )

    def holder(self, authorization: bytes) -> Holder:
        """Whose token this header has. Raises ApiError."""
        if authorization[: len(_PREFIX)].lower() != _PREFIX:
            raise api_error(401, "A token is required: send 'Authorization: Bearer TOKEN'.", www_authenticate="Bearer")
        digest = hashlib.sha256(authorization[len(_PREFIX) :].strip()).digest()
        # Compares all, each in constant time, so that the time reveals nothing about a guess.
        found = [holder for holder in self._holders if hmac.compare_digest(holder.digest, digest)]
        if not found:
            raise api_error(401, "The token is not valid.", www_authenticate='Bearer error="invalid_token"')
        return found[0]


def load(path: Path, services: Collection[str]) -> KnownTokens:
    """The tokens of a file, for these services. Raises BadTokens."""
    entries = read(path)
    if not entries:
        raise BadTokens(f"{path} contains no tokens, so no client could use the server; 'sortkey token' creates one")
    return KnownTokens([_holder(path, name, entry, services) for name, entry in entries.items()])


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sha256: str
    scopes: list[str]


def read(path: Path) -> dict[str, Entry]:
    try:
        exposed = exposure(path)
        if exposed is not None:
            raise BadTokens(exposed)
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), dict[str, Entry])
    except OSError as error:
        raise BadTokens(f"cannot read the tokens in {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise BadTokens(f"{path} is not a tokens file: {error}") from error


def read_scopes(scopes: Collection[str], services: Collection[str]) -> tuple[Scope, ...]:
    """Raises BadTokens."""
    if not scopes:
        raise BadTokens("a token needs at least one scope")
    return tuple(_scope(scope, services) for scope in scopes)


def _scope(text: str, services: Collection[str]) -> Scope:
    service, _, rest = text.partition(":")
    right, colon, only = rest.partition(":")
    if (service not in services and service != CONSOLE) or right not in RIGHTS:
        known = ", ".join(f"{name}:{right}" for name in (*sorted(services), CONSOLE) for right in RIGHTS)
        raise BadTokens(f"unknown scope {text!r}; the scopes are {known}; :TENANT or :/PATH behind one restricts it")
    if service == CONSOLE and colon and only not in services:
        there = ", ".join(sorted(services)) or "none"
        raise BadTokens(f"the scope {text!r} names no service; there are {there}")
    if only.startswith("/"):
        if not _PATH.fullmatch(only) or _UNSAFE.intersection(only.split("/")[1:]):
            raise BadTokens(
                f"the scope {text!r} has no path such as /{service}/a/b: whole segments, none of them empty or dotted, "
                "without a slash at the end, without percent-encoding and without a query"
            )
    elif colon and not _TENANT.fullmatch(only):
        raise BadTokens(f"the scope {text!r} has no tenant: at most 256 characters, without spaces, quotes and slashes")
    return Scope(service, right, only)


def create(name: str, scopes: Collection[str]) -> tuple[str, str]:
    """A new token, and its entry for the file. Raises BadTokens."""
    if not _NAME.fullmatch(name):
        raise BadTokens(f"{name!r} is not a token name: use at most 64 letters, digits, '_' and '-'")
    token = f"sk_{secrets.token_urlsafe(32)}"
    quoted = ", ".join(f'"{scope}"' for scope in scopes)
    return token, f'[{name}]\nsha256 = "{hashlib.sha256(token.encode()).hexdigest()}"\nscopes = [{quoted}]\n'


def _holder(path: Path, name: str, entry: Entry, services: Collection[str]) -> Holder:
    if not _HASH.fullmatch(entry.sha256):
        raise BadTokens(f"{path}: the sha256 of {name!r} must be 64 hexadecimal digits")
    try:
        scopes = read_scopes(entry.scopes, services)
    except BadTokens as error:
        raise BadTokens(f"{path}: {name!r}: {error}") from None
    return Holder(name, bytes.fromhex(entry.sha256), scopes)


def scope_of(options: Mapping[str, Any], method: str) -> str | None:
    """Such as `boosts:read`; None if no token is needed."""
    right = options.get(SCOPE) or ("read" if method in _READING else "write")
    return None if right == OPEN else f"{options[SERVICE]}:{right}"
