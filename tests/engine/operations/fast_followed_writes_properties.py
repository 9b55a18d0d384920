"""On the fast path, writes into a table with indexes, a stream and TTL leave what they leave on the general path."""

from __future__ import annotations

from contextlib import closing
from typing import Any, Final

import orjson
from hypothesis import given, strategies

from sortkey.engine import requests
from sortkey.engine.check.database_check import check_database
from sortkey.engine.database import Database
from sortkey.engine.operations.fast_path import FAST_WRITES, FastAnswer
from sortkey.errors import DynamoDBError

TYPES: Final = {"id": "S", "at": "S", "city": "S", "score": "N", "mark": "B"}
INDEXES: Final[dict[str, tuple[tuple[str, ...], dict[str, Any]]]] = {
    "by-city": (("city", "score"), {"ProjectionType": "ALL"}),
    "by-score": (("score",), {"ProjectionType": "KEYS_ONLY"}),
    "by-order": (("at", "score"), {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["note"]}),
    "by-mark": (("city", "mark"), {"ProjectionType": "ALL"}),
}


def create(database: Database, table: str, indexes: tuple[str, ...], view: str | None) -> None:
    used = {"id", "at"}.union(*(INDEXES[name][0] for name in indexes))
    made = [
        {
            "IndexName": name,
            "KeySchema": key_schema(*INDEXES[name][0]),
            "Projection": INDEXES[name][1],
        }
        for name in indexes
    ]
    definition: dict[str, Any] = {
        "TableName": table,
        "KeySchema": key_schema("id", "at"),
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": TYPES[name]} for name in sorted(used)],
        "BillingMode": "PAY_PER_REQUEST",
    }
    if made:
        definition["GlobalSecondaryIndexes"] = made
    if view is not None:
        definition["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view}
    database.call("CreateTable", definition)
    expiry = {"Enabled": True, "AttributeName": "until"}
    database.call("UpdateTimeToLive", {"TableName": table, "TimeToLiveSpecification": expiry})
    # The fast path knows only tables that a request has seen.
    database.call("Scan", {"TableName": table})


def key_schema(*names: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)]


keys = strategies.sampled_from([{"id": {"S": "é"}, "at": {"S": at}} for at in ("1", "2")])
numbers = strategies.sampled_from(["0", "-3", "70", "7", "1.50", "1e3", "0.002", "12345678901234567890"])
attributes = strategies.fixed_dictionaries(
    {},
    optional={
        "city": strategies.sampled_from([{"S": "Ulm"}, {"S": "Köln"}, {"S": "x" * 300}, {"S": ""}, {"N": "1"}]),
        "score": numbers.map(lambda text: {"N": text}) | strategies.just({"S": "7"}),
        "mark": strategies.sampled_from([{"B": "AAE="}, {"B": ""}]),
        "note": strategies.sampled_from([{"S": "a"}, {"S": "b" * 2_000}, {"B": "AAE="}, {"SS": ["b", "a"]}]),
        "until": strategies.sampled_from([{"N": "2000000000"}, {"S": "never"}]),
    },
)
puts = strategies.builds(lambda key, more: ("PutItem", {"Item": key | more}), keys, attributes)
changes = strategies.sampled_from(
    [
        {"UpdateExpression": "ADD score :v", "ExpressionAttributeValues": {":v": {"N": "1"}}},
        {"UpdateExpression": "SET city = :v", "ExpressionAttributeValues": {":v": {"S": "Ulm"}}},
        {"UpdateExpression": "SET city = :v", "ExpressionAttributeValues": {":v": {"S": ""}}},
        {"UpdateExpression": "SET note = city, until = :v", "ExpressionAttributeValues": {":v": {"N": "7"}}},
        {"UpdateExpression": "REMOVE city, note", "ConditionExpression": "attribute_exists(city)"},
    ]
)
updates = strategies.builds(lambda key, change: ("UpdateItem", {"Key": key} | change), keys, changes)


