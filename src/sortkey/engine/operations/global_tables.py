"""Global tables: CreateGlobalTable, UpdateGlobalTable, DescribeGlobalTable, ListGlobalTables, their settings, and the
auto scaling of replicas.

Nothing is replicated yet, and a replica that is not kept current would be a lie. So a global table has one replica, the
table itself in the region of this store, and every request for another region is rejected by name.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from sortkey.engine.requests import features, table_name_of
from sortkey.engine.requests.shapes import INVALID
from sortkey.engine.rows.catalog_entries import IndexEntry, TableEntry
from sortkey.engine.rows.write_batch import WriteBatch
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
    for region in regions:
        _check_region(core, region)

    def work(batch: WriteBatch) -> Answer:
        table = core.catalog.find(batch.transaction, name)
        if table is None:
            raise TableNotFoundException(f"Table not found: {name}")
        if table.entry.global_since is not None:
            raise GlobalTableAlreadyExistsException(f"Global table with name: '{name}' already exists.")
        if table.stream is None or table.stream.view_type != "NEW_AND_OLD_IMAGES":
            raise ValidationException(f"{INVALID}Table {name} must have a stream with the view NEW_AND_OLD_IMAGES")
        entry = msgspec.structs.replace(table.entry, global_since=round(batch.now, 3))
        core.catalog.save(batch, entry)
        return {"GlobalTableDescription": _description(core, entry, "CREATING")}

    return work


def update_global_table(core: Core, request: features.UpdateGlobalTable) -> Work:
    """Add replicas in other regions, which is rejected; or remove the one here, and the global table with it."""
    name = request.global_table_name
    if not request.replica_updates:
        raise ValidationException(f"{INVALID}ReplicaUpdates must have at least one update")

    def work(batch: WriteBatch) -> Answer:
        entry = _require(core, batch.transaction, name).entry
        for update in request.replica_updates:
            if (update.create is None) is (update.delete is None):
                raise ValidationException(f"{INVALID}Each of ReplicaUpdates must have either Create or Delete")
            if update.create is not None:
                _check_region(core, update.create.region_name)
                raise ReplicaAlreadyExistsException(
                    f"Failed to create the new replica of table with name: '{name}' because it already exists in "
                    f"region: '{update.create.region_name}'."
                )
            if update.delete is not None and update.delete.region_name != core.settings.region:
                raise ReplicaNotFoundException(
                    f"Failed to delete the replica of table with name: '{name}' because it does not exist in "
                    f"region: '{update.delete.region_name}'."
                )
        shown = _description(core, entry, "UPDATING") | {"ReplicationGroup": []}
        core.catalog.save(batch, msgspec.structs.replace(entry, global_since=None))
        return {"GlobalTableDescription": shown}

    return work


def describe_global_table(core: Core, request: features.DescribeGlobalTable) -> Answer:
    with core.read() as transaction:
        entry = _require(core, transaction, request.global_table_name).entry
    return {"GlobalTableDescription": _description(core, entry, "ACTIVE")}


def list_global_tables(core: Core, request: features.ListGlobalTables) -> Answer:
    """In the order of their names."""
    region = core.settings.region
    start, limit = request.exclusive_start_global_table_name or "", request.limit or PAGE
    with core.read() as transaction:
        tables = core.catalog.tables(transaction)
    names = sorted(name for name, table in tables.items() if table.entry.global_since is not None and name > start)
    if request.region_name not in (None, region):
        names = []
    shown = [{"GlobalTableName": name, "ReplicationGroup": [{"RegionName": region}]} for name in names[:limit]]
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
        raise ValidationException(f"{INVALID}Change the settings of the one replica of {table.name} by UpdateTable")
    return _settings(core, table)


def describe_table_replica_auto_scaling(core: Core, request: features.DescribeTableReplicaAutoScaling) -> Answer:
    with core.read() as transaction:
        name = core.catalog.require_named(transaction, table_name_of(request.table_name)).name
    return {"TableAutoScalingDescription": {"TableName": name, "TableStatus": "ACTIVE", "Replicas": []}}


def update_table_replica_auto_scaling(core: Core, request: features.UpdateTableReplicaAutoScaling) -> Answer:
    """For a table without replicas: there is nothing to scale."""
    with core.read() as transaction:
        name = core.catalog.require_named(transaction, table_name_of(request.table_name)).name
    raise ValidationException(f"{INVALID}Table {name} has no replicas whose auto scaling could be updated")


def _require(core: Core, transaction: Transaction, name: str) -> Table:
    table = core.catalog.find(transaction, name)
    if table is None or table.entry.global_since is None:
        raise GlobalTableNotFoundException(f"Global table not found: Global table with name: '{name}' does not exist.")
    return table


def _check_region(core: Core, region: str) -> None:
    if region != core.settings.region:
        raise ValidationException(
            f"{INVALID}A replica in the region {region!r} cannot be kept: tables here are in the region "
            f"{core.settings.region!r} alone, and are not replicated"
        )


def _description(core: Core, entry: TableEntry, status: str) -> dict[str, Any]:
    return {
        "ReplicationGroup": [{"RegionName": core.settings.region, "ReplicaStatus": "ACTIVE"}],
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
