"""Reads a table's stream as a consumer does: parents before children, each shard to its end."""

from __future__ import annotations

from typing import Any

from sortkey.client import Client
from tests.engine.faults.orders import ORDERS

STREAMED = {**ORDERS, "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}


def shards_of(client: Client) -> list[dict[str, Any]]:
    arn = client.list_streams(TableName="orders")["Streams"][0]["StreamArn"]
    described = client.describe_stream(StreamArn=arn)["StreamDescription"]
    shards: list[dict[str, Any]] = described["Shards"]
    while "LastEvaluatedShardId" in described:
        described = client.describe_stream(StreamArn=arn, ExclusiveStartShardId=described["LastEvaluatedShardId"])[
            "StreamDescription"
        ]
        shards += described["Shards"]
    return shards


def first_page(client: Client, shard: str) -> list[int]:
    """The sequence numbers of a shard's first page."""
    return pages_of(client, shard, 0)[0]


def pages_of(client: Client, shard: str, records: int, limit: int = 1000) -> list[list[int]]:
    """The sequence numbers that each GetRecords delivers, until so many different ones are read."""
    arn = client.list_streams(TableName="orders")["Streams"][0]["StreamArn"]
    iterator: str | None = client.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")[
        "ShardIterator"
    ]
    pages: list[list[int]] = []
    while not pages or len({sequence for page in pages for sequence in page}) < records:
        assert iterator is not None
        answer = client.get_records(ShardIterator=iterator, Limit=limit)
        pages.append([int(record["dynamodb"]["SequenceNumber"]) for record in answer["Records"]])
        iterator = answer.get("NextShardIterator")
    return pages
