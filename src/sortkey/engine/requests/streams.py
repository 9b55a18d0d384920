"""Requests about streams: ListStreams, DescribeStream, GetShardIterator, GetRecords."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from sortkey import limits
from sortkey.engine.requests.shapes import Shape, StrictTableName, Timestamp

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
