"""Who may use the endpoint: every program of this machine, or the holders of keys.

The file that `--keys` names says who may sign requests, and for which tables:

    {
      "AKIDEVERYTHING": {"secret": "…"},
      "AKIDORDERS": {"secret": "…", "region": "eu-west-1", "tables": {"orders*": "readwrite", "prices": "read"}}
    }

A key without `tables` may do everything; a key without `region` is good for any region.

A key's rights are given for each table, by pattern:

    read       items, streams, descriptions
    write      put, update, delete items
    readwrite  both
    admin      both, and create, change, tag and delete the table

A write whose answer may hold attributes of an item (`ReturnValues`, `ReturnValuesOnConditionCheckFailure`) needs `read`
as well, and so does a condition check inside a transaction. Operations that name no table (ListTables, DescribeLimits,
…) are open to every key.
"""

from __future__ import annotations

import re
import shlex
import stat
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import msgspec

from sortkey.clock import Clock
from sortkey.engine.operations import WRITES
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.shapes import Shape
from sortkey.errors import AccessDeniedException
from sortkey.http.listener import AllowedHosts, rejection
from sortkey.http.request_parser import Request
from sortkey.wire import signature
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


Right = Literal["read", "write", "readwrite", "admin"]


class Key(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    secret: str
    region: str | None = None
    tables: dict[str, Right] | None = None


class BadKeysFile(Exception):
    """The file cannot be used; the message says why, in one line."""


def exposure(path: Path) -> str | None:
    """What is wrong with the mode of a file of keys or tokens; None if nothing is. Raises OSError."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if not mode & stat.S_IRWXO:
        return None
    # A group may have been given access on purpose.
    return f"{path} is open to all users of this machine (mode {mode:o}); run: chmod 600 {shlex.quote(str(path))}"


def load_keys(path: Path) -> dict[str, Key]:
    try:
        exposed = exposure(path)
        if exposed is not None:
            raise BadKeysFile(exposed)
        keys = msgspec.json.decode(path.read_bytes(), type=dict[str, Key])
    except OSError as error:
        raise BadKeysFile(f"cannot read the keys in {path}: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadKeysFile(f"{path} is not a keys file: {error}") from error
    if not keys:
        raise BadKeysFile(f"{path} contains no keys, so no client could use the endpoint")
    for key_id, key in keys.items():
        if not key_id or not key.secret or "/" in key_id:
            raise BadKeysFile(f"{path}: key {key_id!r}: needs an id without '/', and a secret")
    return keys


READ: Final = "read"
WRITE: Final = "write"
ADMIN: Final = "admin"
RIGHTS: Final[dict[str, frozenset[str]]] = {
    "read": frozenset({READ}),
    "write": frozenset({WRITE}),
    "readwrite": frozenset({READ, WRITE}),
    "admin": frozenset({READ, WRITE, ADMIN}),
}
ITEM_WRITES: Final = frozenset({"BatchWriteItem", "DeleteItem", "PutItem", "TransactWriteItems", "UpdateItem"})
ADMIN_OPERATIONS: Final = (WRITES.keys() - ITEM_WRITES) | {"UpdateContinuousBackups"}
ACTIONS: Final = {"get": READ, "condition_check": READ, "put": WRITE, "update": WRITE, "delete": WRITE}
"""The rights that the actions of a transaction need."""
RETURNING_MEMBERS: Final = ("return_values", "return_values_on_condition_check_failure")
"""Members that ask a write for attributes."""
NAMING_MEMBERS: Final = ("table_name", "global_table_name")
ARN_MEMBERS: Final = ("resource_arn", "table_arn", "stream_arn", "shard_iterator")
"""Members that name a request's table. A shard iterator begins with its stream's ARN."""
# Unambiguous: the engine must find the same table that the rights were checked for.
ARN: Final = re.compile(r"arn:[^:/|]*:dynamodb:[^:/|]*:[^:/|]*:table/([^/:|]+)([/|].*)?", re.DOTALL)


class Rights:
    """One key's rights."""

    def __init__(self, key_id: str, tables: Mapping[str, str]) -> None:
        self._key_id = key_id
        self._patterns = [(pattern, RIGHTS[right]) for pattern, right in tables.items()]

    def check(self, operation: str, request: Shape) -> None:
        for table, right in needs(operation, request):
            if not any(right in rights and fnmatchcase(table, pattern) for pattern, rights in self._patterns):
                raise self._denied(operation, table)

    def _denied(self, operation: str, table: str) -> AccessDeniedException:
        action = f"dynamodb:{operation}"
        return AccessDeniedException(
            f"User: arn:aws:iam::000000000000:user/{self._key_id} is not authorized to perform: {action} "
            f"on resource: arn:aws:dynamodb:local:000000000000:table/{table} "
            f"because no identity-based policy allows the {action} action"
        )


def needs(operation: str, request: Any) -> Iterator[tuple[str, str]]:
    """Each table that the request names, and the right that it needs there."""
    if operation in ("TransactGetItems", "TransactWriteItems"):
        for item in request.transact_items:
            yield from _transaction_needs(item)
        return
    right = ADMIN if operation in ADMIN_OPERATIONS else WRITE if operation in ITEM_WRITES else READ
    if operation in ("BatchGetItem", "BatchWriteItem"):
        for name in request.request_items:
            yield table_name_of(name), right
        return
    for member in NAMING_MEMBERS:
        name = getattr(request, member, None)
        if name is not None:
            yield table_name_of(name), right
            if _returns_attributes(request):
                yield table_name_of(name), READ
    for member in ARN_MEMBERS:
        arn = getattr(request, member, None)
        if arn is not None:
            found = ARN.fullmatch(arn)
            yield "" if found is None else found[1], right


def _transaction_needs(item: Any) -> Iterator[tuple[str, str]]:
    for member, right in ACTIONS.items():
        action = getattr(item, member, None)
        if action is not None:
            name = table_name_of(action.table_name)
            yield name, right
            if right is WRITE and _returns_attributes(action):
                yield name, READ


def _returns_attributes(write: Any) -> bool:
    return any(getattr(write, member, None) not in (None, "NONE") for member in RETURNING_MEMBERS)
