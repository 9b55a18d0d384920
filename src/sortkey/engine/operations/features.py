"""DescribeLimits, DescribeEndpoints, and operations on features that are not supported here.

Those have DynamoDB's answers for a table without the feature.
"""

from __future__ import annotations

from sortkey.engine.requests import features, table_name_of
from sortkey.engine.tables.core import Answer, Core
from sortkey.engine.tables.table import Table
from sortkey.errors import (
    GlobalTableNotFoundException,
    ResourceNotFoundException,
)


def describe_limits(_core: Core, _request: features.DescribeLimits) -> Answer:
    """AWS's default quotas, which are not enforced here."""
    return {
        "AccountMaxReadCapacityUnits": 80_000,
        "AccountMaxWriteCapacityUnits": 80_000,
        "TableMaxReadCapacityUnits": 40_000,
        "TableMaxWriteCapacityUnits": 40_000,
    }


def describe_endpoints(core: Core, _request: features.DescribeEndpoints) -> Answer:
    """Clients of this store are given an endpoint, and so do not call it by themselves."""
    address = f"dynamodb.{core.settings.region}.amazonaws.com"
    return {"Endpoints": [{"Address": address, "CachePeriodInMinutes": 1440}]}


def describe_contributor_insights(core: Core, request: features.DescribeContributorInsights) -> Answer:
    table = _table(core, request.table_name)
    answer: Answer = {"TableName": table.name, "ContributorInsightsStatus": "DISABLED"}
    if request.index_name is not None:
        if request.index_name not in table.indexes:
            raise ResourceNotFoundException(f"Requested resource not found: Index: {request.index_name} not found")
        answer["IndexName"] = request.index_name
    return answer


def describe_kinesis_streaming_destination(core: Core, request: features.DescribeKinesisStreamingDestination) -> Answer:
    return {"TableName": _table(core, request.table_name).name, "KinesisDataStreamDestinations": []}


def describe_table_replica_auto_scaling(core: Core, request: features.DescribeTableReplicaAutoScaling) -> Answer:
    name = _table(core, request.table_name).name
    return {"TableAutoScalingDescription": {"TableName": name, "TableStatus": "ACTIVE", "Replicas": []}}


def describe_global_table(_core: Core, request: features.DescribeGlobalTable) -> Answer:
    raise _no_global_table(request.global_table_name)


def describe_global_table_settings(_core: Core, request: features.DescribeGlobalTableSettings) -> Answer:
    raise _no_global_table(request.global_table_name)


def list_contributor_insights(_core: Core, _request: features.ListContributorInsights) -> Answer:
    return {"ContributorInsightsSummaries": []}


def list_global_tables(_core: Core, _request: features.ListGlobalTables) -> Answer:
    return {"GlobalTables": []}


def _table(core: Core, text: str) -> Table:
    with core.read() as transaction:
        return core.catalog.require_named(transaction, table_name_of(text))


def _no_global_table(name: str) -> GlobalTableNotFoundException:
    return GlobalTableNotFoundException(f"Global table not found: Global table with name: '{name}' does not exist.")
