"""The shards that a table's streams have, as DescribeStream lists them."""

from __future__ import annotations

from typing import Any, NamedTuple

from sortkey.model.calls.steps import Call, Context, Steps


class ListedShard(NamedTuple):
    stream: str
    """The ARN of its stream; a table has several if its stream was disabled and enabled again."""
    id: str
    parent: str | None


def listed_shards(context: Context, table: str) -> Steps[list[ListedShard]]:
    """All shards of all streams of a table, parents before their children."""
    shards = []
    for stream in (yield from _streams(context, table)):
        start: dict[str, Any] = {}
        while True:
            call = Call("DescribeStream", {"StreamArn": stream, **start}, f"shards of {table}")
            described = (yield from context.with_retries(call))["StreamDescription"]
            shards += [ListedShard(stream, each["ShardId"], each.get("ParentShardId")) for each in described["Shards"]]
            if "LastEvaluatedShardId" not in described:
                break
            start = {"ExclusiveStartShardId": described["LastEvaluatedShardId"]}
    return shards


def _streams(context: Context, table: str) -> Steps[list[str]]:
    streams = []
    start: dict[str, Any] = {}
    while True:
        call = Call("ListStreams", {"TableName": table, **start}, f"shards of {table}")
        answer = yield from context.with_retries(call)
        streams += [each["StreamArn"] for each in answer["Streams"]]
        if "LastEvaluatedStreamArn" not in answer:
            return streams
        start = {"ExclusiveStartStreamArn": answer["LastEvaluatedStreamArn"]}
