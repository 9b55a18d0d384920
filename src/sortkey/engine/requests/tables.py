"""Requests about tables (CreateTable, DescribeTable, ListTables, DeleteTable, UpdateTable), their TTL and tags, and
their streams (ListStreams, DescribeStream, GetShardIterator, GetRecords).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from sortkey import limits
from sortkey.engine.requests.shapes import (
    AttributeName,
    IndexName,
    KeyAttributeName,
    Long,
    PositiveLong,
    ResourceArn,
    Shape,
    StrictTableName,
    TableParameter,
    Timestamp,
)

BillingMode = Literal["PROVISIONED", "PAY_PER_REQUEST"]
TableClass = Literal["STANDARD", "STANDARD_INFREQUENT_ACCESS"]
GlobalTableSettingsReplicationMode = Literal["ENABLED", "DISABLED", "ENABLED_WITH_OVERRIDES"]
TagKey = Annotated[str, Meta(min_length=1, max_length=128)]

# Witnesses are rejected as a whole, so their content is not declared.
Unsupported = dict[str, Any]


class AttributeDefinition(Shape, kw_only=True):
    attribute_name: KeyAttributeName
    attribute_type: Literal["B", "N", "S"]


class KeySchemaElement(Shape, kw_only=True):
    attribute_name: KeyAttributeName
    key_type: Literal["HASH", "RANGE"]


KeySchema = Annotated[list[KeySchemaElement], Meta(min_length=1)]


class Projection(Shape, kw_only=True):
    projection_type: Literal["ALL", "INCLUDE", "KEYS_ONLY"] | None = None
    non_key_attributes: Annotated[list[KeyAttributeName], Meta(min_length=1, max_length=20)] | None = None


class ProvisionedThroughput(Shape, kw_only=True):
    read_capacity_units: PositiveLong
    write_capacity_units: PositiveLong


class OnDemandThroughput(Shape, kw_only=True):
    max_read_request_units: Long | None = None
    max_write_request_units: Long | None = None


class WarmThroughput(Shape, kw_only=True):
    read_units_per_second: Long | None = None
    write_units_per_second: Long | None = None


class StreamSpecification(Shape, kw_only=True):
    stream_enabled: bool
    stream_view_type: Literal["NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY"] | None = None


class SSESpecification(Shape, kw_only=True):
    enabled: bool | None = None
    sse_type: Literal["AES256", "KMS"] | None = None
    kms_master_key_id: str | None = None


class Tag(Shape, kw_only=True):
    key: TagKey
    value: Annotated[str, Meta(min_length=0, max_length=256)]


class SecondaryIndex(Shape, kw_only=True):
    index_name: IndexName
    key_schema: KeySchema
    projection: Projection


class LocalSecondaryIndex(SecondaryIndex, kw_only=True):
    pass


class GlobalSecondaryIndex(SecondaryIndex, kw_only=True):
    provisioned_throughput: ProvisionedThroughput | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    warm_throughput: WarmThroughput | None = None


class CreateGlobalSecondaryIndexAction(GlobalSecondaryIndex, kw_only=True):
    pass


class UpdateGlobalSecondaryIndexAction(Shape, kw_only=True):
    index_name: IndexName
    provisioned_throughput: ProvisionedThroughput | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    warm_throughput: WarmThroughput | None = None


class DeleteGlobalSecondaryIndexAction(Shape, kw_only=True):
    index_name: IndexName


class GlobalSecondaryIndexUpdate(Shape, kw_only=True):
    update: UpdateGlobalSecondaryIndexAction | None = None
    create: CreateGlobalSecondaryIndexAction | None = None
    delete: DeleteGlobalSecondaryIndexAction | None = None


class VectorAttributeDefinition(Shape, kw_only=True):
    attribute_name: KeyAttributeName


class SearchSchemaElement(Shape, kw_only=True):
    attribute_name: AttributeName
    search_schema_element_type: Literal["HASH", "INLINE_FILTER"]


class VectorIndex(Shape, kw_only=True):
    index_name: IndexName
    vector_attribute: VectorAttributeDefinition
    search_schema: Annotated[list[SearchSchemaElement], Meta(min_length=1)] | None = None
    projection: Projection
    dimensions: PositiveLong
    distance_function: Literal["COSINE", "DOT_PRODUCT", "EUCLIDEAN"]


class CreateVectorIndexAction(VectorIndex, kw_only=True):
    pass


class DeleteVectorIndexAction(Shape, kw_only=True):
    index_name: IndexName


class VectorIndexUpdate(Shape, kw_only=True):
    create: CreateVectorIndexAction | None = None
    delete: DeleteVectorIndexAction | None = None


class CreateTable(Shape, kw_only=True):
    attribute_definitions: list[AttributeDefinition] | None = None
    table_name: TableParameter
    key_schema: KeySchema | None = None
    local_secondary_indexes: list[LocalSecondaryIndex] | None = None
    global_secondary_indexes: list[GlobalSecondaryIndex] | None = None
    billing_mode: BillingMode | None = None
    provisioned_throughput: ProvisionedThroughput | None = None
    stream_specification: StreamSpecification | None = None
    sse_specification: SSESpecification | None = None
    tags: list[Tag] | None = None
    table_class: TableClass | None = None
    deletion_protection_enabled: bool | None = None
    warm_throughput: WarmThroughput | None = None
    resource_policy: str | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    global_table_source_arn: Annotated[str, Meta(min_length=1, max_length=1024)] | None = None
    global_table_settings_replication_mode: GlobalTableSettingsReplicationMode | None = None
    vector_indexes: list[VectorIndex] | None = None


class DescribeTable(Shape, kw_only=True):
    table_name: TableParameter


class DeleteTable(Shape, kw_only=True):
    table_name: TableParameter


class ListTables(Shape, kw_only=True):
    exclusive_start_table_name: StrictTableName | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] | None = None


class ProvisionedThroughputOverride(Shape, kw_only=True):
    read_capacity_units: PositiveLong | None = None


class OnDemandThroughputOverride(Shape, kw_only=True):
    max_read_request_units: Long | None = None


class ReplicaGlobalSecondaryIndex(Shape, kw_only=True):
    index_name: IndexName
    provisioned_throughput_override: ProvisionedThroughputOverride | None = None
    on_demand_throughput_override: OnDemandThroughputOverride | None = None


class CreateReplicationGroupMemberAction(Shape, kw_only=True):
    region_name: str
    kms_master_key_id: str | None = None
    provisioned_throughput_override: ProvisionedThroughputOverride | None = None
    on_demand_throughput_override: OnDemandThroughputOverride | None = None
    global_secondary_indexes: Annotated[list[ReplicaGlobalSecondaryIndex], Meta(min_length=1)] | None = None
    table_class_override: TableClass | None = None


class UpdateReplicationGroupMemberAction(Shape, kw_only=True):
    region_name: str
    kms_master_key_id: str | None = None
    provisioned_throughput_override: ProvisionedThroughputOverride | None = None
    on_demand_throughput_override: OnDemandThroughputOverride | None = None
    global_secondary_indexes: Annotated[list[ReplicaGlobalSecondaryIndex], Meta(min_length=1)] | None = None
    table_class_override: TableClass | None = None


class DeleteReplicationGroupMemberAction(Shape, kw_only=True):
    region_name: str


class DisassociateReplicationGroupMemberAction(Shape, kw_only=True):
    region_name: str
    disassociation_mode: Literal["WAIT_FOR_REPLICATION"]


class ReplicationGroupUpdate(Shape, kw_only=True):
    create: CreateReplicationGroupMemberAction | None = None
    update: UpdateReplicationGroupMemberAction | None = None
    delete: DeleteReplicationGroupMemberAction | None = None
    disassociate: DisassociateReplicationGroupMemberAction | None = None


class UpdateTable(Shape, kw_only=True):
    attribute_definitions: list[AttributeDefinition] | None = None
    table_name: TableParameter
    billing_mode: BillingMode | None = None
    provisioned_throughput: ProvisionedThroughput | None = None
    global_secondary_index_updates: list[GlobalSecondaryIndexUpdate] | None = None
    stream_specification: StreamSpecification | None = None
    sse_specification: SSESpecification | None = None
    replica_updates: Annotated[list[ReplicationGroupUpdate], Meta(min_length=1)] | None = None
    table_class: TableClass | None = None
    deletion_protection_enabled: bool | None = None
    multi_region_consistency: Literal["EVENTUAL", "STRONG"] | None = None
    global_table_witness_updates: Annotated[list[Unsupported], Meta(min_length=1, max_length=1)] | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    warm_throughput: WarmThroughput | None = None
    global_table_settings_replication_mode: GlobalTableSettingsReplicationMode | None = None
    disassociation_protection_enabled: bool | None = None
    vector_index_updates: list[VectorIndexUpdate] | None = None


class TimeToLiveSpecification(Shape, kw_only=True):
    enabled: bool
    attribute_name: KeyAttributeName


class UpdateTimeToLive(Shape, kw_only=True):
    table_name: TableParameter
    time_to_live_specification: TimeToLiveSpecification


class DescribeTimeToLive(Shape, kw_only=True):
    table_name: TableParameter


class TagResource(Shape, kw_only=True):
    resource_arn: ResourceArn
    tags: list[Tag]


class UntagResource(Shape, kw_only=True):
    resource_arn: ResourceArn
    tag_keys: list[TagKey]


class ListTagsOfResource(Shape, kw_only=True):
    resource_arn: ResourceArn
    next_token: str | None = None


StreamArn = Annotated[str, Meta(min_length=37, max_length=1024)]
ShardId = Annotated[str, Meta(min_length=28, max_length=65)]
ShardIteratorType = Literal["AFTER_SEQUENCE_NUMBER", "LATEST", "AT_SEQUENCE_NUMBER", "TRIM_HORIZON", "AT_TIMESTAMP"]
PageSize = Annotated[int, Meta(ge=1, le=100)]


class ListStreams(Shape, kw_only=True):
    table_name: StrictTableName | None = None
    limit: PageSize | None = None
    exclusive_start_stream_arn: StreamArn | None = None


class ShardFilter(Shape, kw_only=True):
    type: Literal["CHILD_SHARDS"] | None = None
    shard_id: ShardId | None = None


class DescribeStream(Shape, kw_only=True):
    stream_arn: StreamArn
    limit: PageSize | None = None
    exclusive_start_shard_id: ShardId | None = None
    shard_filter: ShardFilter | None = None


class GetShardIterator(Shape, kw_only=True):
    stream_arn: StreamArn
    shard_id: ShardId
    shard_iterator_type: ShardIteratorType
    sequence_number: Annotated[str, Meta(min_length=21, max_length=40)] | None = None
    timestamp: Timestamp | None = None


class GetRecords(Shape, kw_only=True):
    shard_iterator: Annotated[str, Meta(min_length=1, max_length=2048)]
    limit: Annotated[int, Meta(ge=1, le=limits.STREAM_RECORDS)] | None = None
