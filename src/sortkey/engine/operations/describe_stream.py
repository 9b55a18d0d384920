"""DescribeStream: a stream, its shards and their parents."""

from __future__ import annotations

from typing import Any, Final

from sortkey.engine.core import Answer, Core
from sortkey.engine.requests.streams import DescribeStream, ShardFilter
from sortkey.engine.streams import stream_reader
from sortkey.engine.tables.catalog_entries import ShardEntry
from sortkey.engine.tables.table import Table
from sortkey.errors import ValidationException

PAGE: Final = 100


def describe_stream(core: Core, request: DescribeStream) -> Answer:
    start = request.exclusive_start_shard_id or ""
    limit = request.limit or PAGE
    parent = _parent(request.shard_filter)
    with core.read() as snapshot:
        stream = stream_reader.find(core, snapshot, request.stream_arn)
    found = [
        shard
        for shard in stream.shards(core.clock.now())
        if shard.id > start and (parent is None or shard.parent == parent)
    ]
    page = found[:limit]
    shape = _shape(stream) | {"Shards": [_shard(shard) for shard in page]}
    if len(found) > limit:
        shape["LastEvaluatedShardId"] = page[-1].id
    return {"StreamDescription": shape}


def _parent(shard_filter: ShardFilter | None) -> str | None:
    """The shard whose children are requested; None for all shards."""
    if shard_filter is None:
        return None
    if shard_filter.type is None or shard_filter.shard_id is None:
        raise ValidationException("One or more parameter values were invalid: ShardFilter needs both Type and ShardId")
    return shard_filter.shard_id


def _shape(stream: stream_reader.Stream) -> dict[str, Any]:
    entry = stream.entry
    return {
        "StreamArn": stream.arn,
        "StreamLabel": entry.label,
        "StreamStatus": "ENABLED" if entry.disabled is None else "DISABLED",
        "StreamViewType": entry.view_type,
        "CreationRequestDateTime": entry.created,
        "TableName": stream.table.name,
        "KeySchema": _key_schema(stream.table),
    }


def _key_schema(table: Table) -> list[dict[str, str]]:
    return [
        {"AttributeName": name, "KeyType": key_type}
        for name, key_type in zip(table.names, ("HASH", "RANGE"), strict=False)
    ]


def _shard(shard: ShardEntry) -> dict[str, Any]:
    numbers = {"StartingSequenceNumber": stream_reader.sequence_text(shard.first_sequence)}
    if shard.last_sequence is not None:
        numbers["EndingSequenceNumber"] = stream_reader.sequence_text(shard.last_sequence)
    shape: dict[str, Any] = {"ShardId": shard.id, "SequenceNumberRange": numbers}
    if shard.parent is not None:
        shape["ParentShardId"] = shard.parent
    return shape
