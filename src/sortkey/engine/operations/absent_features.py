"""Operations on features that are not supported here: DynamoDB's answers for a table without them."""

from __future__ import annotations

from sortkey.engine.core import Answer, Core
from sortkey.engine.requests import features, table_name_of
from sortkey.engine.tables.table import Table
from sortkey.engine.tables.tags import table_of_arn
from sortkey.errors import GlobalTableNotFoundException, PolicyNotFoundException, ResourceNotFoundException


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


def get_resource_policy(core: Core, request: features.GetResourcePolicy) -> Answer:
    with core.read() as transaction:
        table_of_arn(core, transaction, request.resource_arn, "GetResourcePolicy")
    raise PolicyNotFoundException(
        f"Resource-based policy not found for the provided ResourceArn: {request.resource_arn}"
    )


def list_backups(_core: Core, _request: features.ListBackups) -> Answer:
    return {"BackupSummaries": []}


def list_contributor_insights(_core: Core, _request: features.ListContributorInsights) -> Answer:
    return {"ContributorInsightsSummaries": []}


def list_exports(_core: Core, _request: features.ListExports) -> Answer:
    return {"ExportSummaries": []}


def list_global_tables(_core: Core, _request: features.ListGlobalTables) -> Answer:
    return {"GlobalTables": []}


def list_imports(_core: Core, _request: features.ListImports) -> Answer:
    return {"ImportSummaryList": []}


def _table(core: Core, text: str) -> Table:
    with core.read() as transaction:
        return core.catalog.require_named(transaction, table_name_of(text))


def _no_global_table(name: str) -> GlobalTableNotFoundException:
    return GlobalTableNotFoundException(f"Global table not found: Global table with name: '{name}' does not exist.")
