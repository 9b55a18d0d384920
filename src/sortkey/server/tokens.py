"""Which clients may do what: the tokens file that `--tokens` names, and the scope that a route needs.

    [search]
    sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    scopes = ["boosts:read"]

A token is 256 random bits, so its hash needs no salt and need not be secret. Clients send the token as
`Authorization: Bearer TOKEN`.
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
RIGHTS: Final = ("read", "write")

SERVICE: Final = "service"
"""The route option that holds the service's name; the app sets it for all routes of a service."""
SCOPE: Final = "scope"
OPEN: Final = "open"
"""The scope of routes that need no token: pages and scripts, which a browser requests without one."""
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class BadTokens(Exception):
    """The tokens cannot be used; the message says why, in one line."""


class Holder(msgspec.Struct, frozen=True):
    """A client that has a token."""

    name: str
    digest: bytes
    scopes: frozenset[str]


class Tokens(Protocol):
    def check_host(self, host: bytes) -> None:
        """Raises ApiError if not even what needs no token may be shown to requests for this host."""

    def check(self, headers: Mapping[bytes, bytes], scope: str) -> str | None:
        """The name of the token's holder; None if there are no tokens. Raises ApiError if it may not do this."""


class NoTokens:
    """Every program that can reach the port may use it, and only programs of this machine can.

    Web pages of other origins may not, since a browser on this machine runs them. It sends the page's `Origin` with
    every request that changes anything; only our own documentation page has the server's origin. A page that has led
    its own name to this machine has it, too, and is known by `Host`.
    """

    def __init__(self, hosts: AllowedHosts) -> None:
        self._hosts = hosts

    def check_host(self, host: bytes) -> None:
        if not self._hosts.admits(host):
            raise api_error(403, rejection(host, "--tokens"))

    def check(self, headers: Mapping[bytes, bytes], scope: str) -> str | None:  # noqa: ARG002
        origin = headers.get(b"origin")
        if origin is not None and origin.partition(b"://")[2] != headers.get(b"host"):
            raise api_error(403, "Web pages of other origins may use this server only if it was started with --tokens.")
        return None


class KnownTokens:
    def __init__(self, holders: Collection[Holder]) -> None:
        self._holders = tuple(holders)

    def check_host(self, host: bytes) -> None:
        """Any host: a page that leads its name here still has no token."""

    def check(self, headers: Mapping[bytes, bytes], scope: str) -> str | None:
        holder = self._holder(headers.get(b"authorization", b""))
        if scope not in holder.scopes:
            raise api_error(403, f"The token {holder.name!r} lacks the scope {scope!r}.")
        return holder.name

    def _holder(self, authorization: bytes) -> Holder:
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


def check_scopes(scopes: Collection[str], services: Collection[str]) -> None:
    for scope in scopes:
        service, _, right = scope.partition(":")
        if service not in services or right not in RIGHTS:
            known = ", ".join(f"{name}:{right}" for name in sorted(services) for right in RIGHTS) or "none"
            raise BadTokens(f"unknown scope {scope!r}; the scopes are {known}")
    if not scopes:
        raise BadTokens("a token needs at least one scope")


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
        check_scopes(entry.scopes, services)
    except BadTokens as error:
        raise BadTokens(f"{path}: {name!r}: {error}") from None
    return Holder(name, bytes.fromhex(entry.sha256), frozenset(entry.scopes))


def scope_of(options: Mapping[str, Any], method: str) -> str | None:
    """Such as `boosts:read`; None if no token is needed."""
    right = options.get(SCOPE) or ("read" if method in _READING else "write")
    return None if right == OPEN else f"{options[SERVICE]}:{right}"
