"""Requests about backups, point-in-time recovery and the tables that are restored from them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from sortkey.engine.requests.shapes import (
    NAME_PATTERN,
    BackupArn,
    Shape,
    StrictTableName,
    TableArn,
    TableParameter,
    Timestamp,
    anchored,
)
from sortkey.engine.requests.tables import (
    BillingMode,
    GlobalSecondaryIndex,
    LocalSecondaryIndex,
    OnDemandThroughput,
    ProvisionedThroughput,
    SSESpecification,
    VectorIndex,
)


class CreateBackup(Shape, kw_only=True):
    table_name: TableParameter
    backup_name: Annotated[str, Meta(min_length=3, max_length=255, pattern=anchored(NAME_PATTERN))]


class DescribeBackup(Shape, kw_only=True):
    backup_arn: BackupArn


class ListBackups(Shape, kw_only=True):
    table_name: TableArn | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] | None = None
    time_range_lower_bound: Timestamp | None = None
    time_range_upper_bound: Timestamp | None = None
    exclusive_start_backup_arn: BackupArn | None = None
    backup_type: Literal["USER", "SYSTEM", "AWS_BACKUP", "ALL"] | None = None


class DeleteBackup(Shape, kw_only=True):
    backup_arn: BackupArn


class RestoreTableFromBackup(Shape, kw_only=True):
    target_table_name: StrictTableName
    backup_arn: BackupArn
    billing_mode_override: BillingMode | None = None
    global_secondary_index_override: list[GlobalSecondaryIndex] | None = None
    local_secondary_index_override: list[LocalSecondaryIndex] | None = None
    provisioned_throughput_override: ProvisionedThroughput | None = None
    on_demand_throughput_override: OnDemandThroughput | None = None
    sse_specification_override: SSESpecification | None = None
    vector_index_override: list[VectorIndex] | None = None


class DescribeContinuousBackups(Shape, kw_only=True):
    table_name: TableParameter


class PointInTimeRecoverySpecification(Shape, kw_only=True):
    point_in_time_recovery_enabled: bool
    recovery_period_in_days: Annotated[int, Meta(ge=1, le=35)] | None = None


class UpdateContinuousBackups(Shape, kw_only=True):
    table_name: TableParameter
    point_in_time_recovery_specification: PointInTimeRecoverySpecification


class RestoreTableToPointInTime(Shape, kw_only=True):
    source_table_arn: TableArn | None = None
    source_table_name: StrictTableName | None = None
    target_table_name: StrictTableName
    use_latest_restorable_time: bool | None = None
    restore_date_time: Timestamp | None = None
    billing_mode_override: BillingMode | None = None
    global_secondary_index_override: list[GlobalSecondaryIndex] | None = None
    local_secondary_index_override: list[LocalSecondaryIndex] | None = None
    provisioned_throughput_override: ProvisionedThroughput | None = None
    on_demand_throughput_override: OnDemandThroughput | None = None
    sse_specification_override: SSESpecification | None = None
    vector_index_override: list[VectorIndex] | None = None
