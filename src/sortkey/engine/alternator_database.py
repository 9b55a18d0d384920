"""A database that answers as ScyllaDB Alternator does, to try programs that shall run there.

It has what Alternator's documentation lists, and refuses what that says is missing; docs/stores.md has the list with
its sources. As a database with faults, it differs by its class, which is chosen when it is opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from sortkey.clock import Clock
from sortkey.engine.database import Database
from sortkey.engine.requests.shapes import Shape
from sortkey.engine.requests.tables import CreateTable, SecondaryIndex, UpdateTable
from sortkey.engine.rows.stored_item import Json
from sortkey.engine.tables.core import Answer, Settings, Work
from sortkey.errors import UnknownOperationException, ValidationException

OPERATIONS: Final = frozenset(
    {
        "BatchGetItem",
        "BatchWriteItem",
        "CreateTable",
        "DeleteItem",
        "DeleteTable",
        "DescribeEndpoints",
        "DescribeStream",
        "DescribeTable",
        "DescribeTimeToLive",
        "GetItem",
        "GetRecords",
        "GetShardIterator",
        "ListStreams",
        "ListTables",
        "ListTagsOfResource",
        "PutItem",
        "Query",
        "Scan",
        "TagResource",
        "UntagResource",
        "UpdateItem",
        "UpdateTable",
        "UpdateTimeToLive",
    }
)
"""Those whose permissions the documentation lists. It also says that DescribeContinuousBackups is not supported."""
STREAM_SHARDS: Final = 8
"""Alternator's streams have many more."""
MAX_TABLE_NAME: Final = 192
MAX_INDEX_NAMES: Final = 222
"""The name of a table, that of an index, and the separator between them."""


class AlternatorDatabase(Database):
    sees_every_request = True
    product = "Seastar httpd"

    def __init__(self, path: Path | None, clock: Clock | None = None, settings: Settings | None = None) -> None:
        super().__init__(path, clock, msgspec.structs.replace(settings or Settings(), stream_shards=STREAM_SHARDS))

    def execute(self, operation: str, request: Shape) -> Answer:
        _check(operation, request)
        answer = super().execute(operation, request)
        if operation == "GetRecords":
            answer["Records"] = _as_alternator_sends(answer["Records"])
        return answer

    def plan(self, operation: str, request: Shape) -> Work:
        _check(operation, request)
        return super().plan(operation, request)


def _check(operation: str, request: Any) -> None:
    """Rejects what Alternator lacks, and leaves out what it ignores."""
    if operation not in OPERATIONS:
        raise UnknownOperationException(f"Unsupported operation {operation}")
    if "return_consumed_capacity" in request.__struct_fields__:
        request.return_consumed_capacity = None
    if isinstance(request, CreateTable | UpdateTable):
        for lacking in _lacking(request):
            raise ValidationException(f"{lacking} is not supported by Alternator")
    if operation == "DescribeStream" and request.shard_filter is not None:
        raise ValidationException("ShardFilter is not supported by Alternator")


def _lacking(request: CreateTable | UpdateTable) -> Iterator[str]:
    """The options of a table, and of its indexes, that Alternator does not have."""
    if request.sse_specification is not None and request.sse_specification.enabled:
        yield "SSESpecification"
    if request.table_class not in (None, "STANDARD"):
        yield f"TableClass {request.table_class}"
    if request.deletion_protection_enabled:
        yield "DeletionProtectionEnabled"
    if request.warm_throughput is not None:
        yield "WarmThroughput"
    if isinstance(request, UpdateTable):
        if request.replica_updates is not None:
            yield "ReplicaUpdates"
        if request.multi_region_consistency is not None:
            yield "MultiRegionConsistency"
        if request.vector_index_updates is not None:
            yield "VectorIndexUpdates"
        created = [each.create for each in request.global_secondary_index_updates or () if each.create is not None]
        yield from _lacking_in_indexes(request.table_name, created, 1)
        return
    if request.resource_policy is not None:
        yield "ResourcePolicy"
    if request.vector_indexes is not None:
        yield "VectorIndexes"
    if len(request.table_name) > MAX_TABLE_NAME:
        yield f"a TableName of more than {MAX_TABLE_NAME} characters"
    yield from _lacking_in_indexes(request.table_name, request.global_secondary_indexes or (), 1)
    yield from _lacking_in_indexes(request.table_name, request.local_secondary_indexes or (), 2)


def _lacking_in_indexes(table: str, indexes: Iterable[SecondaryIndex], separator: int) -> Iterator[str]:
    for index in indexes:
        kind = index.projection.projection_type
        if kind not in (None, "ALL"):
            yield f"ProjectionType {kind} of index {index.index_name}"
        if len({each.key_type for each in index.key_schema}) < len(index.key_schema):
            yield f"a key of several attributes of index {index.index_name}"
        if len(table) + len(index.index_name) + separator > MAX_INDEX_NAMES:
            yield f"an IndexName that has, with its table's, more than {MAX_INDEX_NAMES} characters"


def _as_alternator_sends(records: Json) -> Json:
    """The records of a stream, with another source and without their sizes."""
    found = msgspec.json.decode(records.text)
    for record in found:
        record["eventSource"] = "scylladb:alternator"
        record["dynamodb"].pop("SizeBytes", None)
    return Json(msgspec.json.encode(found), records.binary)
