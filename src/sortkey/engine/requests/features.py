"""Requests about the service, policies, and unsupported features: replicas, exports, insights."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from sortkey.engine.requests.shapes import (
    INTEGER_RANGE,
    IndexName,
    PositiveInteger,
    PositiveLong,
    ResourceArn,
    Shape,
    StrictTableName,
    TableArn,
    TableParameter,
)

StreamArn = Annotated[str, Meta(min_length=37, max_length=1024)]
RevisionId = Annotated[str, Meta(min_length=1, max_length=255)]


class DescribeLimits(Shape, kw_only=True):
    pass


class DescribeEndpoints(Shape, kw_only=True):
    pass


class UpdateContributorInsights(Shape, kw_only=True):
    table_name: TableParameter
    index_name: IndexName | None = None
    contributor_insights_action: Literal["ENABLE", "DISABLE"]
    contributor_insights_mode: Literal["ACCESSED_AND_THROTTLED_KEYS", "THROTTLED_KEYS"] | None = None


class DescribeContributorInsights(Shape, kw_only=True):
    table_name: TableParameter
    index_name: IndexName | None = None


class KinesisStreamingConfiguration(Shape, kw_only=True):
    approximate_creation_date_time_precision: Literal["MILLISECOND", "MICROSECOND"] | None = None


class EnableKinesisStreamingConfiguration(KinesisStreamingConfiguration, kw_only=True):
    pass


class UpdateKinesisStreamingConfiguration(KinesisStreamingConfiguration, kw_only=True):
    pass


class EnableKinesisStreamingDestination(Shape, kw_only=True):
    table_name: TableParameter
    stream_arn: StreamArn
    enable_kinesis_streaming_configuration: EnableKinesisStreamingConfiguration | None = None


class DisableKinesisStreamingDestination(EnableKinesisStreamingDestination, kw_only=True):
    pass


class UpdateKinesisStreamingDestination(Shape, kw_only=True):
    table_name: TableParameter
    stream_arn: StreamArn
    update_kinesis_streaming_configuration: UpdateKinesisStreamingConfiguration | None = None


class DescribeKinesisStreamingDestination(Shape, kw_only=True):
    table_name: TableParameter


class DescribeTableReplicaAutoScaling(Shape, kw_only=True):
    table_name: TableParameter


# What cannot be changed here is rejected as a whole, so its content is not declared.
Undeclared = dict[str, Any]


class UpdateTableReplicaAutoScaling(Shape, kw_only=True):
    global_secondary_index_updates: Annotated[list[Undeclared], Meta(min_length=1)] | None = None
    table_name: TableParameter
    provisioned_write_capacity_auto_scaling_update: Undeclared | None = None
    replica_updates: Annotated[list[Undeclared], Meta(min_length=1)] | None = None


class Replica(Shape, kw_only=True):
    region_name: str | None = None


class CreateGlobalTable(Shape, kw_only=True):
    global_table_name: StrictTableName
    replication_group: list[Replica]


class CreateReplicaAction(Shape, kw_only=True):
    region_name: str


class DeleteReplicaAction(Shape, kw_only=True):
    region_name: str


class ReplicaUpdate(Shape, kw_only=True):
    create: CreateReplicaAction | None = None
    delete: DeleteReplicaAction | None = None


class UpdateGlobalTable(Shape, kw_only=True):
    global_table_name: StrictTableName
    replica_updates: list[ReplicaUpdate]


class UpdateGlobalTableSettings(Shape, kw_only=True):
    global_table_name: StrictTableName
    global_table_billing_mode: Literal["PROVISIONED", "PAY_PER_REQUEST"] | None = None
    global_table_provisioned_write_capacity_units: PositiveLong | None = None
    global_table_provisioned_write_capacity_auto_scaling_settings_update: Undeclared | None = None
    global_table_global_secondary_index_settings_update: (
        Annotated[list[Undeclared], Meta(min_length=1, max_length=20)] | None
    ) = None
    replica_settings_update: Annotated[list[Undeclared], Meta(min_length=1, max_length=50)] | None = None


class DescribeGlobalTable(Shape, kw_only=True):
    global_table_name: StrictTableName


class DescribeGlobalTableSettings(Shape, kw_only=True):
    global_table_name: StrictTableName


class PutResourcePolicy(Shape, kw_only=True):
    resource_arn: ResourceArn
    policy: str
    expected_revision_id: RevisionId | None = None
    confirm_remove_self_resource_access: bool | None = None


class GetResourcePolicy(Shape, kw_only=True):
    resource_arn: ResourceArn


class DeleteResourcePolicy(Shape, kw_only=True):
    resource_arn: ResourceArn
    expected_revision_id: RevisionId | None = None


class ListContributorInsights(Shape, kw_only=True):
    table_name: TableArn | None = None
    next_token: str | None = None
    max_results: Annotated[int, Meta(ge=INTEGER_RANGE[0], le=100)] | None = None


class ListGlobalTables(Shape, kw_only=True):
    exclusive_start_global_table_name: StrictTableName | None = None
    limit: PositiveInteger | None = None
    region_name: str | None = None