def fast_answer(database: Database, operation: str, members: dict[str, Any]) -> dict[str, Any]:
    work = FAST_WRITES[operation](database, orjson.dumps(members))
    if work is None:
        return general_answer(database, operation, members)
    try:
        answer = database.store.write(work)
    except DynamoDBError as error:
        return {"code": error.code, "message": error.message}
    assert isinstance(answer, FastAnswer)
    assert answer.text == b"{}"
    return {"units": [*answer.units.values()]}


def general_answer(database: Database, operation: str, members: dict[str, Any]) -> dict[str, Any]:
    try:
        request = requests.decode(operation, orjson.dumps(members | {"ReturnConsumedCapacity": "TOTAL"}))
        answer = database.execute(operation, request)
    except DynamoDBError as error:
        return {"code": error.code, "message": error.message}
    return {"units": [answer["ConsumedCapacity"]["CapacityUnits"]]}


def left(database: Database, table: str, indexes: tuple[str, ...]) -> dict[str, Any]:
    """What is in the table, its indexes and its stream."""
    scans = {name: {"IndexName": name} for name in indexes} | {"": {}}
    rows = {name: database.call("Scan", {"TableName": table} | index)["Items"] for name, index in scans.items()}
    described = database.call("DescribeTable", {"TableName": table})["Table"]
    sizes = [described["TableSizeBytes"]]
    sizes += [each["IndexSizeBytes"] for each in described.get("GlobalSecondaryIndexes", [])]
    return {"rows": rows, "sizes": sizes, "records": records_of(database, described.get("LatestStreamArn"))}


def records_of(database: Database, arn: str | None) -> list[dict[str, Any]]:
    if arn is None:
        return []
    (shard,) = database.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]
    where = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    records = database.call("GetRecords", database.call("GetShardIterator", where))["Records"]
    own = ("SequenceNumber", "ApproximateCreationDateTime")
    changes = [{name: value for name, value in each["dynamodb"].items() if name not in own} for each in records]
    return [{"name": each["eventName"]} | change for each, change in zip(records, changes, strict=True)]


@given(
    writes=strategies.lists(puts | updates, min_size=1, max_size=8),
    indexes=strategies.sets(strategies.sampled_from([*INDEXES]), max_size=3).map(lambda names: tuple(sorted(names))),
    view=strategies.sampled_from(["NEW_AND_OLD_IMAGES", "NEW_IMAGE", "OLD_IMAGE", "KEYS_ONLY", None]),
)
def test_fast_and_general_path_agree(
    writes: list[tuple[str, dict[str, Any]]], indexes: tuple[str, ...], view: str | None
) -> None:
    with closing(Database(None)) as database:
        for table in ("fast", "general"):
            create(database, table, indexes, view)
        for operation, members in writes:
            fast = fast_answer(database, operation, {"TableName": "fast"} | members)
            assert fast == general_answer(database, operation, {"TableName": "general"} | members)
        assert left(database, "fast", indexes) == left(database, "general", indexes)
        assert check_database(database).problems == []


# A fast path that no request takes would pass the test above.
def test_common_requests_take_the_fast_path() -> None:
    with closing(Database(None)) as database:
        create(database, "fast", ("by-city", "by-mark"), "NEW_AND_OLD_IMAGES")
        item = {"id": {"S": "a"}, "at": {"S": "1"}, "city": {"S": "Ulm"}, "score": {"N": "7"}}
        change = {"UpdateExpression": "ADD score :v", "ExpressionAttributeValues": {":v": {"N": "1"}}}
        key = {name: item[name] for name in ("id", "at")}
        for operation, members in (("PutItem", {"Item": item}), ("UpdateItem", {"Key": key} | change)):
            work = FAST_WRITES[operation](database, orjson.dumps({"TableName": "fast"} | members))
            assert work is not None
            assert isinstance(database.store.write(work), FastAnswer)
        assert len(left(database, "fast", ())["records"]) == 2
