"""Tables from earlier states: RestoreTableFromBackup, RestoreTableToPointInTime.

A restored table has the keys, indexes and capacity of its source, or those that override them, but no stream, TTL,
tags, policy or protection. It is CREATING until the janitor has filled it (`janitor/restores.py`).
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from math import floor
from typing import Any

import msgspec

from sortkey.engine.operations.backups import arn_of, require_backup
from sortkey.engine.operations.recovery import earliest, require_entry, seconds_of
from sortkey.engine.operations.tables import new_entry, with_spaces
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.backups import RestoreTableFromBackup, RestoreTableToPointInTime
from sortkey.engine.requests.shapes import INVALID
from sortkey.engine.requests.tables import (
    AttributeDefinition,
    CreateTable,
    GlobalSecondaryIndex,
    KeySchemaElement,
    LocalSecondaryIndex,
    OnDemandThroughput,
    Projection,
    ProvisionedThroughput,
)
from sortkey.engine.rows.catalog_entries import (
    IndexEntry,
    RestoredEntry,
    RestoreEntry,
    Source,
    TableEntry,
    ThroughputEntry,
    VectorIndexEntry,
)
from sortkey.engine.rows.job_records import RESTORES
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables import change_log, description
from sortkey.engine.tables.core import Answer, Core, Work
from sortkey.engine.tables.definition import NO_SPACE_YET, KeyNames, TableDefinition, define_table, used_attributes
from sortkey.engine.tables.settings import (
    ENCRYPTION,
    ON_DEMAND,
    ON_DEMAND_MAXIMUM,
    Settings,
    table_settings,
    without_removed,
)
from sortkey.engine.tables.vector_definition import check_on_demand, define_vector_indexes
from sortkey.errors import (
    BackupInUseException,
    InvalidRestoreTimeException,
    PointInTimeRecoveryUnavailableException,
    TableAlreadyExistsException,
    TableInUseException,
    ValidationException,
)

Request = RestoreTableFromBackup | RestoreTableToPointInTime


def restore_table_from_backup(core: Core, request: RestoreTableFromBackup) -> Work:
    name = request.target_table_name
    table_id = str(uuid.uuid4())

    def work(batch: WriteBatch) -> Answer:
        backup = require_backup(batch.transaction, request.backup_arn)
        if backup.position is not None:
            raise BackupInUseException("The backup is being created")
        _check_new(core, batch, name)
        table = backup.source.table
        arn = arn_of(core, backup)
        restored = RestoredEntry(core.table_arn(table.name), round(backup.created, 3), arn)
        restore = RestoreEntry(name, table_id, backup_id=backup.id, position="0")
        return _begin(core, batch, request, table, restored, restore)

    return work


def restore_table_to_point_in_time(core: Core, request: RestoreTableToPointInTime) -> Work:
    target = request.target_table_name
    source = _source_name(request)
    if (request.restore_date_time is None) is not bool(request.use_latest_restorable_time):
        raise ValidationException(f"{INVALID}Specify either RestoreDateTime or UseLatestRestorableTime")
    table_id = str(uuid.uuid4())

    def work(batch: WriteBatch) -> Answer:
        table = require_entry(core, batch.transaction, source)
        moment = moment_of(batch, table, request.restore_date_time)
        _check_new(core, batch, target)
        batch.end_moment(moment)
        restored = RestoredEntry(core.table_arn(table.name), seconds_of(moment))
        restore = RestoreEntry(target, table_id, source=Source(table, moment))
        return _begin(core, batch, request, table, restored, restore)

    return work


def moment_of(batch: WriteBatch, table: TableEntry, time: float | None) -> int:
    """The last moment of a time's microsecond, of which a table can be restored; the present one if it is None."""
    if not table.is_filled:
        raise TableInUseException(f"Table is being created: {table.name}")
    if table.recovery is None:
        raise PointInTimeRecoveryUnavailableException(f"Point in time recovery is not enabled for table '{table.name}'")
    now = batch.moment()
    if time is None:
        return now
    first = earliest(table.recovery, now)
    low, high = seconds_of(first), seconds_of(now)
    # SDKs send whole seconds, so the window begins with its first second.
    if not floor(low) <= time <= high:
        raise InvalidRestoreTimeException(f"The time must be between {low:.6f} and {high:.6f}")
    last = (round(time * 1_000_000) + 1) * change_log.MICROSECOND - 1
    return min(max(first, last), now)


def _source_name(request: RestoreTableToPointInTime) -> str:
    names = [name for name in (request.source_table_name, request.source_table_arn) if name is not None]
    if len(names) != 1:
        raise ValidationException(f"{INVALID}Specify either SourceTableName or SourceTableArn")
    return table_name_of(names[0])


def _check_new(core: Core, batch: WriteBatch, name: str) -> None:
    if core.catalog.find(batch.transaction, name) is not None:
        raise TableAlreadyExistsException(f"Table already exists: {name}")


