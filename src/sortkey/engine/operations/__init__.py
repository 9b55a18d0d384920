"""The operations by name.

A read returns its answer. A read that may take long runs in slices and returns its answer at their end. A write returns
the work for a write batch, which answers. Operations with PartiQL are both: `writes` tells by the statements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sortkey.engine.operations import (
    backups,
    contributor_insights,
    exports,
    features,
    global_tables,
    imports,
    kinesis_destinations,
    policies,
    recovery,
    restores,
    statements,
)
from sortkey.engine.operations.batches import batch_get_item, batch_write_item
from sortkey.engine.operations.items import delete_item, get_item, put_item, update_item
from sortkey.engine.operations.queries import query, scan
from sortkey.engine.operations.slices import Slices
from sortkey.engine.operations.streams import describe_stream, get_records, get_shard_iterator, list_streams
from sortkey.engine.operations.tables import (
    create_table,
    delete_table,
    describe_table,
    describe_time_to_live,
    list_tables,
    update_table,
    update_time_to_live,
)
from sortkey.engine.operations.tags import list_tags_of_resource, tag_resource, untag_resource
from sortkey.engine.operations.transactions import transact_get_items, transact_write_items
from sortkey.engine.operations.vector_search import search_vectors
from sortkey.engine.tables.core import Answer, Core, Work

Read = Callable[[Core, Any], Answer]
SlicedRead = Callable[[Core, Any], Slices[Answer]]
Write = Callable[[Core, Any], Work]

READS: Final[dict[str, Read]] = {
    "DescribeBackup": backups.describe_backup,
    "DescribeContinuousBackups": recovery.describe_continuous_backups,
    "DescribeContributorInsights": contributor_insights.describe_contributor_insights,
    "DescribeEndpoints": features.describe_endpoints,
    "DescribeExport": exports.describe_export,
    "DescribeGlobalTable": global_tables.describe_global_table,
    "DescribeGlobalTableSettings": global_tables.describe_global_table_settings,
    "DescribeImport": imports.describe_import,
    "DescribeKinesisStreamingDestination": kinesis_destinations.describe_kinesis_streaming_destination,
    "DescribeLimits": features.describe_limits,
    "DescribeStream": describe_stream,
    "DescribeTable": describe_table,
    "DescribeTableReplicaAutoScaling": global_tables.describe_table_replica_auto_scaling,
    "DescribeTimeToLive": describe_time_to_live,
    "GetItem": get_item,
    "GetRecords": get_records,
    "GetResourcePolicy": policies.get_resource_policy,
    "GetShardIterator": get_shard_iterator,
    "ListBackups": backups.list_backups,
    "ListContributorInsights": contributor_insights.list_contributor_insights,
    "ListExports": exports.list_exports,
    "ListGlobalTables": global_tables.list_global_tables,
    "ListImports": imports.list_imports,
    "ListStreams": list_streams,
    "ListTables": list_tables,
    "ListTagsOfResource": list_tags_of_resource,
    "UpdateGlobalTableSettings": global_tables.update_global_table_settings,
    "UpdateTableReplicaAutoScaling": global_tables.update_table_replica_auto_scaling,
}

SLICED_READS: Final[dict[str, SlicedRead]] = {
    "BatchExecuteStatement": statements.batch_read,
    "BatchGetItem": batch_get_item,
    "ExecuteStatement": statements.select,
    "ExecuteTransaction": statements.transact_read,
    "Query": query,
    "Scan": scan,
    "SearchVectors": search_vectors,
    "TransactGetItems": transact_get_items,
}

WRITES: Final[dict[str, Write]] = {
    "BatchExecuteStatement": statements.batch_write,
    "BatchWriteItem": batch_write_item,
    "CreateBackup": backups.create_backup,
    "CreateGlobalTable": global_tables.create_global_table,
    "CreateTable": create_table,
    "DeleteBackup": backups.delete_backup,
    "DeleteItem": delete_item,
    "DeleteResourcePolicy": policies.delete_resource_policy,
    "DeleteTable": delete_table,
    "DisableKinesisStreamingDestination": kinesis_destinations.disable_kinesis_streaming_destination,
    "EnableKinesisStreamingDestination": kinesis_destinations.enable_kinesis_streaming_destination,
    "ExecuteStatement": statements.change,
    "ExecuteTransaction": statements.transact_write,
    "ExportTableToPointInTime": exports.export_table_to_point_in_time,
    "ImportTable": imports.import_table,
    "PutItem": put_item,
    "PutResourcePolicy": policies.put_resource_policy,
    "RestoreTableFromBackup": restores.restore_table_from_backup,
    "RestoreTableToPointInTime": restores.restore_table_to_point_in_time,
    "TagResource": tag_resource,
    "TransactWriteItems": transact_write_items,
    "UntagResource": untag_resource,
    "UpdateContinuousBackups": recovery.update_continuous_backups,
    "UpdateContributorInsights": contributor_insights.update_contributor_insights,
    "UpdateGlobalTable": global_tables.update_global_table,
    "UpdateItem": update_item,
    "UpdateKinesisStreamingDestination": kinesis_destinations.update_kinesis_streaming_destination,
    "UpdateTable": update_table,
    "UpdateTimeToLive": update_time_to_live,
}

STATEMENTS: Final = SLICED_READS.keys() & WRITES.keys()
"""The operations whose requests are reads or writes."""


def writes(operation: str, request: Any) -> bool:
    """Whether the request is a write."""
    return operation in WRITES and (operation not in STATEMENTS or statements.is_write(request))
