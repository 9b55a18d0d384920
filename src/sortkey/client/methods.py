"""The methods of both clients, each declared once: boto3's names, with DynamoDB's members as keyword arguments.

The sync client's methods return the answer (`R` is a dictionary), the async client's a coroutine of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

R = TypeVar("R")


class Methods(ABC, Generic[R]):
    @abstractmethod
    def _call(self, operation: str, members: dict[str, Any]) -> R:
        """Carry out one operation."""

    # Items

    def get_item(self, **members: Any) -> R:
        """One item by its key."""
        return self._call("GetItem", members)

    def put_item(self, **members: Any) -> R:
        """Create an item, or replace it as a whole."""
        return self._call("PutItem", members)

    def update_item(self, **members: Any) -> R:
        """Change attributes of one item, which is created when missing."""
        return self._call("UpdateItem", members)

    def delete_item(self, **members: Any) -> R:
        """Remove one item by its key."""
        return self._call("DeleteItem", members)

    def query(self, **members: Any) -> R:
        """The items of one partition in sort key order, a page at a time."""
        return self._call("Query", members)

    def scan(self, **members: Any) -> R:
        """All items of a table or index, a page at a time."""
        return self._call("Scan", members)

    def search_vectors(self, **members: Any) -> R:
        """The items of a vector index that are most similar to a vector."""
        return self._call("SearchVectors", members)

    def batch_get_item(self, **members: Any) -> R:
        """Up to 100 items by their keys, from any tables."""
        return self._call("BatchGetItem", members)

    def batch_write_item(self, **members: Any) -> R:
        """Up to 25 puts and deletes, without a transaction."""
        return self._call("BatchWriteItem", members)

    def transact_get_items(self, **members: Any) -> R:
        """Up to 100 items, as of one moment."""
        return self._call("TransactGetItems", members)

    def transact_write_items(self, **members: Any) -> R:
        """Up to 100 writes and checks, all or none."""
        return self._call("TransactWriteItems", members)

    # PartiQL

    def execute_statement(self, **members: Any) -> R:
        """One statement: a SELECT, a page at a time, or a write of one item."""
        return self._call("ExecuteStatement", members)

    def batch_execute_statement(self, **members: Any) -> R:
        """Up to 25 statements, all reads or all writes, each with its own result."""
        return self._call("BatchExecuteStatement", members)

    def execute_transaction(self, **members: Any) -> R:
        """Up to 100 statements, all reads or all writes, all or none."""
        return self._call("ExecuteTransaction", members)

    # Tables

    def create_table(self, **members: Any) -> R:
        """Create a table; it can be used at once."""
        return self._call("CreateTable", members)

    def describe_table(self, **members: Any) -> R:
        """A table's keys, indexes, settings and size."""
        return self._call("DescribeTable", members)

    def list_tables(self, **members: Any) -> R:
        """The names of the tables, in order, a page at a time."""
        return self._call("ListTables", members)

    def update_table(self, **members: Any) -> R:
        """Change a table's settings, or create or drop one of its global indexes."""
        return self._call("UpdateTable", members)

    def delete_table(self, **members: Any) -> R:
        """Remove a table and everything in it."""
        return self._call("DeleteTable", members)

    def update_time_to_live(self, **members: Any) -> R:
        """Choose the attribute that holds an item's expiry time, or disable expiry."""
        return self._call("UpdateTimeToLive", members)

    def describe_time_to_live(self, **members: Any) -> R:
        """The attribute that holds an item's expiry time."""
        return self._call("DescribeTimeToLive", members)

    def tag_resource(self, **members: Any) -> R:
        """Add tags to a table."""
        return self._call("TagResource", members)

    def untag_resource(self, **members: Any) -> R:
        """Remove tags from a table."""
        return self._call("UntagResource", members)

    def list_tags_of_resource(self, **members: Any) -> R:
        """A table's tags."""
        return self._call("ListTagsOfResource", members)

    # Streams (boto3 has these on a client of their own)

    def list_streams(self, **members: Any) -> R:
        """The streams of all tables, or of one table."""
        return self._call("ListStreams", members)

    def describe_stream(self, **members: Any) -> R:
        """A stream's state and shards."""
        return self._call("DescribeStream", members)

    def get_shard_iterator(self, **members: Any) -> R:
        """An iterator: a position in a shard to read from."""
        return self._call("GetShardIterator", members)

    def get_records(self, **members: Any) -> R:
        """The records from an iterator on, and the next iterator."""
        return self._call("GetRecords", members)

    # Backups

    def create_backup(self, **members: Any) -> R:
        """Begin a backup of a table as it is now."""
        return self._call("CreateBackup", members)

    def describe_backup(self, **members: Any) -> R:
        """A backup, and the table that it is of."""
        return self._call("DescribeBackup", members)

    def list_backups(self, **members: Any) -> R:
        """The backups of all tables, or of one table, a page at a time."""
        return self._call("ListBackups", members)

    def delete_backup(self, **members: Any) -> R:
        """Remove a backup."""
        return self._call("DeleteBackup", members)

    def restore_table_from_backup(self, **members: Any) -> R:
        """Create a table that has the items of a backup."""
        return self._call("RestoreTableFromBackup", members)

    def update_continuous_backups(self, **members: Any) -> R:
        """Enable or disable point-in-time recovery."""
        return self._call("UpdateContinuousBackups", members)

    def describe_continuous_backups(self, **members: Any) -> R:
        """The times of which a table can be restored."""
        return self._call("DescribeContinuousBackups", members)

    def restore_table_to_point_in_time(self, **members: Any) -> R:
        """Create a table that has the items that another one had at a time."""
        return self._call("RestoreTableToPointInTime", members)

    # Buckets

    def export_table_to_point_in_time(self, **members: Any) -> R:
        """Begin to write a table's items, or their changes, to a bucket."""
        return self._call("ExportTableToPointInTime", members)

    def describe_export(self, **members: Any) -> R:
        """An export: its state, and what it has written."""
        return self._call("DescribeExport", members)

    def list_exports(self, **members: Any) -> R:
        """The exports of all tables, or of one table, a page at a time."""
        return self._call("ListExports", members)

    def import_table(self, **members: Any) -> R:
        """Begin to fill a new table with what is in a bucket."""
        return self._call("ImportTable", members)

    def describe_import(self, **members: Any) -> R:
        """An import: its state, and its errors."""
        return self._call("DescribeImport", members)

    def list_imports(self, **members: Any) -> R:
        """The imports into all tables, or into one table, a page at a time."""
        return self._call("ListImports", members)

    # Features that no table here has: each answers like a table without it

    def describe_limits(self, **members: Any) -> R:
        """The account's quotas."""
        return self._call("DescribeLimits", members)

    def describe_endpoints(self, **members: Any) -> R:
        """Where the service is reached."""
        return self._call("DescribeEndpoints", members)

    def update_contributor_insights(self, **members: Any) -> R:
        """Switch insights."""
        return self._call("UpdateContributorInsights", members)

    def describe_contributor_insights(self, **members: Any) -> R:
        """Whether insights are collected."""
        return self._call("DescribeContributorInsights", members)

    def enable_kinesis_streaming_destination(self, **members: Any) -> R:
        """Copy a table's changes to a Kinesis stream."""
        return self._call("EnableKinesisStreamingDestination", members)

    def disable_kinesis_streaming_destination(self, **members: Any) -> R:
        """Stop copying a table's changes."""
        return self._call("DisableKinesisStreamingDestination", members)

    def update_kinesis_streaming_destination(self, **members: Any) -> R:
        """Change how changes are copied."""
        return self._call("UpdateKinesisStreamingDestination", members)

    def describe_kinesis_streaming_destination(self, **members: Any) -> R:
        """Where changes are copied to."""
        return self._call("DescribeKinesisStreamingDestination", members)

    def describe_table_replica_auto_scaling(self, **members: Any) -> R:
        """How replicas scale."""
        return self._call("DescribeTableReplicaAutoScaling", members)

    def update_table_replica_auto_scaling(self, **members: Any) -> R:
        """Change how replicas scale."""
        return self._call("UpdateTableReplicaAutoScaling", members)

    def create_global_table(self, **members: Any) -> R:
        """Make a table global."""
        return self._call("CreateGlobalTable", members)

    def update_global_table(self, **members: Any) -> R:
        """Add and remove replicas."""
        return self._call("UpdateGlobalTable", members)

    def update_global_table_settings(self, **members: Any) -> R:
        """Change a global table's settings."""
        return self._call("UpdateGlobalTableSettings", members)

    def describe_global_table(self, **members: Any) -> R:
        """A global table's replicas."""
        return self._call("DescribeGlobalTable", members)

    def describe_global_table_settings(self, **members: Any) -> R:
        """A global table's settings."""
        return self._call("DescribeGlobalTableSettings", members)

    def put_resource_policy(self, **members: Any) -> R:
        """Attach a policy to a table or a stream."""
        return self._call("PutResourcePolicy", members)

    def get_resource_policy(self, **members: Any) -> R:
        """The policy of a table or a stream."""
        return self._call("GetResourcePolicy", members)

    def delete_resource_policy(self, **members: Any) -> R:
        """Detach the policy of a table or a stream."""
        return self._call("DeleteResourcePolicy", members)

    def list_contributor_insights(self, **members: Any) -> R:
        """The tables with insights."""
        return self._call("ListContributorInsights", members)

    def list_global_tables(self, **members: Any) -> R:
        """The global tables."""
        return self._call("ListGlobalTables", members)