def _begin(
    core: Core, batch: WriteBatch, request: Request, table: TableEntry, restored: RestoredEntry, restore: RestoreEntry
) -> Answer:
    created = _as_created(table, request)
    definition = define_table(created)
    _check_indexes(table, definition)
    vector_indexes = _vector_indexes(table, request, definition.billing_mode)
    settings = table_settings(core, created, definition.billing_mode, definition.throughput)
    entry = msgspec.structs.replace(
        new_entry(batch, restore.name, restore.table_id, definition),
        attributes=definition.attributes
        | {name: table.attributes[name] for index in vector_indexes for name in index.schema},
        vector_indexes=[with_spaces(batch, index) for index in vector_indexes],
        table_class=table.table_class,
        settings=_encryption(table, request) | settings,
        is_filled=False,
        restored=restored,
    )
    core.catalog.save(batch, entry)
    RESTORES.save(batch, entry.id, restore)
    return {"TableDescription": description.describe_in_batch(core, batch, entry)}


def _vector_indexes(table: TableEntry, request: Request, billing_mode: str) -> list[VectorIndexEntry]:
    """Those of the source, or of the override, which may leave out some. They have no spaces yet."""
    present = [
        msgspec.structs.replace(index, space=NO_SPACE_YET, log=NO_SPACE_YET, backfilled_to=None)
        for index in table.vector_indexes
    ]
    if present and request.vector_index_override is None:
        check_on_demand(billing_mode)
    if not request.vector_index_override:
        return present if request.vector_index_override is None else []
    keys = KeyNames(table.partition, table.sort)
    wanted = define_vector_indexes(request.vector_index_override, keys, table.attributes, billing_mode)
    for index in wanted:
        if index not in present:
            raise ValidationException(f"{INVALID}Index {index.name} is not an index of the source table")
    return wanted


def _encryption(table: TableEntry, request: Request) -> Settings:
    if request.sse_specification_override is not None or ENCRYPTION not in table.settings:
        return {}
    return {ENCRYPTION: table.settings[ENCRYPTION]}


def _as_created(table: TableEntry, request: Request) -> CreateTable:
    """The request that would create the table, empty."""
    mode = request.billing_mode_override or table.billing_mode
    local: Sequence[LocalSecondaryIndex] | None = request.local_secondary_index_override
    if local is None:
        local = [LocalSecondaryIndex(**_index(index)) for index in table.indexes if index.local]
    global_: Sequence[GlobalSecondaryIndex] | None = request.global_secondary_index_override
    if global_ is None:
        global_ = [_global_index(index, mode) for index in table.indexes if not index.local]
    used = used_attributes(
        KeyNames(table.partition, table.sort),
        [index for index in table.indexes if _is_among(index, [*local, *global_])],
    )
    return CreateTable(
        table_name=request.target_table_name,
        attribute_definitions=[
            AttributeDefinition(attribute_name=name, attribute_type=tag)  # type: ignore[arg-type]
            for name, tag in table.attributes.items()
            if name in used
        ],
        key_schema=_key_schema(KeyNames(table.partition, table.sort)),
        local_secondary_indexes=list(local) or None,
        global_secondary_indexes=list(global_) or None,
        billing_mode=mode,  # type: ignore[arg-type]
        provisioned_throughput=request.provisioned_throughput_override or _throughput(table.throughput, mode),
        sse_specification=request.sse_specification_override,
        on_demand_throughput=request.on_demand_throughput_override or _maximum(table.settings, mode),
    )


def _is_among(index: IndexEntry, requested: Sequence[LocalSecondaryIndex | GlobalSecondaryIndex]) -> bool:
    return any(index.name == each.index_name for each in requested)


def _index(index: IndexEntry) -> dict[str, Any]:
    projection = Projection(projection_type=index.projection, non_key_attributes=index.included or None)  # type: ignore[arg-type]
    return {"index_name": index.name, "key_schema": _key_schema(KeyNames.of(index)), "projection": projection}


def _global_index(index: IndexEntry, mode: str) -> GlobalSecondaryIndex:
    return GlobalSecondaryIndex(
        **_index(index),
        provisioned_throughput=_throughput(index.throughput, mode),
        on_demand_throughput=_maximum(index.settings, mode),
    )


def _key_schema(keys: KeyNames) -> list[KeySchemaElement]:
    return [
        KeySchemaElement(attribute_name=element["AttributeName"], key_type=element["KeyType"])
        for element in description.key_schema(keys)
    ]


def _throughput(entry: ThroughputEntry, mode: str) -> ProvisionedThroughput | None:
    if mode == ON_DEMAND or not entry.read:
        return None
    return ProvisionedThroughput(read_capacity_units=entry.read, write_capacity_units=entry.write)


def _maximum(settings: Settings, mode: str) -> OnDemandThroughput | None:
    maximum = without_removed(settings).get(ON_DEMAND_MAXIMUM)
    if maximum is None or mode != ON_DEMAND:
        return None
    return OnDemandThroughput(
        max_read_request_units=maximum.get("MaxReadRequestUnits"),
        max_write_request_units=maximum.get("MaxWriteRequestUnits"),
    )


def _check_indexes(table: TableEntry, definition: TableDefinition) -> None:
    """An override may leave out indexes, but not change them."""
    present = {index.name: _identity(index) for index in table.indexes}
    for index in definition.indexes:
        if present.get(index.name) != _identity(index):
            raise ValidationException(f"{INVALID}Index {index.name} is not an index of the source table")


def _identity(index: IndexEntry) -> tuple[Any, ...]:
    return index.local, KeyNames.of(index), index.projection, sorted(index.included)
