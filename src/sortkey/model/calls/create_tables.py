"""Creates tables, and compares existing ones with their declarations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from botocore.exceptions import ClientError

from sortkey.model.calls.steps import Answer, Call, Context, Pause, Steps, code_of
from sortkey.model.errors import TablesDiffer
from sortkey.model.items.table import Table
from sortkey.model.tables import provision

_PROVISIONING: Final = "provisioning"
POLL: Final = Pause(0.5)
TTL_POLLS: Final = 4
"""How often to look again for the TTL of a table that another program may just have created."""


def create_tables(context: Context, tables: Iterable[Table]) -> Steps[list[str]]:
    """The names of the created tables; raises TablesDiffer if an existing one differs from its declaration."""
    created: list[str] = []
    differences: list[str] = []
    for table in tables:
        description = yield from describe(context, table.name)
        if description is None and (yield from _create(context, table)):
            created.append(table.name)
        else:
            differences += yield from _compare_active(context, table)
    if differences:
        raise TablesDiffer("; ".join(differences))
    return created


def diff_tables(context: Context, tables: Iterable[Table]) -> Steps[list[str]]:
    """The differences between the tables and their declarations, in words."""
    found: list[str] = []
    for table in tables:
        description = yield from describe(context, table.name)
        found += yield from _compare(context, table, description)
    return found


def _create(context: Context, table: Table) -> Steps[bool]:
    """False if another program creates the table at the same time."""
    request = provision.create_request(table, native=context.multi_attribute_keys)
    try:
        yield from table_request(context, "CreateTable", request)
    except ClientError as error:
        if code_of(error) != "ResourceInUseException":
            raise
        return False
    yield from _active(context, table)
    ttl = provision.ttl_request(table)
    if ttl is not None:
        yield from table_request(context, "UpdateTimeToLive", ttl)
    return True


def _active(context: Context, table: Table) -> Steps[dict[str, Any]]:
    """The description of a table, once it is no longer being created."""
    while True:
        description = yield from describe(context, table.name)
        if description is not None and description["TableStatus"] != "CREATING":
            return description
        yield POLL


def _compare_active(context: Context, table: Table) -> Steps[list[str]]:
    """Another program may have created the table and not set its TTL yet."""
    description = yield from _active(context, table)
    for _ in range(TTL_POLLS):
        differences = yield from _compare(context, table, description)
        if not provision.lacks_only_ttl(table, differences):
            return differences
        yield POLL
    return differences


def _compare(context: Context, table: Table, description: dict[str, Any] | None) -> Steps[list[str]]:
    ttl = None
    if description is not None:
        answer = yield from table_request(context, "DescribeTimeToLive", {"TableName": table.name})
        ttl = answer["TimeToLiveDescription"]
    return provision.differences(table, description, ttl, native=context.multi_attribute_keys)


def describe(context: Context, table: str) -> Steps[dict[str, Any] | None]:
    """The description of a table; None if it does not exist."""
    try:
        answer = yield from table_request(context, "DescribeTable", {"TableName": table})
    except ClientError as error:
        if code_of(error) != "ResourceNotFoundException":
            raise
        return None
    description: dict[str, Any] = answer["Table"]
    return description


def require_description(context: Context, table: str) -> Steps[dict[str, Any]]:
    """The description of a table that has to exist."""
    answer = yield from table_request(context, "DescribeTable", {"TableName": table})
    description: dict[str, Any] = answer["Table"]
    return description


def table_request(context: Context, operation: str, members: dict[str, Any]) -> Steps[Answer]:
    """Table requests consume no capacity."""
    return context.with_retries(Call(operation, members, _PROVISIONING))
