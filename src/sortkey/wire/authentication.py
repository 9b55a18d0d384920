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

Resource policies of tables and streams come on top, as on AWS: what one denies is denied to every key, and what one
allows needs no right of the key's own. To a policy, a key is the user of its name. A key without `tables` may always
delete a policy, as an account's root may, so that nobody is locked out for good.
"""

from __future__ import annotations

import hmac
import re
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol

import msgspec

from sortkey.clock import Clock
from sortkey.engine.operations import STATEMENTS, WRITES
from sortkey.engine.operations.policies import PolicyBook
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.backups import RestoreTableFromBackup
from sortkey.engine.requests.shapes import Shape
from sortkey.engine.requests.statements import OneStatement, statements_of
from sortkey.engine.requests.transfers import ImportTable
from sortkey.engine.tables import resource_policy
from sortkey.engine.tables.core import Settings
from sortkey.engine.tables.resource_policy import Policy, parse_policy
from sortkey.errors import AccessDeniedException, DynamoDBError, ValidationException
from sortkey.expressions.partiql_parser import parse_statement
from sortkey.expressions.partiql_tree import Delete, Exists, Select, Update
from sortkey.http.listener import AllowedHosts, rejection
from sortkey.http.request_parser import Request
from sortkey.wire import signature
from sortkey.wire.messages import CoralError


class Caller(Protocol):
    """A caller whose rights are limited."""

    def check(self, operation: str, request: Shape) -> None:
        """Raises AccessDeniedException if the caller may not do this."""


class Authentication(Protocol):
    def admit(self, request: Request, policies: PolicyBook, /) -> Caller | None:
        """The caller; None if the caller may do everything. Raises AWS's error if the request is not admitted."""

    def allowed_origin(self, origin: bytes, /) -> bytes | None:
        """Which web pages may read the answer to a page of this origin: all (`*`), those of the origin, or none."""

    def check_host(self, request: Request) -> None:
        """Raises CoralError if not even what needs no key may be shown to this request, such as the metrics."""


NO_WEB_PAGES: Final = "Web pages may use this endpoint only if it was started with --keys, or with --allow-origin."


class NoAuthentication:
    """No keys: every program that can reach the port may use it, and only programs of this machine can.

    Web pages may not, since a browser on this machine runs pages of other origins. It sends `Origin` with every
    request that changes anything; SDKs never do. A page that has led its own name to this machine is known by `Host`.
    The operator may allow the pages of some origins.
    """

    def __init__(self, hosts: AllowedHosts, origins: Iterable[str] = ()) -> None:
        self._hosts = hosts
        self._origins = frozenset(origin.encode() for origin in origins)
        self._admitted = hosts.admitted

    def admit(self, request: Request, _policies: PolicyBook) -> Caller | None:
        """Nobody has a name here, so policies concern nobody."""
        headers = request.headers
        if b"origin" in headers and self.allowed_origin(headers[b"origin"]) is None:
            raise AccessDeniedException(NO_WEB_PAGES)
        # Handles the common case, which is every request of an SDK but its first.
        if request.target != b"/" or headers.get(b"host") not in self._admitted:
            self.check_host(request)
        return None

    def allowed_origin(self, origin: bytes) -> bytes | None:
        return origin if origin in self._origins else None

    def check_host(self, request: Request) -> None:
        host = request.host
        if not self._hosts.admits(host):
            raise CoralError(403, "AccessDeniedException", rejection(host, "--keys"))


class KeyAuthentication:
    """Admits requests that are signed with one of the keys."""

    def __init__(self, keys: Mapping[str, Key], clock: Clock) -> None:
        self._keys = keys
        self._clock = clock
        self._rights = {name: Rights(key.tables) for name, key in keys.items() if key.tables is not None}

    def admit(self, request: Request, policies: PolicyBook) -> Caller | None:
        now = self._clock.now()
        return self._caller(signature.verify(request, self._secret, now, self._region), policies, now)

    def caller(self, key_id: str, secret: str, policies: PolicyBook) -> Caller | None:
        """Who sends a key's secret instead of a signature made with it. Raises UnknownKey."""
        key = self._keys.get(key_id)
        known = "" if key is None else key.secret
        if not hmac.compare_digest(known.encode(), secret.encode()) or key is None:
            raise UnknownKey(key_id)
        return self._caller(key_id, policies, self._clock.now())

    def _caller(self, key_id: str, policies: PolicyBook, now: float) -> Caller | None:
        rights, current = self._rights.get(key_id), policies.current()
        if rights is None and not current:
            return None
        return KeyHolder(key_id, rights, current, now)

    def allowed_origin(self, _origin: bytes) -> bytes | None:
        """As AWS: a page needs a key like everybody else."""
        return b"*"

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


