"""Making tables, and comparing those that exist with their declarations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from botocore.exceptions import ClientError

from sortkey.model.errors import TablesDiffer
from sortkey.model.sessions.context import Context
from sortkey.model.sessions.steps import Answer, Pause, Steps, code_of
from sortkey.model.tables import provision
from sortkey.model.tables.table import Table

_PROVISIONING: Final = "provisioning"
_BETWEEN_LOOKS: Final = Pause(0.5)


def create_tables(context: Context, tables: Iterable[Table]) -> Steps[list[str]]:
    """The names of the tables that were made; raises TablesDiffer if one exists that is not as declared."""
    made: list[str] = []
    differing: list[str] = []
    for table in tables:
        description = yield from _described(context, table)
        if description is None:
            yield from _create(context, table)
            made.append(table.name)
        else:
            differing += yield from _compared(context, table, description)
    if differing:
        raise TablesDiffer("; ".join(differing))
    return made


def diff_tables(context: Context, tables: Iterable[Table]) -> Steps[list[str]]:
    """How the tables differ from their declarations, in words."""
    found: list[str] = []
    for table in tables:
        description = yield from _described(context, table)
        found += yield from _compared(context, table, description)
    return found


def _create(context: Context, table: Table) -> Steps[None]:
    yield from _request(context, "CreateTable", provision.create_request(table, native=context.native))
    while True:
        description = yield from _described(context, table)
        if description is not None and description["TableStatus"] == "ACTIVE":
            break
        yield _BETWEEN_LOOKS
    ttl = provision.ttl_request(table)
    if ttl is not None:
        yield from _request(context, "UpdateTimeToLive", ttl)


def _compared(context: Context, table: Table, description: dict[str, Any] | None) -> Steps[list[str]]:
    ttl = None
    if description is not None:
        answer = yield from _request(context, "DescribeTimeToLive", {"TableName": table.name})
        ttl = answer["TimeToLiveDescription"]
    return provision.differences(table, description, ttl, native=context.native)


def _described(context: Context, table: Table) -> Steps[dict[str, Any] | None]:
    try:
        answer = yield from _request(context, "DescribeTable", {"TableName": table.name})
    except ClientError as error:
        if code_of(error) != "ResourceNotFoundException":
            raise
        return None
    description: dict[str, Any] = answer["Table"]
    return description


def _request(context: Context, operation: str, members: dict[str, Any]) -> Steps[Answer]:
    return context.retried(operation, members, _PROVISIONING)
