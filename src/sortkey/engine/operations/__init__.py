"""The operations by name.

A read returns its answer. A read that may take long runs in slices and returns its answer at their end. A write returns
the work for a write batch, which answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sortkey.engine.core import Answer, Core, Work
from sortkey.engine.operations import absent_features
from sortkey.engine.operations.batch_get_item import batch_get_item
from sortkey.engine.operations.batch_write_item import batch_write_item
from sortkey.engine.operations.continuous_backups import describe_continuous_backups, update_continuous_backups
from sortkey.engine.operations.create_table import create_table
from sortkey.engine.operations.delete_item import delete_item
from sortkey.engine.operations.delete_table import delete_table
from sortkey.engine.operations.describe_endpoints import describe_endpoints
from sortkey.engine.operations.describe_limits import describe_limits
from sortkey.engine.operations.describe_stream import describe_stream
from sortkey.engine.operations.describe_table import describe_table
from sortkey.engine.operations.describe_time_to_live import describe_time_to_live
from sortkey.engine.operations.get_item import get_item
from sortkey.engine.operations.get_records import get_records
from sortkey.engine.operations.get_shard_iterator import get_shard_iterator
from sortkey.engine.operations.list_streams import list_streams
from sortkey.engine.operations.list_tables import list_tables
from sortkey.engine.operations.list_tags_of_resource import list_tags_of_resource
from sortkey.engine.operations.put_item import put_item
from sortkey.engine.operations.query import query
from sortkey.engine.operations.scan import scan
from sortkey.engine.operations.tag_resource import tag_resource
from sortkey.engine.operations.transact_get_items import transact_get_items
from sortkey.engine.operations.transact_write_items import transact_write_items
from sortkey.engine.operations.untag_resource import untag_resource
from sortkey.engine.operations.update_item import update_item
from sortkey.engine.operations.update_table import update_table
from sortkey.engine.operations.update_time_to_live import update_time_to_live
from sortkey.engine.slices import Slices

Read = Callable[[Core, Any], Answer]
SlicedRead = Callable[[Core, Any], Slices[Answer]]
Write = Callable[[Core, Any], Work]

READS: Final[dict[str, Read]] = {
    "DescribeContinuousBackups": describe_continuous_backups,
    "DescribeContributorInsights": absent_features.describe_contributor_insights,
    "DescribeEndpoints": describe_endpoints,
    "DescribeGlobalTable": absent_features.describe_global_table,
    "DescribeGlobalTableSettings": absent_features.describe_global_table_settings,
    "DescribeKinesisStreamingDestination": absent_features.describe_kinesis_streaming_destination,
    "DescribeLimits": describe_limits,
    "DescribeStream": describe_stream,
    "DescribeTable": describe_table,
    "DescribeTableReplicaAutoScaling": absent_features.describe_table_replica_auto_scaling,
    "DescribeTimeToLive": describe_time_to_live,
    "GetItem": get_item,
    "GetRecords": get_records,
    "GetResourcePolicy": absent_features.get_resource_policy,
    "GetShardIterator": get_shard_iterator,
    "ListBackups": absent_features.list_backups,
    "ListContributorInsights": absent_features.list_contributor_insights,
    "ListExports": absent_features.list_exports,
    "ListGlobalTables": absent_features.list_global_tables,
    "ListImports": absent_features.list_imports,
    "ListStreams": list_streams,
    "ListTables": list_tables,
    "ListTagsOfResource": list_tags_of_resource,
    "UpdateContinuousBackups": update_continuous_backups,
}

SLICED_READS: Final[dict[str, SlicedRead]] = {
    "BatchGetItem": batch_get_item,
    "Query": query,
    "Scan": scan,
    "TransactGetItems": transact_get_items,
}

WRITES: Final[dict[str, Write]] = {
    "BatchWriteItem": batch_write_item,
    "CreateTable": create_table,
    "DeleteItem": delete_item,
    "DeleteTable": delete_table,
    "PutItem": put_item,
    "TagResource": tag_resource,
    "TransactWriteItems": transact_write_items,
    "UntagResource": untag_resource,
    "UpdateItem": update_item,
    "UpdateTable": update_table,
    "UpdateTimeToLive": update_time_to_live,
}
