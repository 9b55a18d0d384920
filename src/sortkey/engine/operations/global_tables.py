"""Global tables: CreateGlobalTable, UpdateGlobalTable, DescribeGlobalTable, ListGlobalTables, their settings, and the
auto scaling of replicas.

These are of version 2017.11.29: the tables exist in each region, empty and with streams, before they become one global
table, and stay when they leave it. They are replicated as those of UpdateTable's ReplicaUpdates are. A store without
other regions has global tables of one replica.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from sortkey.engine.requests import features, table_name_of
from sortkey.engine.requests.shapes import INVALID
from sortkey.engine.rows.catalog_entries import IndexEntry, TableEntry
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables import replicas
from sortkey.engine.tables.core import Answer, Core, Work
from sortkey.engine.tables.settings import ON_DEMAND
from sortkey.engine.tables.table import Table
from sortkey.errors import (
    GlobalTableAlreadyExistsException,
    GlobalTableNotFoundException,
    ReplicaAlreadyExistsException,
    ReplicaNotFoundException,
    TableNotFoundException,
    ValidationException,
)
from sortkey.storage import Transaction

PAGE: Final = 100
SETTINGS: Final = (
    "global_table_billing_mode",
    "global_table_provisioned_write_capacity_units",
    "global_table_provisioned_write_capacity_auto_scaling_settings_update",
    "global_table_global_secondary_index_settings_update",
    "replica_settings_update",
)


def create_global_table(core: Core, request: features.CreateGlobalTable) -> Work:
    name = request.global_table_name
    regions = [replica.region_name or "" for replica in request.replication_group]
    if not regions:
        raise ValidationException(f"{INVALID}ReplicationGroup must have at least one replica")
    others = [region for region in dict.fromkeys(regions) if region != core.settings.region]
    for region in others:
        replicas.check_region(core, region)
    if len(others) == len(set(regions)):
        raise ValidationException(f"{INVALID}ReplicationGroup must have the region {core.settings.region}")

    def work(batch: WriteBatch) -> Answer:
        table = core.catalog.find(batch.transaction, name)
        if table is None:
            raise TableNotFoundException(f"Table not found: {name}")
        if table.entry.global_since is not None or table.entry.replication is not None:
            raise GlobalTableAlreadyExistsException(f"Global table with name: '{name}' already exists.")
        if table.stream is None or table.stream.view_type != replicas.IMAGES:
            raise ValidationException(f"{INVALID}Table {name} must have a stream with the view {replicas.IMAGES}")
        for region in others:
            _check_may_join(core, table, region)
        entry = msgspec.structs.replace(table.entry, global_since=round(batch.now, 3))
        if others:
            entry = replicas.add_replicas(core, batch, entry, others)
        core.catalog.save(batch, entry)
        return {"GlobalTableDescription": _description(core, entry, "CREATING")}

    return work


def _check_may_join(core: Core, table: Table, region: str) -> None:
    """The table of a region that becomes a replica must exist already."""
    there = core.peers[region]
    with there.read() as snapshot:
        found = there.catalog.find(snapshot, table.name)
        if found is None:
            raise TableNotFoundException(f"Table not found: {table.name} in region {region}")
        problem = replicas.why_not_join(snapshot, found, table.entry)
    if problem is not None:
        raise ValidationException(f"{INVALID}Table {table.name} in region {region} {problem}")


def update_global_table(core: Core, request: features.UpdateGlobalTable) -> Work:
    """Add replicas, or remove some: their tables stay, as tables of their own."""
    name = request.global_table_name
    if not request.replica_updates:
        raise ValidationException(f"{INVALID}ReplicaUpdates must have at least one update")

    def work(batch: WriteBatch) -> Answer:
        table = _require(core, batch.transaction, name)
        entry = table.entry
        leaves = False
        for update in request.replica_updates:
            if (update.create is None) is (update.delete is None):
                raise ValidationException(f"{INVALID}Each of ReplicaUpdates must have either Create or Delete")
            if update.create is not None:
                region = update.create.region_name
                if _has_replica(core, entry, region):
                    raise ReplicaAlreadyExistsException(
                        f"Failed to create the new replica of table with name: '{name}' because it already exists in "
                        f"region: '{region}'."
                    )
                replicas.check_region(core, region)
                _check_may_join(core, table, region)
                entry = replicas.add_replicas(core, batch, entry, [region])
            elif update.delete is not None:
                region = update.delete.region_name
                if not _has_replica(core, entry, region):
                    raise ReplicaNotFoundException(
                        f"Failed to delete the replica of table with name: '{name}' because it does not exist in "
                        f"region: '{region}'."
                    )
                if region == core.settings.region:
                    leaves = True
                else:
                    entry = replicas.remove_replica(batch, entry, region, replicas.LEAVING)
        shown = _description(core, entry, "UPDATING")
        if leaves:
            shown["ReplicationGroup"] = shown["ReplicationGroup"][1:]
            entry = msgspec.structs.replace(replicas.end(batch, entry), global_since=None)
        core.catalog.save(batch, entry)
        return {"GlobalTableDescription": shown}

    return work


def _has_replica(core: Core, entry: TableEntry, region: str) -> bool:
    return region == core.settings.region or replicas.replica_in(entry, region) is not None


def describe_global_table(core: Core, request: features.DescribeGlobalTable) -> Answer:
    with core.read() as transaction:
        entry = _require(core, transaction, request.global_table_name).entry
    status = "UPDATING" if replicas.is_changing(entry) else "ACTIVE"
    return {"GlobalTableDescription": _description(core, entry, status)}


def list_global_tables(core: Core, request: features.ListGlobalTables) -> Answer:
    """In the order of their names."""
    region = core.settings.region
    start, limit = request.exclusive_start_global_table_name or "", request.limit or PAGE
    with core.read() as transaction:
        tables = core.catalog.tables(transaction)
    groups: dict[str, list[str]] = {}
    for name, table in sorted(tables.items()):
        entry = table.entry
        if entry.global_since is not None and name > start:
            listed = () if entry.replication is None else entry.replication.replicas
            groups[name] = [region, *(each.region for each in listed)]
    names = [name for name, regions in groups.items() if request.region_name in (None, *regions)]
    shown = [
        {"GlobalTableName": name, "ReplicationGroup": [{"RegionName": each} for each in groups[name]]}
        for name in names[:limit]
    ]
    answer: Answer = {"GlobalTables": shown}
    if len(names) > limit:
        answer["LastEvaluatedGlobalTableName"] = names[limit - 1]
    return answer


def describe_global_table_settings(core: Core, request: features.DescribeGlobalTableSettings) -> Answer:
    with core.read() as transaction:
        table = _require(core, transaction, request.global_table_name)
    return _settings(core, table)


def update_global_table_settings(core: Core, request: features.UpdateGlobalTableSettings) -> Answer:
    """The settings are those of the table, so they are changed there."""
    with core.read() as transaction:
        table = _require(core, transaction, request.global_table_name)
    if any(getattr(request, field) is not None for field in SETTINGS):
        raise ValidationException(f"{INVALID}Change the settings of {table.name} by UpdateTable")
    return _settings(core, table)


def describe_table_replica_auto_scaling(core: Core, request: features.DescribeTableReplicaAutoScaling) -> Answer:
    with core.read() as transaction:
        entry = core.catalog.require_named(transaction, table_name_of(request.table_name)).entry
    shown = replicas.described(entry).get("Replicas", [])
    return {"TableAutoScalingDescription": {"TableName": entry.name, "TableStatus": "ACTIVE", "Replicas": shown}}


def update_table_replica_auto_scaling(core: Core, request: features.UpdateTableReplicaAutoScaling) -> Answer:
    """There is nothing to scale: throughput has no effect here."""
    with core.read() as transaction:
        name = core.catalog.require_named(transaction, table_name_of(request.table_name)).name
    raise ValidationException(f"{INVALID}Table {name} is not scaled here, nor are its replicas")


def _require(core: Core, transaction: Transaction, name: str) -> Table:
    table = core.catalog.find(transaction, name)
    if table is None or table.entry.global_since is None:
        raise GlobalTableNotFoundException(f"Global table not found: Global table with name: '{name}' does not exist.")
    return table


def _description(core: Core, entry: TableEntry, status: str) -> dict[str, Any]:
    return {
        "ReplicationGroup": [
            {"RegionName": core.settings.region, "ReplicaStatus": "ACTIVE"},
            *replicas.described(entry).get("Replicas", ()),
        ],
        "GlobalTableArn": f"arn:aws:dynamodb::{core.settings.account}:global-table/{entry.name}",
        "CreationDateTime": entry.global_since,
        "GlobalTableStatus": status,
        "GlobalTableName": entry.name,
    }


def _settings(core: Core, table: Table) -> Answer:
    entry = table.entry
    replica: dict[str, Any] = {
        "RegionName": core.settings.region,
        "ReplicaStatus": "ACTIVE",
        "ReplicaProvisionedReadCapacityUnits": entry.throughput.read,
        "ReplicaProvisionedWriteCapacityUnits": entry.throughput.write,
    }
    if entry.billing_mode == ON_DEMAND:
        replica["ReplicaBillingModeSummary"] = {"BillingMode": ON_DEMAND}
    indexes = [_index_settings(index) for index in entry.indexes if not index.local]
    if indexes:
        replica["ReplicaGlobalSecondaryIndexSettings"] = indexes
    if entry.table_class is not None:
        replica["ReplicaTableClassSummary"] = {"TableClass": entry.table_class}
    return {"GlobalTableName": table.name, "ReplicaSettings": [replica]}


def _index_settings(index: IndexEntry) -> dict[str, Any]:
    return {
        "IndexName": index.name,
        "IndexStatus": index.status,
        "ProvisionedReadCapacityUnits": index.throughput.read,
        "ProvisionedWriteCapacityUnits": index.throughput.write,
    }
