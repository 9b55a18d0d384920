"""Who may see and edit what in the console: by a token's scopes, by a key's rights per table, or everybody on a machine
that trusts its programs.

    console:read           shows everything
    console:write          edits rows, and sends or drops dead letters; alone it shows nothing
    console:read:boosts    shows what belongs to the service boosts

The credentials come in `Authorization: Bearer …` with every request, never in a cookie, so another page that makes the
browser send a request has none. Where there are no credentials, the browser's own headers tell where a request is from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, Protocol

from sortkey.engine import requests
from sortkey.engine.operations import STATEMENTS, WRITES
from sortkey.engine.operations.policies import PolicyBook
from sortkey.errors import AccessDeniedException
from sortkey.expressions.partiql_parser import parse_statement
from sortkey.http.listener import AllowedHosts, rejection
from sortkey.http.request_parser import Request
from sortkey.server.errors import api_error
from sortkey.server.tokens import CONSOLE, Holder, KnownTokens, Right
from sortkey.wire.authentication import Caller, KeyAuthentication, UnknownKey

Seen = Literal["all"] | list[str]
ServiceOf = Callable[[str], str | None]
"""The service that a table belongs to; None for a table of none."""

_BEARER: Final = b"bearer "
_OWN: Final = frozenset({b"same-origin", b"none"})
_OTHER_PAGE: Final = "Pages of other origins may not use the console."


class Viewer(Protocol):
    """Somebody who looks at the console."""

    @property
    def name(self) -> str | None:
        """Of the token or key; None where everybody may look."""
        ...

    @property
    def read(self) -> Seen: ...
    @property
    def write(self) -> Seen: ...

    def sees(self, table: str) -> bool: ...

    def edits(self, table: str) -> bool: ...

    def sees_service(self, service: str | None) -> bool: ...

    def edits_service(self, service: str | None) -> bool: ...

    def check(self, operation: str, members: Mapping[str, Any]) -> None:
        """Raises ApiError if the viewer may not send this request, which names one table."""


class Access(Protocol):
    auth: Literal["none", "token", "key"]

    def check_host(self, request: Request) -> None:
        """Raises ApiError if not even the page may be shown to this request."""

    def viewer(self, request: Request) -> Viewer:
        """Raises ApiError without valid credentials."""


def check_site(request: Request) -> None:
    """Raises ApiError for a request that a page of another site made, as all browsers of today tell."""
    site = request.headers.get(b"sec-fetch-site")
    if site is not None and site not in _OWN:
        raise api_error(403, _OTHER_PAGE)


class Everybody:
    name: str | None = None
    read: Seen = "all"
    write: Seen = "all"

    def sees(self, table: str) -> bool:  # noqa: ARG002
        return True

    edits = sees

    def sees_service(self, service: str | None) -> bool:  # noqa: ARG002
        return True

    edits_service = sees_service

    def check(self, operation: str, members: Mapping[str, Any]) -> None:
        """Everything is allowed."""


class OpenAccess:
    """No credentials: for programs of this machine, and for our own page in its browsers."""

    auth: Literal["none", "token", "key"] = "none"

    def __init__(self, hosts: AllowedHosts, credentials: str) -> None:
        """`credentials` is the option with which the server would have some."""
        self._hosts = hosts
        self._credentials = credentials

    def check_host(self, request: Request) -> None:
        if not self._hosts.admits(request.host):
            raise api_error(403, rejection(request.host, self._credentials))

    def viewer(self, request: Request) -> Viewer:
        origin = request.headers.get(b"origin")
        if origin is not None and origin.partition(b"://")[2] != request.headers.get(b"host"):
            raise api_error(403, _OTHER_PAGE)
        return Everybody()


class TokenAccess:
    auth: Literal["none", "token", "key"] = "token"

    def __init__(self, tokens: KnownTokens, service_of: ServiceOf) -> None:
        self._tokens = tokens
        self._service_of = service_of

    def check_host(self, request: Request) -> None:
        """Any host: a page that leads its name here still has no token."""

    def viewer(self, request: Request) -> Viewer:
        holder = self._tokens.holder(request.headers.get(b"authorization", b""))
        viewer = TokenViewer(holder, self._service_of)
        if not viewer.read:
            raise api_error(403, f"The token {holder.name!r} lacks the scope '{CONSOLE}:read'.")
        return viewer


class TokenViewer:
    def __init__(self, holder: Holder, service_of: ServiceOf) -> None:
        self.name: str | None = holder.name
        self.read: Seen = _services(holder, "read")
        # Who may not see a row cannot tell what an edit does.
        self.write: Seen = _both(self.read, _services(holder, "write"))
        self._service_of = service_of

    def sees(self, table: str) -> bool:
        return self.sees_service(self._service_of(table))

    def edits(self, table: str) -> bool:
        return self.edits_service(self._service_of(table))

    def sees_service(self, service: str | None) -> bool:
        return self.read == "all" or service in self.read

    def edits_service(self, service: str | None) -> bool:
        return self.write == "all" or service in self.write

    def check(self, operation: str, members: Mapping[str, Any]) -> None:
        # Statements are SELECTs here: `data/raw.py` takes no others.
        is_statement = operation in STATEMENTS
        right: Right = "write" if operation in WRITES and not is_statement else "read"
        table = parse_statement(members["Statement"]).table if is_statement else members["TableName"]
        if not (self.edits(table) if right == "write" else self.sees(table)):
            raise api_error(403, f"The token {self.name!r} lacks the scope '{CONSOLE}:{right}' for the table {table}.")


def _services(holder: Holder, right: Right) -> Seen:
    scopes = [scope for scope in holder.scopes if scope.service == CONSOLE and scope.right == right]
    if any(not scope.only for scope in scopes):
        return "all"
    return [scope.only for scope in scopes]


def _both(read: Seen, write: Seen) -> Seen:
    if read == "all":
        return write
    return read if write == "all" else [each for each in write if each in read]


class KeyAccess:
    """The keys of `sortkey db --keys`: the page sends the id and the secret, as a service's page sends its token."""

    auth: Literal["none", "token", "key"] = "key"

    def __init__(self, keys: KeyAuthentication, policies: PolicyBook) -> None:
        self._keys = keys
        self._policies = policies

    def check_host(self, request: Request) -> None:
        """Any host, as with tokens."""

    def viewer(self, request: Request) -> Viewer:
        authorization = request.headers.get(b"authorization", b"")
        if authorization[: len(_BEARER)].lower() != _BEARER:
            raise api_error(401, "A key is required: its id, a colon, and its secret.", www_authenticate="Bearer")
        key_id, _, secret = authorization[len(_BEARER) :].strip().decode("latin-1").partition(":")
        try:
            return KeyViewer(key_id, self._keys.caller(key_id, secret, self._policies))
        except UnknownKey:
            raise api_error(401, "The key is not valid.", www_authenticate='Bearer error="invalid_token"') from None


class KeyViewer:
    read: Seen = "all"
    write: Seen = "all"

    def __init__(self, key_id: str, caller: Caller | None) -> None:
        self.name: str | None = key_id
        self._caller = caller

    def sees(self, table: str) -> bool:
        return self._may("DescribeTable", {"TableName": table})

    def edits(self, table: str) -> bool:
        return self._may("PutItem", {"TableName": table, "Item": {}, "ReturnValues": "ALL_OLD"})

    def sees_service(self, service: str | None) -> bool:  # noqa: ARG002
        """The endpoint has no services; what is of none, such as its rates, is the owner's."""
        return self._caller is None

    edits_service = sees_service

    def check(self, operation: str, members: Mapping[str, Any]) -> None:
        if self._caller is not None:
            try:
                self._caller.check(operation, requests.convert(operation, dict(members)))
            except AccessDeniedException as error:
                raise api_error(403, str(error)) from None

    def _may(self, operation: str, members: dict[str, Any]) -> bool:
        if self._caller is None:
            return True
        try:
            self._caller.check(operation, requests.convert(operation, members))
        except AccessDeniedException:
            return False
        return True
