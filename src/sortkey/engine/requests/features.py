"""Requests about the service, policies, and unsupported features: replicas, exports, insights."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from sortkey.engine.requests.shapes import (
    INTEGER_RANGE,
    IndexName,
    PositiveInteger,
    ResourceArn,
    Shape,
    StrictTableName,
    TableArn,
    TableParameter,
)

RevisionId = Annotated[str, Meta(min_length=1, max_length=255)]


class DescribeLimits(Shape, kw_only=True):
    pass


class DescribeEndpoints(Shape, kw_only=True):
    pass


class DescribeContributorInsights(Shape, kw_only=True):
    table_name: TableParameter
    index_name: IndexName | None = None


class DescribeKinesisStreamingDestination(Shape, kw_only=True):
    table_name: TableParameter


class DescribeTableReplicaAutoScaling(Shape, kw_only=True):
    table_name: TableParameter


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