class UnknownKey(Exception):
    """There is no such key, or it has another secret."""


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
ADMIN_OPERATIONS: Final = (WRITES.keys() - ITEM_WRITES - STATEMENTS) | {
    "UpdateGlobalTableSettings",
    "UpdateTableReplicaAutoScaling",
}
ACTIONS: Final = {
    "get": (READ, "dynamodb:GetItem"),
    "condition_check": (READ, "dynamodb:ConditionCheckItem"),
    "put": (WRITE, "dynamodb:PutItem"),
    "update": (WRITE, "dynamodb:UpdateItem"),
    "delete": (WRITE, "dynamodb:DeleteItem"),
}
"""The rights that the parts of a transaction need, and their names in policies."""
RETURNING_MEMBERS: Final = ("return_values", "return_values_on_condition_check_failure")
"""Members that ask a write for attributes."""
NAMING_MEMBERS: Final = ("table_name", "global_table_name")
TARGET: Final = "target_table_name"
"""The member that names the table that a request restores; others name what it is restored from."""
ARN_MEMBERS: Final = (
    "resource_arn",
    "table_arn",
    "stream_arn",
    "shard_iterator",
    "backup_arn",
    "export_arn",
    "import_arn",
)
"""Members that name a request's table. A shard iterator begins with its stream's ARN."""
# Unambiguous: the engine must find the same table that the rights were checked for.
ARN: Final = re.compile(r"arn:[^:/|]*:dynamodb:[^:/|]*:[^:/|]*:table/([^/:|]+)([/|].*)?", re.DOTALL)


EVERY_OWNERS: Final = "DeleteResourcePolicy"
"""What a key without `tables` may do although a policy denies it."""
SETTINGS: Final = Settings()
"""The region and the account of the endpoint's ARNs."""


class Need(NamedTuple):
    """What a request does to one table, and the right that it needs there."""

    table: str
    right: str
    action: str
    below: str = ""
    """The index or stream, as its ARN continues that of the table."""

    @property
    def arn(self) -> str:
        table = f"arn:aws:dynamodb:{SETTINGS.region}:{SETTINGS.account}:table/{self.table}"
        return table + self.below


class Rights:
    """One key's rights."""

    def __init__(self, tables: Mapping[str, str]) -> None:
        self._patterns = [(pattern, RIGHTS[right]) for pattern, right in tables.items()]

    def grant(self, need: Need) -> bool:
        return any(need.right in rights and fnmatchcase(need.table, pattern) for pattern, rights in self._patterns)


class KeyHolder:
    """A caller who may be limited by the rights of the key, and by the policies of tables and streams."""

    def __init__(self, key_id: str, rights: Rights | None, policies: Mapping[str, Policy], now: float) -> None:
        self._rights = rights
        self._policies = policies
        self._caller = resource_policy.Caller(SETTINGS.account, key_id, now)

    def check(self, operation: str, request: Shape) -> None:
        for need in needs(operation, request):
            effect = self._effect(self._policies.get(_policed(need)), need)
            if effect == "Deny" and not (self._rights is None and operation == EVERY_OWNERS):
                raise self._denied(need, "with an explicit deny in a resource-based policy")
            if effect != "Allow" and not self._is_granted(need):
                raise self._denied(need, f"because no identity-based policy allows the {need.action} action")
            if operation == "PutResourcePolicy":
                self._check_remains(need, request)

    def _effect(self, policy: Policy | None, need: Need) -> str | None:
        return None if policy is None else policy.effect(self._caller, need.action, need.arn)

    def _is_granted(self, need: Need) -> bool:
        return self._rights is None or self._rights.grant(need)

    def _check_remains(self, need: Need, request: Any) -> None:
        """Whoever puts a policy must be able to put the next one, or confirm to know."""
        if request.confirm_remove_self_resource_access:
            return
        effect = self._effect(parse_policy(request.policy, request.resource_arn), need)
        if effect == "Deny" or (effect is None and not self._is_granted(need)):
            raise ValidationException(
                "The policy removes the caller's own permission to change it. "
                "Confirm this by ConfirmRemoveSelfResourceAccess"
            )

    def _denied(self, need: Need, why: str) -> AccessDeniedException:
        return AccessDeniedException(
            f"User: {self._caller.arn} is not authorized to perform: {need.action} on resource: {need.arn} {why}"
        )


