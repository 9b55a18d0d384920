"""UpdateTable as a pure function: the whole change of the table entry is computed, or rejected, before a write."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from sortkey import limits
from sortkey.engine.requests.shapes import INVALID
from sortkey.engine.requests.tables import (
    CreateGlobalSecondaryIndexAction,
    DeleteGlobalSecondaryIndexAction,
    GlobalSecondaryIndexUpdate,
    ProvisionedThroughput,
    StreamSpecification,
    UpdateGlobalSecondaryIndexAction,
    UpdateTable,
    VectorIndexUpdate,
)
from sortkey.engine.rows.catalog_entries import IndexEntry, TableEntry, ThroughputEntry, VectorIndexEntry
from sortkey.engine.tables import vector_definition
from sortkey.engine.tables.core import Core
from sortkey.engine.tables.definition import (
    KeyNames,
    check_projected_total,
    define_global_index,
    read_attributes,
    used_attributes,
)
from sortkey.engine.tables.settings import (
    ON_DEMAND,
    PROVISIONED,
    change_throughput,
    index_settings,
    read_table_throughput,
    read_units,
    table_settings,
    without_maximum,
    without_removed,
)
from sortkey.errors import LimitExceededException, ResourceNotFoundException, ValidationException

NOTHING_DONE: Final = ""
"""`backfilled_to` of a new index."""

Action = CreateGlobalSecondaryIndexAction | UpdateGlobalSecondaryIndexAction | DeleteGlobalSecondaryIndexAction

CHANGES: Final = (
    "billing_mode",
    "provisioned_throughput",
    "global_secondary_index_updates",
    "vector_index_updates",
    "stream_specification",
    "sse_specification",
    "table_class",
    "deletion_protection_enabled",
    "on_demand_throughput",
    "warm_throughput",
)


class IndexChanges(NamedTuple):
    entry: TableEntry
    """New indexes have no space yet."""
    dropped: list[IndexEntry | VectorIndexEntry]


def check_changes_something(request: UpdateTable) -> None:
    if all(getattr(request, field) in (None, []) for field in CHANGES):
        raise ValidationException(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates "
            "or SSESpecification or ReplicaUpdates is required"
        )


def plan_update(core: Core, entry: TableEntry, request: UpdateTable, now: float) -> IndexChanges:
    """The entry after the update, without the spaces of new indexes and without streams."""
    _check_stream_change(entry, request.stream_specification)
    updated = _with_billing(entry, request, now)
    definitions = read_attributes(request.attribute_definitions or [])
    changes = _change_indexes(
        updated, request.global_secondary_index_updates or [], request.vector_index_updates or [], definitions, now
    )
    updated = changes.entry
    if entry.billing_mode == ON_DEMAND and updated.billing_mode == PROVISIONED:
        _check_indexes_provisioned(updated)
    protection = request.deletion_protection_enabled
    updated = msgspec.structs.replace(
        updated,
        settings=table_settings(core, request, updated.billing_mode, updated.throughput, updated.settings),
        table_class=request.table_class or updated.table_class,
        deletion_protection=updated.deletion_protection if protection is None else protection,
    )
    return IndexChanges(updated, changes.dropped)


def _with_billing(entry: TableEntry, request: UpdateTable, now: float) -> TableEntry:
    mode = request.billing_mode or entry.billing_mode
    if entry.vector_indexes:
        vector_definition.check_on_demand(mode)
    requested = request.provisioned_throughput
    if mode == entry.billing_mode and requested is None:
        return entry
    if mode == entry.billing_mode == PROVISIONED and requested is not None:
        throughput = change_throughput(entry.throughput, read_units(requested), now)
        return msgspec.structs.replace(entry, throughput=throughput)
    return msgspec.structs.replace(
        entry,
        billing_mode=mode,
        on_demand_since=now if mode == ON_DEMAND else entry.on_demand_since,
        throughput=read_table_throughput(requested, mode),
        indexes=[_without_capacity(index) for index in entry.indexes],
        settings=without_maximum(entry.settings),
    )


def _without_capacity(index: IndexEntry) -> IndexEntry:
    """A billing mode does not keep the other mode's units or maxima."""
    return msgspec.structs.replace(index, throughput=ThroughputEntry(), settings=without_maximum(index.settings))


def _check_indexes_provisioned(entry: TableEntry) -> None:
    for index in entry.indexes:
        if not index.local and index.throughput.read == 0:
            raise ValidationException(f"{INVALID}ProvisionedThroughput must be specified for index: {index.name}")


def _check_stream_change(entry: TableEntry, requested: StreamSpecification | None) -> None:
    if requested is None:
        return
    enabled = bool(entry.streams) and entry.streams[-1].disabled is None
    if requested.stream_enabled and enabled:
        raise ValidationException(f"Table already has an enabled stream: TableName: {entry.name}")
    if not requested.stream_enabled and not enabled:
        raise ValidationException(f"Table has no stream to disable: TableName: {entry.name}")


