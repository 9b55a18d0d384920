"""Streams: what each view type shows of each change, and how a shard is read."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.both import in_turn
from tests.oracle.canonical import canonical
from tests.oracle.pair import Pair, Side
from tests.oracle.tables import table

# Streams outlive their tables.
pytestmark = [pytest.mark.own_namespace, in_turn]

VIEWS = ["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]
KEY = {"pk": {"S": "a"}, "sk": {"N": "1"}}


def streamed(view: str) -> dict[str, Any]:
    stream = {"StreamEnabled": True, "StreamViewType": view}
    return table("streamed", "pk", "sk", types="sk:N", StreamSpecification=stream)


def arn_of(side: Side) -> str:
    described: str = side.call("DescribeTable", {"TableName": "streamed"})["Table"]["LatestStreamArn"]
    return described


def shards_of(side: Side) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = side.call("DescribeStream", {"StreamArn": arn_of(side)})["StreamDescription"][
        "Shards"
    ]
    return found


def records_of(side: Side) -> list[dict[str, Any]]:
    """All records of all shards, in the order in which they were written."""
    records: list[dict[str, Any]] = []
    for shard in shards_of(side):
        start = {"StreamArn": arn_of(side), "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = side.call("GetShardIterator", start)["ShardIterator"]
        records += side.call("GetRecords", {"ShardIterator": iterator})["Records"]
    return sorted(records, key=lambda record: int(record["dynamodb"]["SequenceNumber"]))


def comparable(side: Side) -> list[Any]:
    """Records without the region, and with the size as AWS counts it apart."""
    return [
        canonical("GetRecords", {name: value for name, value in record.items() if name != "awsRegion"})
        for record in records_of(side)
    ]


def change(pair: Pair) -> None:
    """Every type of change, and some that change nothing."""
    pair.answer("PutItem", TableName="streamed", Item=KEY | {"a": {"S": "1"}, "l": {"L": [{"N": "1"}]}})
    pair.answer("PutItem", TableName="streamed", Item=KEY | {"a": {"S": "1"}, "l": {"L": [{"N": "1"}]}})
    pair.answer("PutItem", TableName="streamed", Item=KEY | {"a": {"S": "2"}})
    pair.answer("UpdateItem", TableName="streamed", Key=KEY, UpdateExpression="SET b = a")
    pair.answer("UpdateItem", TableName="streamed", Key=KEY, UpdateExpression="SET b = a")
    pair.answer("UpdateItem", TableName="streamed", Key=KEY, UpdateExpression="REMOVE gone")
    pair.answer("UpdateItem", TableName="streamed", Key=KEY)
    pair.answer("DeleteItem", TableName="streamed", Key=KEY)
    pair.answer("DeleteItem", TableName="streamed", Key=KEY)
    pair.answer("UpdateItem", TableName="streamed", Key=KEY)
    other = KEY | {"sk": {"N": "2"}}
    pair.answer(
        "BatchWriteItem", RequestItems={"streamed": [{"PutRequest": {"Item": other | {"s": {"SS": ["b", "a"]}}}}]}
    )
    remove = {"Delete": {"TableName": "streamed", "Key": other}}
    pair.answer("TransactWriteItems", TransactItems=[remove])


@pytest.mark.parametrize("view", VIEWS)
def test_records(pair: Pair, view: str) -> None:
    pair.create(streamed(view))
    change(pair)
    ours, theirs = comparable(pair.ours), comparable(pair.theirs)
    assert ours == theirs


@pytest.mark.parametrize("view", VIEWS)
def test_descriptions(pair: Pair, view: str) -> None:
    pair.create(streamed(view))
    pair.answer("ListStreams")
    pair.answer("ListStreams", TableName="streamed")
    pair.answer("ListStreams", TableName="missing")
    described = [
        side.call("DescribeStream", {"StreamArn": arn_of(side)})["StreamDescription"]
        for side in (pair.ours, pair.theirs)
    ]
    for description in described:
        del description["Shards"]
    ours, theirs = (canonical("DescribeStream", description) for description in described)
    assert ours == theirs


# Each side gets its own iterators; the number of records must be the same.
@pytest.mark.parametrize("iterator_type", ["TRIM_HORIZON", "LATEST", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"])
def test_iterators(pair: Pair, iterator_type: str) -> None:
    pair.create(streamed("KEYS_ONLY"))
    for number in range(5):
        pair.answer("PutItem", TableName="streamed", Item={"pk": {"S": "same"}, "sk": {"N": str(number)}})
    counts = []
    for side in (pair.ours, pair.theirs):
        records = records_of(side)
        third = records[2]["dynamodb"]["SequenceNumber"]
        start: dict[str, Any] = {"StreamArn": arn_of(side), "ShardIteratorType": iterator_type}
        if iterator_type.endswith("NUMBER"):
            start["SequenceNumber"] = third
        counts.append(max(_count(side, start | {"ShardId": shard["ShardId"]}, 2) for shard in _with(side, third)))
    assert counts[0] == counts[1]


def _with(side: Side, sequence: str) -> list[dict[str, Any]]:
    """The shard with a record. A partition is in one shard, so that shard has all records of this test."""
    found = []
    for shard in shards_of(side):
        start = {"StreamArn": arn_of(side), "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = side.call("GetShardIterator", start)["ShardIterator"]
        records = side.call("GetRecords", {"ShardIterator": iterator})["Records"]
        if any(record["dynamodb"]["SequenceNumber"] == sequence for record in records):
            found.append(shard)
    return found


def _count(side: Side, start: dict[str, Any], limit: int) -> int:
    """Records from there on, fetched a few at a time until an open shard has no more."""
    iterator = side.call("GetShardIterator", start)["ShardIterator"]
    count = 0
    while True:
        page = side.call("GetRecords", {"ShardIterator": iterator, "Limit": limit})
        count += len(page["Records"])
        if not page["Records"]:
            return count
        iterator = page["NextShardIterator"]


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("DescribeStream", {}),
        ("DescribeStream", {"StreamArn": "x"}),
        ("GetRecords", {}),
        ("GetRecords", {"ShardIterator": "x"}),
        ("GetShardIterator", {}),
        ("ListStreams", {"Limit": 0}),
        ("ListStreams", {"Limit": 101}),
    ],
    ids=str,
)
def test_requests_that_are_rejected(pair: Pair, operation: str, members: dict[str, Any]) -> None:
    pair.same(operation, **members)
