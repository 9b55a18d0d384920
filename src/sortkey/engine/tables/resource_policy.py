"""Resource-based policies: a document of statements, parsed and checked when it is put, evaluated for each request.

A policy is attached to a table, and covers its indexes too, or to a stream. A statement applies to a request if its
principal, its action, its resource and all of its conditions match. One that denies wins over all that allow.

Only what can be evaluated is accepted. A document that needs more, such as a condition on the caller's address, is
rejected when it is put: a statement that was ignored would grant or refuse what its author did not mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from fnmatch import translate
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

import msgspec

from sortkey import limits
from sortkey.engine.requests.shapes import INVALID
from sortkey.errors import ValidationException

Effect = Literal["Allow", "Deny"]
Texts = str | list[str]

TABLE_ACTIONS: Final = frozenset(
    f"dynamodb:{name}"
    for name in (
        *("BatchGetItem", "BatchWriteItem", "ConditionCheckItem", "DeleteItem", "GetItem", "PutItem", "UpdateItem"),
        *("Query", "Scan", "SearchVectors", "PartiQLDelete", "PartiQLInsert", "PartiQLSelect", "PartiQLUpdate"),
        *("CreateBackup", "CreateTable", "CreateTableReplica", "DeleteTable", "DeleteTableReplica", "DescribeTable"),
        *("DescribeContinuousBackups", "DescribeContributorInsights", "DescribeExport"),
        *("DescribeKinesisStreamingDestination", "DescribeTableReplicaAutoScaling", "DescribeTimeToLive"),
        *("DisableKinesisStreamingDestination", "EnableKinesisStreamingDestination", "ExportTableToPointInTime"),
        *("ListTagsOfResource", "RestoreTableFromBackup", "RestoreTableToPointInTime", "TagResource", "UntagResource"),
        *("ReadDataForReplication", "ReplicateSettings", "WriteDataForReplication"),
        *("UpdateContinuousBackups", "UpdateContributorInsights", "UpdateKinesisStreamingDestination"),
        *("UpdateTable", "UpdateTableReplicaAutoScaling", "UpdateTimeToLive"),
        *("DeleteResourcePolicy", "GetResourcePolicy", "PutResourcePolicy"),
    )
)
STREAM_ACTIONS: Final = frozenset(
    f"dynamodb:{name}"
    for name in (
        *("DescribeStream", "GetRecords", "GetShardIterator"),
        *("DeleteResourcePolicy", "GetResourcePolicy", "PutResourcePolicy"),
    )
)
PRINCIPAL_KINDS: Final = ("AWS", "Service")
"""No service calls this endpoint, so a statement for one applies to nobody."""
ANYONE: Final = "*"
ACCOUNT: Final = re.compile(r"(?:arn:aws:iam::)?(\d{12})(?::root)?")


class Caller(NamedTuple):
    """Who sends a request, and when."""

    account: str
    user: str
    now: float

    @property
    def arn(self) -> str:
        return f"arn:aws:iam::{self.account}:user/{self.user}"


class _Statement(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="pascal"):
    """A statement as it is written."""

    effect: Effect
    sid: str | None = None
    principal: str | dict[str, Texts] | None = None
    not_principal: str | dict[str, Texts] | None = None
    action: Texts | None = None
    not_action: Texts | None = None
    resource: Texts | None = None
    not_resource: Texts | None = None
    condition: dict[str, dict[str, Any]] = {}


class _Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="pascal"):
    statement: _Statement | list[_Statement]
    version: Literal["2008-10-17", "2012-10-17"] = "2008-10-17"
    id: str | None = None


class Policy:
    def __init__(self, statements: list[_CompiledStatement]) -> None:
        self._statements = statements

    def effect(self, caller: Caller, action: str, resource: str) -> Effect | None:
        """What the policy says of the action (`dynamodb:GetItem`) on a resource; None if nothing."""
        effects = {each.effect for each in self._statements if each.applies(caller, action, resource)}
        return "Deny" if "Deny" in effects else "Allow" if effects else None


def parse_policy(text: str, resource: str) -> Policy:
    """The policy in a text that is to be attached to a table or stream with this ARN; raises ValidationException."""
    if len(text.encode()) > limits.RESOURCE_POLICY_BYTES:
        raise _invalid(f"the policy is larger than {limits.RESOURCE_POLICY_BYTES} bytes")
    try:
        document = msgspec.json.decode(text, type=_Document)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _invalid(str(error)) from error
    statements = document.statement if isinstance(document.statement, list) else [document.statement]
    if not statements:
        raise _invalid("a policy has at least one statement")
    return Policy([_CompiledStatement(each, resource) for each in statements])


def _invalid(why: str) -> ValidationException:
    return ValidationException(f"{INVALID}Invalid policy document: {why}")


class _CompiledStatement:
    def __init__(self, written: _Statement, resource: str) -> None:
        self.effect = written.effect
        self._principals = _one_of(written, "Principal", written.principal, written.not_principal)
        self._is_others = written.not_principal is not None
        if self._is_others and self.effect == "Allow":
            raise _invalid("NotPrincipal is only possible in a statement that denies")
        self._names = _principal_names(self._principals)
        actions = _texts(_one_of(written, "Action", written.action, written.not_action))
        _check_actions(actions, resource)
        self._action = _matcher([action.lower() for action in actions])
        self._is_other_action = written.not_action is not None
        resources = _texts(_one_of(written, "Resource", written.resource, written.not_resource))
        if written.not_resource is None:
            _check_resources(resources, resource)
        self._resource = _matcher(resources)
        self._is_other_resource = written.not_resource is not None
        self._conditions = [
            _condition(operator, key, wanted)
            for operator, keys in written.condition.items()
            for key, wanted in keys.items()
        ]

    def applies(self, caller: Caller, action: str, resource: str) -> bool:
        return (
            self._is_for(caller)
            and self._action(action.lower()) is not self._is_other_action
            and self._resource(resource) is not self._is_other_resource
            and all(condition(caller) for condition in self._conditions)
        )

    def _is_for(self, caller: Caller) -> bool:
        if ANYONE in self._names or caller.arn in self._names:
            return not self._is_others
        # To allow an account is to leave it to the account's own rights. To deny it denies everybody in it.
        in_account = self.effect == "Deny" and any(
            (account := ACCOUNT.fullmatch(name)) is not None and account[1] == caller.account for name in self._names
        )
        return in_account is not self._is_others


def _one_of(written: _Statement, name: str, present: Any, negated: Any) -> Any:
    if (present is None) == (negated is None):
        which = "a statement" if written.sid is None else f"statement {written.sid!r}"
        raise _invalid(f"{which} needs either {name} or Not{name}")
    return negated if present is None else present


def _texts(written: Texts) -> list[str]:
    return [written] if isinstance(written, str) else written


def _principal_names(written: str | dict[str, Texts]) -> set[str]:
    if isinstance(written, str):
        if written != ANYONE:
            raise _invalid(f"the principal {written!r} needs its kind, such as AWS")
        return {ANYONE}
    for kind in written:
        if kind not in PRINCIPAL_KINDS:
            raise _invalid(f"principals of the kind {kind!r} cannot be evaluated here")
    names = _texts(written.get("AWS", []))
    for name in names:
        if name != ANYONE and "*" in name:
            raise _invalid(f"the principal {name!r} must be * or have no wildcard")
    return set(names)


def _check_actions(actions: list[str], resource: str) -> None:
    known = STREAM_ACTIONS if "/stream/" in resource else TABLE_ACTIONS
    names = {name.lower() for name in known}
    invalid = [action for action in actions if not any(map(_matcher([action.lower()]), names))]
    if invalid or not actions:
        listed = ", ".join(f'"{action}"' for action in invalid)
        raise _invalid(f"The following action names are invalid: {listed}")


def _check_resources(resources: list[str], resource: str) -> None:
    """Each names the table or stream of the policy, or what belongs to it."""
    for pattern in resources:
        below = pattern.startswith(f"{resource}/index/") and "/stream/" not in resource
        if not below and not _matcher([pattern])(resource):
            raise _invalid(f"the resource {pattern!r} is not {resource}")
    if not resources:
        raise _invalid("a statement needs a resource")


def _matcher(patterns: list[str]) -> Callable[[str], bool]:
    """Whether a text matches one of the patterns."""
    compiled = [_pattern(each) for each in patterns]
    return lambda text: any(pattern.match(text) for pattern in compiled)


@lru_cache(maxsize=1024)
def _pattern(text: str) -> re.Pattern[str]:
    """In which * is any text and ? any character."""
    if "${" in text:
        raise _invalid(f"the variable in {text!r} cannot be evaluated here")
    # Python's translation backtracks no further than one star. Its brackets mean nothing in a policy.
    return re.compile(translate(text.replace("[", "[[]")))


Condition = Callable[[Caller], bool]
Test = Callable[[str, str], bool]
"""Whether what the request has satisfies one wanted value."""

KEYS: Final[Mapping[str, Callable[[Caller], str]]] = {
    "aws:currenttime": lambda caller: str(caller.now),
    "aws:epochtime": lambda caller: str(caller.now),
    "aws:principalaccount": lambda caller: caller.account,
    "aws:principalarn": lambda caller: caller.arn,
    "aws:principaltype": lambda _: "User",
    "aws:username": lambda caller: caller.user,
}
"""Keys of conditions. Others, such as the caller's address or an item's key, cannot be evaluated here."""
TIMES: Final = frozenset({"aws:currenttime", "aws:epochtime"})


def _like(text: str, pattern: str) -> bool:
    return _pattern(pattern).match(text) is not None


def _arn_like(arn: str, pattern: str) -> bool:
    """Part by part: a star does not reach beyond a colon, except in the last part."""
    parts, patterns = arn.split(":", 5), pattern.split(":", 5)
    return len(parts) == len(patterns) and all(map(_like, parts, patterns))


TEXT_TESTS: Final[dict[str, Test]] = {
    "StringEquals": lambda text, wanted: text == wanted,
    "StringEqualsIgnoreCase": lambda text, wanted: text.casefold() == wanted.casefold(),
    "StringLike": _like,
    "ArnEquals": _arn_like,
    "ArnLike": _arn_like,
}
TIME_TESTS: Final[dict[str, Callable[[float, float], bool]]] = {
    "Equals": lambda time, wanted: time == wanted,
    "LessThan": lambda time, wanted: time < wanted,
    "LessThanEquals": lambda time, wanted: time <= wanted,
    "GreaterThan": lambda time, wanted: time > wanted,
    "GreaterThanEquals": lambda time, wanted: time >= wanted,
}


def _condition(operator: str, key: str, written: Any) -> Condition:
    """One key of a condition. Several values are alternatives; of a negated operator, none may match."""
    value_of = KEYS.get(key.lower())
    if value_of is None:
        raise _invalid(f"the condition key {key!r} cannot be evaluated here")
    wanted = [_text_of(each) for each in (written if isinstance(written, list) else [written])]
    # Each key has a value for every request.
    name = operator.removesuffix("IfExists")
    if name == "Null":
        return lambda _: "false" in wanted
    test, is_negated = _test(name, key.lower() in TIMES, wanted)
    return lambda caller: any(test(value_of(caller), each) for each in wanted) is not is_negated


def _text_of(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise _invalid(f"the condition's value {value!r} is neither a text nor a number")


def _test(name: str, is_time: bool, wanted: list[str]) -> tuple[Test, bool]:
    """The test of an operator, and whether it is negated."""
    plain = name.replace("Not", "", 1)
    if not is_time and plain in TEXT_TESTS:
        for each in wanted:
            _pattern(each)
        return TEXT_TESTS[plain], plain != name
    compare = TIME_TESTS.get(plain.removeprefix("Date").removeprefix("Numeric"))
    if not is_time or compare is None or not plain.startswith(("Date", "Numeric")):
        raise _invalid(f"the condition operator {name!r} cannot be evaluated for this key here")
    times = {each: _time(each) for each in wanted}
    return (lambda time, each: compare(float(time), times[each])), plain != name


def _time(text: str) -> float:
    """A time of a condition: a date in ISO 8601, or seconds since the epoch."""
    with suppress(ValueError):
        return float(text)
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError) as error:
        raise _invalid(f"{text!r} is not a time") from error
