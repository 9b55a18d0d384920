"""The shards of a table's streams, and which of them may be followed already.

A shard may be followed when its parent was followed to its end, or is no longer in the stream; so the changes of one
item come in order across splits. A table whose stream was disabled and enabled again has two streams for a day: the
older one is followed to its end first.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from sortkey.client.interface import AsyncClient


class ShardKey(NamedTuple):
    stream: str
    """The stream's ARN."""
    shard: str


class StreamShard(NamedTuple):
    key: ShardKey
    parent: str | None
    is_closed: bool


async def list_shards(client: AsyncClient, table: str) -> list[list[StreamShard]]:
    """The shards of each stream of the table, the oldest stream first."""
    labels = {each["StreamArn"]: each["StreamLabel"] for each in await _streams(client, table)}
    return [await _shards(client, arn) for arn in sorted(labels, key=lambda arn: labels[arn])]


def may_start(streams: Sequence[Sequence[StreamShard]], ended: Collection[ShardKey]) -> list[StreamShard]:
    """The shards that can be followed now: without those that have ended."""
    for shards in streams:
        unfinished = [shard for shard in shards if shard.key not in ended]
        if unfinished:
            open_parents = {shard.key.shard for shard in unfinished}
            return [shard for shard in unfinished if shard.parent not in open_parents]
    return []


async def _streams(client: AsyncClient, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    start: dict[str, str] = {}
    while True:
        answer = await client.list_streams(TableName=table, **start)
        found += answer["Streams"]
        if "LastEvaluatedStreamArn" not in answer:
            return found
        start = {"ExclusiveStartStreamArn": answer["LastEvaluatedStreamArn"]}


async def _shards(client: AsyncClient, arn: str) -> list[StreamShard]:
    found: list[StreamShard] = []
    start: dict[str, str] = {}
    while True:
        answer = await client.describe_stream(StreamArn=arn, **start)
        description = answer["StreamDescription"]
        found += [_shard(arn, each) for each in description["Shards"]]
        if "LastEvaluatedShardId" not in description:
            return found
        start = {"ExclusiveStartShardId": description["LastEvaluatedShardId"]}


def _shard(arn: str, shape: dict[str, Any]) -> StreamShard:
    is_closed = "EndingSequenceNumber" in shape["SequenceNumberRange"]
    return StreamShard(ShardKey(arn, shape["ShardId"]), shape.get("ParentShardId"), is_closed)
