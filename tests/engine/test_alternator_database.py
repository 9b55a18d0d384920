"""The database that answers as ScyllaDB Alternator: what it refuses, and what it does otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sortkey.engine import requests
from sortkey.engine.alternator_database import OPERATIONS, STREAM_SHARDS, AlternatorDatabase
from sortkey.engine.requests.shapes import Shape
from sortkey.errors import UnknownOperationException, ValidationException

PLAIN: dict[str, Any] = {
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "BillingMode": "PAY_PER_REQUEST",
}
INDEXED: dict[str, Any] = {
    **PLAIN,
    "AttributeDefinitions": [*PLAIN["AttributeDefinitions"], {"AttributeName": "day", "AttributeType": "S"}],
}
ITEM = {"pk": {"S": "p"}, "sk": {"S": "s"}, "day": {"S": "2026-08-24"}}


def index(name: str = "by_day", kind: str = "ALL", *keys: str) -> dict[str, Any]:
    schema = [{"AttributeName": key, "KeyType": "HASH"} for key in keys or ("day",)]
    included = {"NonKeyAttributes": ["total"]} if kind == "INCLUDE" else {}
    return {"IndexName": name, "KeySchema": schema, "Projection": {"ProjectionType": kind, **included}}


@pytest.fixture
def database() -> Iterator[AlternatorDatabase]:
    opened = AlternatorDatabase(None).start()
    yield opened
    opened.close()


@pytest.mark.parametrize("operation", sorted(requests.OPERATIONS.keys() - OPERATIONS))
def test_operations_that_alternator_does_not_have(database: AlternatorDatabase, operation: str) -> None:
    with pytest.raises(UnknownOperationException, match=f"Unsupported operation {operation}$"):
        database.execute(operation, Shape())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"SSESpecification": {"Enabled": True}}, "SSESpecification"),
        ({"TableClass": "STANDARD_INFREQUENT_ACCESS"}, "TableClass STANDARD_INFREQUENT_ACCESS"),
        ({"DeletionProtectionEnabled": True}, "DeletionProtectionEnabled"),
        ({"WarmThroughput": {"ReadUnitsPerSecond": 1, "WriteUnitsPerSecond": 1}}, "WarmThroughput"),
        ({"ResourcePolicy": "{}"}, "ResourcePolicy"),
        ({"GlobalSecondaryIndexes": [index(kind="KEYS_ONLY")]}, "ProjectionType KEYS_ONLY of index by_day"),
        ({"GlobalSecondaryIndexes": [index(kind="INCLUDE")]}, "ProjectionType INCLUDE of index by_day"),
        ({"LocalSecondaryIndexes": [index(kind="KEYS_ONLY")]}, "ProjectionType KEYS_ONLY of index by_day"),
        ({"GlobalSecondaryIndexes": [index("by_both", "ALL", "day", "sk")]}, "a key of several attributes"),
        ({"GlobalSecondaryIndexes": [index("i" * 220)]}, "an IndexName that has, with its table's, more than 222"),
        ({"TableName": "t" * 193}, "a TableName of more than 192"),
    ],
)
def test_options_of_tables_that_alternator_does_not_have(
    database: AlternatorDatabase, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValidationException, match=f"{said}.* not supported by Alternator"):
        database.call("CreateTable", {"TableName": "orders", **INDEXED, **options})
    assert database.call("ListTables", {}) == {"TableNames": []}


def test_an_index_that_is_added_has_all_attributes(database: AlternatorDatabase) -> None:
    database.call("CreateTable", {"TableName": "orders", **PLAIN})
    added = {"TableName": "orders", "AttributeDefinitions": INDEXED["AttributeDefinitions"]}
    with pytest.raises(ValidationException, match="KEYS_ONLY of index by_day"):
        database.call("UpdateTable", {**added, "GlobalSecondaryIndexUpdates": [{"Create": index(kind="KEYS_ONLY")}]})
    database.call("UpdateTable", {**added, "GlobalSecondaryIndexUpdates": [{"Create": index()}]})


# Alternator takes the parameter, and says nothing.
@pytest.mark.parametrize("asked", ["TOTAL", "INDEXES"])
def test_no_answer_has_the_consumed_capacity(database: AlternatorDatabase, asked: str) -> None:
    indexed = {"TableName": "orders", **INDEXED, "GlobalSecondaryIndexes": [index()]}
    database.call("CreateTable", indexed)
    capacity = {"ReturnConsumedCapacity": asked}
    key = {name: ITEM[name] for name in ("pk", "sk")}
    assert database.call("PutItem", {"TableName": "orders", "Item": ITEM, **capacity}) == {}
    assert database.call("GetItem", {"TableName": "orders", "Key": key, **capacity}) == {"Item": ITEM}
    found = database.call("Scan", {"TableName": "orders", **capacity})
    assert found == {"Items": [ITEM], "Count": 1, "ScannedCount": 1}
    batch = database.call("BatchGetItem", {"RequestItems": {"orders": {"Keys": [key]}}, **capacity})
    assert batch == {"Responses": {"orders": [ITEM]}, "UnprocessedKeys": {}}


def test_streams_have_many_shards_and_records_another_source(database: AlternatorDatabase) -> None:
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    made = database.call("CreateTable", {"TableName": "orders", **PLAIN, "StreamSpecification": stream})
    arn = made["TableDescription"]["LatestStreamArn"]
    database.call("PutItem", {"TableName": "orders", "Item": ITEM | {"raw": {"B": "AAE="}}})
    shards = database.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]
    assert len(shards) == STREAM_SHARDS
    with pytest.raises(ValidationException, match="ShardFilter"):
        database.call("DescribeStream", {"StreamArn": arn, "ShardFilter": {"Type": "CHILD_SHARDS"}})
    records = []
    for shard in shards:
        asked = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = database.call("GetShardIterator", asked)["ShardIterator"]
        records += database.call("GetRecords", {"ShardIterator": iterator})["Records"]
    (record,) = records
    assert record["eventSource"] == "scylladb:alternator"
    assert "SizeBytes" not in record["dynamodb"]
    assert record["dynamodb"]["NewImage"] == ITEM | {"raw": {"B": "AAE="}}
