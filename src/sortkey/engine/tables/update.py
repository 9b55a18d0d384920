"""UpdateTable as a pure function: the whole change of the table entry is computed, or rejected, before a write."""

from __future__ import annotations

from typing import Final

import msgspec

from sortkey.engine.core import Core
from sortkey.engine.requests.tables import StreamSpecification, UpdateTable
from sortkey.engine.tables.catalog_entries import IndexEntry, TableEntry, ThroughputEntry
from sortkey.engine.tables.index_changes import IndexChanges, change_indexes
from sortkey.engine.tables.key_schema import INVALID, read_attributes
from sortkey.engine.tables.settings import table_settings, without_maximum
from sortkey.engine.tables.throughput import (
    ON_DEMAND,
    PROVISIONED,
    change_throughput,
    read_table_throughput,
    read_units,
)
from sortkey.errors import ValidationException

CHANGES: Final = (
    "billing_mode",
    "provisioned_throughput",
    "global_secondary_index_updates",
    "stream_specification",
    "sse_specification",
    "table_class",
    "deletion_protection_enabled",
    "on_demand_throughput",
    "warm_throughput",
)


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
    changes = change_indexes(updated, request.global_secondary_index_updates or [], definitions, now)
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