def _change_indexes(
    entry: TableEntry,
    updates: list[GlobalSecondaryIndexUpdate],
    vector_updates: list[VectorIndexUpdate],
    definitions: dict[str, str],
    now: float,
) -> IndexChanges:
    """The table entry after its indexes' updates, with its AttributeDefinitions; raises AWS's errors."""
    actions = [_action(update) for update in updates]
    vector_actions = vector_definition.actions_of(vector_updates)
    _check_one_per_index(actions)
    _check_one_online(entry, actions, vector_actions)
    indexes = {index.name: index for index in entry.indexes}
    dropped: list[IndexEntry | VectorIndexEntry] = []
    for action in actions:
        if isinstance(action, DeleteGlobalSecondaryIndexAction):
            dropped.append(_drop_index(indexes, action))
        elif isinstance(action, CreateGlobalSecondaryIndexAction):
            indexes[action.index_name] = _create_index(entry, indexes, action, definitions)
        else:
            indexes[action.index_name] = _update_index(entry, indexes, action, now)
    after = list(indexes.values())
    check_projected_total(after)
    vectors = vector_definition.change_vector_indexes(entry, after, vector_actions, definitions)
    changed = msgspec.structs.replace(entry, indexes=after, vector_indexes=vectors.indexes)
    return IndexChanges(_with_attributes(changed, definitions), [*dropped, *vectors.dropped])


def _action(update: GlobalSecondaryIndexUpdate) -> Action:
    actions = [action for action in (update.update, update.create, update.delete) if action is not None]
    if len(actions) != 1:
        raise ValidationException(f"{INVALID}A GlobalSecondaryIndexUpdate has exactly one of Update, Create and Delete")
    return actions[0]


def _check_one_per_index(actions: list[Action]) -> None:
    seen: set[str] = set()
    for action in actions:
        if action.index_name in seen:
            raise ValidationException(
                f"{INVALID}Only one global secondary index update per index is allowed simultaneously. "
                f"Index: {action.index_name}"
            )
        seen.add(action.index_name)


def _check_one_online(entry: TableEntry, actions: list[Action], vector_actions: list[vector_definition.Action]) -> None:
    """While an index is being filled, it may be dropped, but no other index may be created or dropped."""
    changed_online = {
        action.index_name
        for action in (*actions, *vector_actions)
        if not isinstance(action, UpdateGlobalSecondaryIndexAction)
    }
    if not changed_online:
        return
    existing: list[IndexEntry | VectorIndexEntry] = [*entry.indexes, *entry.vector_indexes]
    filling = {index.name for index in existing if index.backfilled_to is not None}
    if len(changed_online | filling) > 1:
        raise LimitExceededException(
            "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
        )


def _drop_index(indexes: dict[str, IndexEntry], action: DeleteGlobalSecondaryIndexAction) -> IndexEntry:
    index = indexes.get(action.index_name)
    if index is None or index.local:
        raise ResourceNotFoundException("Requested resource not found")
    return indexes.pop(action.index_name)


def _create_index(
    entry: TableEntry,
    indexes: dict[str, IndexEntry],
    action: CreateGlobalSecondaryIndexAction,
    definitions: dict[str, str],
) -> IndexEntry:
    if action.index_name in indexes:
        raise ValidationException("Attempting to create an index which already exists")
    if sum(not index.local for index in indexes.values()) >= limits.GLOBAL_INDEXES:
        raise LimitExceededException(
            "Subscriber limit exceeded: Number of global secondary indexes exceeds "
            f"per-table limit of {limits.GLOBAL_INDEXES}"
        )
    throughput = _index_throughput(entry, action.index_name, action.provisioned_throughput)
    index = define_global_index(action, definitions, entry.billing_mode, throughput)
    return msgspec.structs.replace(index, backfilled_to=NOTHING_DONE)


def _update_index(
    entry: TableEntry, indexes: dict[str, IndexEntry], action: UpdateGlobalSecondaryIndexAction, now: float
) -> IndexEntry:
    index = indexes.get(action.index_name)
    if index is None or index.local:
        raise ResourceNotFoundException("Requested resource not found")
    throughput = index.throughput
    if action.provisioned_throughput is not None or (action.on_demand_throughput or action.warm_throughput) is None:
        requested = _index_throughput(entry, index.name, action.provisioned_throughput)
        throughput = change_throughput(index.throughput, requested, now, index.name)
    settings = index_settings(action, entry.billing_mode, throughput, index.settings)
    return msgspec.structs.replace(index, throughput=throughput, settings=settings)


def _index_throughput(entry: TableEntry, name: str, requested: ProvisionedThroughput | None) -> ThroughputEntry:
    if entry.billing_mode == ON_DEMAND:
        if requested is not None:
            raise ValidationException(
                f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: {name} "
                "when BillingMode is PAY_PER_REQUEST"
            )
        return ThroughputEntry()
    if requested is None:
        raise ValidationException(
            f"{INVALID}Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: {name}"
        )
    return read_units(requested, name)


def without_removed_maxima(entry: TableEntry) -> TableEntry:
    """The entry as it is once the update is made; the answer of the update still shows what removes a maximum."""
    return msgspec.structs.replace(
        entry,
        settings=without_removed(entry.settings),
        indexes=[msgspec.structs.replace(index, settings=without_removed(index.settings)) for index in entry.indexes],
    )


def _with_attributes(entry: TableEntry, definitions: dict[str, str]) -> TableEntry:
    """The definitions of the attributes that keys use. Those that the update has besides are ignored, and so is another
    type of a known attribute."""
    searched = vector_definition.used_by(entry.vector_indexes)
    used = used_attributes(KeyNames(entry.partition, entry.sort), entry.indexes, searched)
    known = entry.attributes | {name: tag for name, tag in definitions.items() if name not in entry.attributes}
    return msgspec.structs.replace(entry, attributes={name: tag for name, tag in known.items() if name in used})