def _policed(need: Need) -> str:
    """The ARN whose policy decides: that of the stream, or that of the table, also for its indexes."""
    return need.arn if need.below.startswith("/stream/") else need.arn.removesuffix(need.below)


def needs(operation: str, request: Any) -> Iterator[Need]:
    """Each table that the request names, and the right that it needs there."""
    if operation in ("TransactGetItems", "TransactWriteItems"):
        for item in request.transact_items:
            yield from _transaction_needs(item)
        return
    if operation in STATEMENTS:
        for statement in statements_of(request):
            yield from _statement_needs(statement)
        return
    right = ADMIN if operation in ADMIN_OPERATIONS else WRITE if operation in ITEM_WRITES else READ
    action = f"dynamodb:{operation}"
    if operation in ("BatchGetItem", "BatchWriteItem"):
        for name in request.request_items:
            yield Need(table_name_of(name), right, action)
        return
    if hasattr(request, TARGET):
        yield from _restore_needs(request, action)
        return
    if isinstance(request, ImportTable):
        yield Need(request.table_creation_parameters.table_name, right, action)
        return
    for member in NAMING_MEMBERS:
        name = getattr(request, member, None)
        if name is not None:
            index = getattr(request, "index_name", None)
            below = "" if index is None else f"/index/{index}"
            yield Need(table_name_of(name), right, action, below)
            if _returns_attributes(request):
                yield Need(table_name_of(name), READ, action)
            # Another ARN of such a request names no table, but the Kinesis stream that gets its changes.
            return
    for member in ARN_MEMBERS:
        arn = getattr(request, member, None)
        if arn is not None:
            yield _need_of_arn(arn, right, action)


def _restore_needs(request: Any, action: str) -> Iterator[Need]:
    """A restored table has all items of its source, so that must be readable."""
    yield Need(request.target_table_name, ADMIN, action)
    if isinstance(request, RestoreTableFromBackup):
        yield _need_of_arn(request.backup_arn, READ, action)
        return
    source = request.source_table_name or request.source_table_arn
    if source is not None:
        yield Need(table_name_of(source), READ, action)


def _need_of_arn(arn: str, right: str, action: str) -> Need:
    found = ARN.fullmatch(arn)
    if found is None:
        return Need("", right, action)
    below = (found[2] or "").partition("|")[0]
    return Need(found[1], right, action, below)


def _transaction_needs(item: Any) -> Iterator[Need]:
    for member, (right, action) in ACTIONS.items():
        part = getattr(item, member, None)
        if part is not None:
            name = table_name_of(part.table_name)
            yield Need(name, right, action)
            if right is WRITE and _returns_attributes(part):
                yield Need(name, READ, action)


def _statement_needs(request: OneStatement) -> Iterator[Need]:
    """Those of the operation that a statement becomes. One that cannot be parsed is rejected by the operation."""
    try:
        statement = parse_statement(request.statement)
    except DynamoDBError:
        return
    body = statement.body
    table = table_name_of(statement.table)
    if isinstance(body, Select | Exists):
        index = body.index if isinstance(body, Select) else None
        yield Need(table, READ, "dynamodb:PartiQLSelect", "" if index is None else f"/index/{index}")
        return
    action = f"dynamodb:PartiQL{type(body).__name__}"
    yield Need(table, WRITE, action)
    if (isinstance(body, Update | Delete) and body.returning is not None) or _returns_attributes(request):
        yield Need(table, READ, action)


def _returns_attributes(write: Any) -> bool:
    return any(getattr(write, member, None) not in (None, "NONE") for member in RETURNING_MEMBERS)
