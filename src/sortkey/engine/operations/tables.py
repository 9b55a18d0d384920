"""Tables: CreateTable, DescribeTable, ListTables, UpdateTable, DeleteTable, UpdateTimeToLive, DescribeTimeToLive.

All are in force when the request is answered. The janitor does the rest: it fills new indexes, indexes the expiries of
items that exist already, and deletes the rows of deleted tables.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence

import msgspec

from sortkey.engine.operations import backups, replica_updates
from sortkey.engine.operations.policies import new_policy
from sortkey.engine.operations.tags import read_tags
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.shapes import INVALID
from sortkey.engine.requests.tables import (
    CreateTable,
    DeleteTable,
    DescribeTable,
    DescribeTimeToLive,
    ListTables,
    StreamSpecification,
    TimeToLiveSpecification,
    UpdateTable,
    UpdateTimeToLive,
)
from sortkey.engine.rows.catalog_entries import IndexEntry, Source, StreamEntry, TableEntry, VectorIndexEntry
from sortkey.engine.rows.job_records import IMPORTS, RESTORES
from sortkey.engine.rows.records import space_bytes
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.streams.stream_writer import close_stream, new_stream
from sortkey.engine.tables import change_log, description, expiry_index, replicas
from sortkey.engine.tables.core import Answer, Core, Work, drop_count, new_space, release_space
from sortkey.engine.tables.definition import (
    NO_SPACE_YET,
    TableDefinition,
    check_distinct_names,
    check_stream,
    define_table,
)
from sortkey.engine.tables.resource_policy import parse_policy
from sortkey.engine.tables.settings import ON_DEMAND, reject_unsupported, table_settings
from sortkey.engine.tables.update import check_changes_something, plan_update, without_removed_maxima
from sortkey.engine.tables.vector_definition import define_vector_indexes
from sortkey.errors import ResourceInUseException, ValidationException

DEFAULT_LIMIT = 100


def create_table(core: Core, request: CreateTable) -> Work:
    name = table_name_of(request.table_name)
    reject_unsupported(request)
    definition = define_table(request)
    vector_indexes = vector_indexes_of(request, definition)
    check_stream(request.stream_specification, of_new_table=True)
    settings = table_settings(core, request, definition.billing_mode, definition.throughput)
    tags = read_tags(request.tags or [])
    if request.resource_policy is not None:
        parse_policy(request.resource_policy, core.table_arn(name))
    table_id = str(uuid.uuid4())

    def work(batch: WriteBatch) -> Answer:
        if core.catalog.find(batch.transaction, name) is not None:
            raise ResourceInUseException(f"Table already exists: {name}")
        entry = msgspec.structs.replace(
            new_entry(batch, name, table_id, definition),
            vector_indexes=[with_spaces(batch, index) for index in vector_indexes],
            streams=_first_stream(core, batch, request.stream_specification),
            deletion_protection=bool(request.deletion_protection_enabled),
            table_class=request.table_class,
            tags=tags,
            settings=settings,
            policy=new_policy(request.resource_policy, batch.now),
        )
        core.catalog.save(batch, entry)
        return {"TableDescription": description.describe_in_batch(core, batch, entry)}

    return work


def new_entry(batch: WriteBatch, name: str, table_id: str, definition: TableDefinition) -> TableEntry:
    """A new table with its spaces."""
    created = round(batch.now, 3)
    return TableEntry(
        name=name,
        space=new_space(batch),
        id=table_id,
        created=created,
        attributes=definition.attributes,
        partition=definition.keys.partition,
        sort=definition.keys.sort,
        indexes=[msgspec.structs.replace(index, space=new_space(batch)) for index in definition.indexes],
        billing_mode=definition.billing_mode,
        on_demand_since=created if definition.billing_mode == ON_DEMAND else None,
        throughput=definition.throughput,
    )


def _first_stream(core: Core, batch: WriteBatch, requested: StreamSpecification | None) -> list[StreamEntry]:
    if requested is None or requested.stream_view_type is None:
        return []
    return [new_stream(batch, core.settings, requested.stream_view_type)]


def describe_table(core: Core, request: DescribeTable) -> Answer:
    name = table_name_of(request.table_name)
    with core.read() as transaction:
        table = core.catalog.require_named(transaction, name)
        return {"Table": description.describe(core, transaction, table.entry)}


def list_tables(core: Core, request: ListTables) -> Answer:
    with core.read() as transaction:
        names = sorted(core.catalog.tables(transaction))
    if request.exclusive_start_table_name is not None:
        start = request.exclusive_start_table_name
        names = [name for name in names if name > start]
    limit = request.limit or DEFAULT_LIMIT
    answer: Answer = {"TableNames": names[:limit]}
    if len(names) > limit:
        answer["LastEvaluatedTableName"] = names[limit - 1]
    return answer


def update_table(core: Core, request: UpdateTable) -> Work:
    name = table_name_of(request.table_name)
    reject_unsupported(request)
    if request.replica_updates is not None:
        return replica_updates.update_replicas(core, name, request)
    check_changes_something(request)
    check_stream(request.stream_specification)

    def work(batch: WriteBatch) -> Answer:
        before = core.catalog.require_active(batch.transaction, name).entry
        planned, dropped = plan_update(core, before, request, round(batch.now, 3))
        _check_stream_of_replica(before, request.stream_specification)
        for space in spaces_of(dropped):
            release_space(batch, space)
        entry = msgspec.structs.replace(
            planned,
            indexes=[_with_space(batch, index) for index in planned.indexes],
            insights={
                name: insights
                for name, insights in before.insights.items()
                if name not in {index.name for index in dropped}
            },
            vector_indexes=[with_spaces(batch, index) for index in planned.vector_indexes],
            streams=_changed_streams(core, batch, before.streams, request.stream_specification),
        )
        saved = replicas.settings_changed(batch, without_removed_maxima(entry))
        core.catalog.save(batch, saved)
        # The answer still has the -1 that removes a maximum.
        shown = msgspec.structs.replace(saved, settings=entry.settings, indexes=entry.indexes)
        return {"TableDescription": description.describe_in_batch(core, batch, shown)}

    return work


def _check_stream_of_replica(entry: TableEntry, requested: StreamSpecification | None) -> None:
    if entry.replication is not None and requested is not None:
        raise ValidationException(f"{INVALID}The stream of table {entry.name} is needed by its replicas")


def vector_indexes_of(request: CreateTable, definition: TableDefinition) -> list[VectorIndexEntry]:
    """Without spaces; `with_spaces` gives them some."""
    requested = request.vector_indexes
    if requested is None:
        return []
    defined = define_vector_indexes(requested, definition.keys, definition.attributes, definition.billing_mode)
    check_distinct_names([*definition.indexes, *defined])
    return defined


def spaces_of(indexes: Sequence[IndexEntry | VectorIndexEntry]) -> Iterator[int]:
    for index in indexes:
        yield index.space
        if isinstance(index, VectorIndexEntry):
            yield index.log


def with_spaces(batch: WriteBatch, index: VectorIndexEntry) -> VectorIndexEntry:
    """With those that a new index needs; others have them."""
    if index.space != NO_SPACE_YET:
        return index
    return msgspec.structs.replace(index, space=new_space(batch), log=new_space(batch))


def _with_space(batch: WriteBatch, index: IndexEntry) -> IndexEntry:
    return msgspec.structs.replace(index, space=new_space(batch)) if index.space == NO_SPACE_YET else index


def _changed_streams(
    core: Core, batch: WriteBatch, streams: list[StreamEntry], requested: StreamSpecification | None
) -> list[StreamEntry]:
    if requested is None:
        return streams
    if requested.stream_view_type is None:
        return [*streams[:-1], close_stream(batch, streams[-1])]
    return [*streams, new_stream(batch, core.settings, requested.stream_view_type, streams)]


def delete_table(core: Core, request: DeleteTable) -> Work:
    name = table_name_of(request.table_name)

    def work(batch: WriteBatch) -> Answer:
        entry = core.catalog.require_named(batch.transaction, name).entry
        if entry.deletion_protection:
            raise ValidationException(
                "Resource cannot be deleted as it is currently protected against deletion. "
                "Disable deletion protection first."
            )
        shown = description.describe_in_batch(core, batch, entry)
        remove_table(core, batch, entry)
        return {"TableDescription": shown | {"TableStatus": "DELETING"}}

    return work


def remove_table(core: Core, batch: WriteBatch, entry: TableEntry) -> None:
    core.catalog.remove(batch, entry.name)
    _end_filling(core, batch, entry)
    if entry.recovery is not None:
        backups.keep_deleted(batch, entry)
    drop_count(batch, space_bytes(entry.space))
    for space in (
        *spaces_of([*entry.indexes, *entry.vector_indexes]),
        *(stream.space for stream in entry.all_streams),
        *entry.replication_spaces,
    ):
        release_space(batch, space)
    change_log.release(core, batch, Source(entry, 0))


def _end_filling(core: Core, batch: WriteBatch, entry: TableEntry) -> None:
    """Give up what fills a table that is deleted before it is whole."""
    if entry.is_filled:
        return
    for each in IMPORTS.all(batch.transaction):
        if each.table_id == entry.id:
            IMPORTS.save(batch, each.id, msgspec.structs.replace(each, status="CANCELLED", ended=round(batch.now, 3)))
    restore = RESTORES.find(batch.transaction, entry.id)
    if restore is not None:
        RESTORES.remove(batch, entry.id)
        if restore.source is not None:
            change_log.release(core, batch, restore.source)


def update_time_to_live(core: Core, request: UpdateTimeToLive) -> Work:
    name = table_name_of(request.table_name)
    requested = request.time_to_live_specification

    def work(batch: WriteBatch) -> Answer:
        entry = core.catalog.require_active(batch.transaction, name).entry
        _check_time_to_live(entry.ttl_attribute, requested)
        if requested.enabled:
            entry = expiry_index.enable(batch, entry, requested.attribute_name)
        else:
            entry = expiry_index.disable(entry)
        core.catalog.save(batch, replicas.settings_changed(batch, entry))
        return {
            "TimeToLiveSpecification": {"Enabled": requested.enabled, "AttributeName": requested.attribute_name},
        }

    return work


def _check_time_to_live(current: str | None, requested: TimeToLiveSpecification) -> None:
    if current is None:
        if not requested.enabled:
            raise ValidationException("TimeToLive is already disabled")
    elif current != requested.attribute_name:
        raise ValidationException("TimeToLive is active on a different AttributeName")
    elif requested.enabled:
        raise ValidationException("TimeToLive is already enabled")


def describe_time_to_live(core: Core, request: DescribeTimeToLive) -> Answer:
    with core.read() as transaction:
        attribute = core.catalog.require_named(transaction, table_name_of(request.table_name)).ttl_attribute
    if attribute is None:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    return {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": attribute}}
