"""What each operation of the service model does here, in one line: the table in docs/compatibility.md."""

from __future__ import annotations

from typing import Final

LINES: Final = {
    "BatchGetItem": "reads up to 100 items of any tables",
    "BatchWriteItem": "puts and deletes up to 25 items, in one transaction",
    "CreateTable": "creates a table, which is ACTIVE at once",
    "DeleteItem": "deletes an item by its key",
    "DeleteResourcePolicy": "detaches a policy",
    "DeleteTable": "deletes a table; its space is freed in the background",
    "DescribeContinuousBackups": "answers that backups are enabled and point-in-time recovery is not",
    "DescribeContributorInsights": "answers DISABLED",
    "DescribeEndpoints": "returns the name that AWS has for the region",
    "DescribeGlobalTable": "answers that there is none",
    "DescribeGlobalTableSettings": "answers that there is none",
    "DescribeKinesisStreamingDestination": "lists no destination",
    "DescribeLimits": "returns AWS's default quotas, which are not enforced",
    "DescribeStream": "describes a stream and its shards",
    "DescribeTable": "describes a table, with exact counts",
    "DescribeTableReplicaAutoScaling": "lists no replica",
    "DescribeTimeToLive": "describes the TTL setting",
    "GetItem": "reads an item by its key; always consistent",
    "GetRecords": "reads records of a shard",
    "GetResourcePolicy": "returns a policy and its revision",
    "GetShardIterator": "returns a position in a shard",
    "ListBackups": "lists none",
    "ListContributorInsights": "lists none",
    "ListExports": "lists none",
    "ListGlobalTables": "lists none",
    "ListImports": "lists none",
    "ListStreams": "lists the streams, those disabled within a day too",
    "ListTables": "lists the tables",
    "ListTagsOfResource": "lists a table's tags",
    "PutItem": "creates or replaces an item",
    "PutResourcePolicy": "attaches a policy, which `sortkey db --keys` enforces",
    "Query": "reads a partition of a table or index in order, by pages",
    "Scan": "reads a table or index by pages, in parallel segments if asked",
    "SearchVectors": "returns the most similar items of a vector index",
    "TagResource": "adds tags to a table",
    "TransactGetItems": "reads up to 100 items in one snapshot",
    "TransactWriteItems": "writes up to 100 items, all or none",
    "UntagResource": "removes tags of a table",
    "UpdateContinuousBackups": "rejects enabling point-in-time recovery",
    "UpdateItem": "changes attributes of an item",
    "UpdateTable": "changes indexes, streams, billing and settings",
    "UpdateTimeToLive": "switches TTL; items expire within seconds",
}

REJECTED: Final = "rejected: `UnknownOperationException`"
"""The line of an operation that is not supported."""
