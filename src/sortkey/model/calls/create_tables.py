"""Creates tables, and compares existing ones with their declarations."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from itertools import chain
from typing import Any, Final

from botocore.exceptions import ClientError

from sortkey.model.calls.steps import Answer, Call, Context, Pause, Steps, code_of, together
from sortkey.model.errors import TablesDiffer, Unsupported
from sortkey.model.items.table import Table
from sortkey.model.tables import provision

_PROVISIONING: Final = "provisioning"
POLL: Final = Pause(0.5)
LATER_POLLS: Final = 4
"""How often to look again for what another program may be setting on a table that it has just created."""

_logger = logging.getLogger(__name__)


def create_tables(context: Context, tables: Iterable[Table]) -> Steps[list[str]]:
    """The names of the created tables; raises TablesDiffer if an existing one differs from its declaration."""
    declared = list(tables)
    found = yield from together([describe(context, table.name) for table in declared])
    existing = [(table, description) for table, description in zip(declared, found, strict=True) if description]
    created: list[str] = []
    # One after the other: of tables with indexes, AWS creates one at a time.
    for table in (table for table, description in zip(declared, found, strict=True) if not description):
        if (yield from _create(context, table)):
            created.append(table.name)
        else:
            existing.append((table, (yield from _active(context, table))))
    differences = yield from together([_compare_active(context, *each) for each in existing])
    if any(differences):
        raise TablesDiffer("; ".join(chain.from_iterable(differences)))
    return created


def diff_tables(context: Context, tables: Iterable[Table]) -> Steps[list[str]]:
    """The differences between the tables and their declarations, in words."""
    return list(chain.from_iterable((yield from together([_difference(context, table) for table in tables]))))


def _difference(context: Context, table: Table) -> Steps[list[str]]:
    description = yield from describe(context, table.name)
    return (yield from _compare(context, table, description))


def _create(context: Context, table: Table) -> Steps[bool]:
    """False if another program creates the table at the same time."""
    projections = context.capabilities.index_projections
    request = provision.create_request(table, native=context.multi_attribute_keys, projections=projections)
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
    if context.capabilities.recovery:
        yield from _recoverable(context, table)
    if context.capabilities.regions:
        yield from _replicated(context, table)
    _note_what_is_left_out(context, table)
    return True


def enable_stream(context: Context, table: Table) -> Steps[None]:
    """Gives a table that exists without a stream the declared one, and waits until it has it."""
    while True:
        description = yield from describe(context, table.name)
        if description is None or table.settings.stream is None:
            return
        # A store makes one change of a table at a time.
        if description["TableStatus"] == "ACTIVE":
            if "StreamSpecification" in description:
                return
            stream = provision.stream_specification(table.settings.stream)
            yield from table_request(context, "UpdateTable", {"TableName": table.name, **stream})
        yield POLL


def _recoverable(context: Context, table: Table) -> Steps[None]:
    request = provision.recovery_request(table)
    if request is None:
        return
    while True:
        try:
            yield from table_request(context, "UpdateContinuousBackups", request)
        except ClientError as error:
            # DynamoDB prepares the backups of a new table for a moment. The session's deadline ends it.
            if code_of(error) != "ContinuousBackupsUnavailableException":
                raise _refused(context, table, "point_in_time_recovery", error) from error
        else:
            return
        yield POLL


def _replicated(context: Context, table: Table) -> Steps[None]:
    description = yield from _active(context, table)
    for request in provision.replica_requests(table, provision.region_of(description)):
        # A store makes one change of a table at a time.
        yield from _active(context, table, but=("CREATING", "UPDATING"))
        try:
            yield from table_request(context, "UpdateTable", request)
        except ClientError as error:
            raise _refused(context, table, "replicas", error) from error


def _refused(context: Context, table: Table, setting: str, error: ClientError) -> Exception:
    """The error itself, if it is not that the store lacks what is declared."""
    if code_of(error) not in ("UnknownOperationException", "ValidationException", "NotImplemented"):
        return error
    return Unsupported(
        f"table {table.name} was created, but {context.capabilities.store} refuses its {setting}=: {error}; declare "
        f"the table without it for this store"
    )


def _note_what_is_left_out(context: Context, table: Table) -> None:
    settings, capabilities = table.settings, context.capabilities
    left_out = []
    if settings.point_in_time_recovery and not capabilities.recovery:
        left_out.append("point_in_time_recovery=")
    if settings.replicas and not capabilities.regions:
        left_out.append("replicas=")
    if left_out:
        store = context.capabilities.store
        _logger.warning("table %s was created without %s, which %s lacks", table.name, " and ".join(left_out), store)


def _active(context: Context, table: Table, but: tuple[str, ...] = ("CREATING",)) -> Steps[dict[str, Any]]:
    """The description of a table, once it has none of these states any more: it is no longer being created."""
    while True:
        description = yield from describe(context, table.name)
        if description is not None and _is_active(description, but):
            return description
        yield POLL


def _is_active(description: dict[str, Any], but: tuple[str, ...] = ("CREATING",)) -> bool:
    return description["TableStatus"] not in but and _are_searchable(description)


def _are_searchable(description: dict[str, Any]) -> bool:
    """Whether the store has made the vector indexes, which takes AWS a little longer."""
    return all(each["IndexStatus"] == "ACTIVE" for each in description.get("VectorIndexes", ()))


def _compare_active(context: Context, table: Table, description: dict[str, Any]) -> Steps[list[str]]:
    """Another program may have created the table and not set its TTL, recovery and replicas yet."""
    for poll in range(LATER_POLLS):
        if poll or not _is_active(description):
            description = yield from _active(context, table)
        differences = yield from _compare(context, table, description)
        if not provision.lacks_only_later_settings(table, differences):
            return differences
        yield POLL
    return differences


def _compare(context: Context, table: Table, description: dict[str, Any] | None) -> Steps[list[str]]:
    ttl = None
    if description is not None:
        answer = yield from table_request(context, "DescribeTimeToLive", {"TableName": table.name})
        ttl = answer["TimeToLiveDescription"]
    backups = None
    if context.capabilities.recovery and description is not None and table.settings.point_in_time_recovery:
        answer = yield from table_request(context, "DescribeContinuousBackups", {"TableName": table.name})
        backups = answer["ContinuousBackupsDescription"]
    return provision.differences(
        table,
        description,
        ttl,
        native=context.multi_attribute_keys,
        projections=context.capabilities.index_projections,
        backups=backups,
        regions=context.capabilities.regions,
    )


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
