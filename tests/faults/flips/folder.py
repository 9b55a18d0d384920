"""A small folder with everything in it, and every question that a reader can ask of it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from sortkey.clock import ManualClock
from sortkey.engine.database import Database
from sortkey.engine.operations.fast_path import FAST_READS, FastAnswer
from sortkey.engine.operations.slices import finish
from sortkey.engine.streams.stream_writer import reshard

NOW = 1_750_000_000.0
PARTITIONS = 8
ORDERS = 24
BATCH = 25
LONG = 9_000
"""Bytes of a value that needs pages of its own."""

STORED = "everything stored"
"""Not a question of a reader: the keys and values themselves, some of which answer nothing."""

Answers = dict[str, Any]


def write_folder(folder: Path) -> None:
    """Tables with and without indexes, stream and TTL; long values, tokens, garbage, free pages."""
    database = Database(folder, ManualClock(NOW))
    for name in ("orders", "plain", "dropped"):
        database.call("CreateTable", _table(name, followed=name == "orders"))
        for customer in range(PARTITIONS):
            _put(database, name, [_order(customer, number) for number in range(ORDERS)])
    ttl = {"AttributeName": "ends", "Enabled": True}
    database.call("UpdateTimeToLive", {"TableName": "orders", "TimeToLiveSpecification": ttl})
    database.janitor.sweep()
    reshard(database, "orders", 2)
    for customer in range(PARTITIONS):
        key = {"customer": {"S": f"c{customer}"}, "number": {"S": f"{customer:04}"}}
        database.call("DeleteItem", {"TableName": "plain", "Key": key})
        update = {"Update": {"TableName": "orders", "Key": key, "UpdateExpression": "REMOVE city"}}
        database.call("TransactWriteItems", {"TransactItems": [update], "ClientRequestToken": f"token-{customer}"})
    database.call("DeleteTable", {"TableName": "dropped"})
    database.close()


def _table(name: str, followed: bool) -> dict[str, Any]:
    table: dict[str, Any] = {
        "TableName": name,
        "KeySchema": _schema("customer", "number"),
        "AttributeDefinitions": [{"AttributeName": each, "AttributeType": "S"} for each in ("customer", "number")],
        "BillingMode": "PAY_PER_REQUEST",
    }
    if followed:
        table["AttributeDefinitions"].append({"AttributeName": "city", "AttributeType": "S"})
        table["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
        table["GlobalSecondaryIndexes"] = [
            {"IndexName": "whole", "KeySchema": _schema("city", "number"), "Projection": {"ProjectionType": "ALL"}},
            {"IndexName": "keys", "KeySchema": _schema("city"), "Projection": {"ProjectionType": "KEYS_ONLY"}},
        ]
    return table


def _schema(*names: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)]


def _order(customer: int, number: int) -> dict[str, Any]:
    order: dict[str, Any] = {
        "customer": {"S": f"c{customer}"},
        "number": {"S": f"{number:04}"},
        "city": {"S": f"city {number % 7}"},
        "total": {"N": str(number * customer)},
        "note": {"S": "n" * (number * 7 % 90)},
    }
    if number % 5 == 0:
        order["ends"] = {"N": str(int(NOW) + 1000 + number)}
    if number == customer:
        order["photo"] = {"B": base64.b64encode(bytes([customer]) * LONG).decode()}
    return order


def _put(database: Database, table: str, items: list[dict[str, Any]]) -> None:
    for at in range(0, len(items), BATCH):
        puts = [{"PutRequest": {"Item": item}} for item in items[at : at + BATCH]]
        database.call("BatchWriteItem", {"RequestItems": {table: puts}})


def read_all(folder: Path, checked: bool = True) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The questions, by name. Unless `checked`, they are asked of a large folder before its check has run."""
    database = Database(folder, ManualClock(NOW))
    try:
        if checked and database.store.check is not None:
            database.store.check.run()
        yield "tables", partial(database.call, "ListTables", {})
        for table in ("orders", "plain"):
            yield from _reads_of_table(database, table)
        for index in ("whole", "keys"):
            yield f"scan {index}", partial(_pages, database, "Scan", _scan("orders", index))
            for city in range(7):
                yield f"query {index} {city}", partial(_pages, database, "Query", _query(index, city))
        yield "records", partial(_records, database)
        yield STORED, partial(_stored, database)
    finally:
        database.close()


def _reads_of_table(database: Database, table: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield f"describe {table}", partial(database.call, "DescribeTable", {"TableName": table})
    yield f"scan {table}", partial(_pages, database, "Scan", _scan(table))
    for customer in range(PARTITIONS):
        for forward in (True, False):
            query = {
                "TableName": table,
                "KeyConditionExpression": "customer = :c",
                "ExpressionAttributeValues": {":c": {"S": f"c{customer}"}},
                "ScanIndexForward": forward,
            }
            yield f"query {table} {customer} {forward}", partial(_fast, database, "Query", query)
        keys = [{"customer": {"S": f"c{customer}"}, "number": {"S": f"{number:04}"}} for number in range(ORDERS + 1)]
        batch = {"RequestItems": {table: {"Keys": keys}}}
        yield f"batch {table} {customer}", partial(_fast, database, "BatchGetItem", batch)
        for key in keys:
            get = {"TableName": table, "Key": key}
            yield f"get {table} {key}", partial(_fast, database, "GetItem", get)
        yield f"general get {table} {customer}", partial(database.call, "GetItem", {"TableName": table, "Key": keys[1]})


def _scan(table: str, index: str | None = None) -> dict[str, Any]:
    return {"TableName": table} | ({} if index is None else {"IndexName": index})


def _query(index: str, city: int) -> dict[str, Any]:
    values = {":c": {"S": f"city {city}"}}
    return {
        "TableName": "orders",
        "IndexName": index,
        "KeyConditionExpression": "city = :c",
        "ExpressionAttributeValues": values,
    }


def _fast(database: Database, operation: str, request: dict[str, Any]) -> Any:
    answer = FAST_READS[operation](database, orjson.dumps(request))
    if answer is None:
        return database.call(operation, request)
    return orjson.loads((answer if isinstance(answer, FastAnswer) else finish(answer)).text)


def _pages(database: Database, operation: str, request: dict[str, Any]) -> list[Any]:
    pages = [database.call(operation, request)]
    while "LastEvaluatedKey" in pages[-1]:
        pages.append(database.call(operation, {**request, "ExclusiveStartKey": pages[-1]["LastEvaluatedKey"]}))
    return pages


def _records(database: Database) -> list[Any]:
    (stream,) = database.call("ListStreams", {})["Streams"]
    arn = stream["StreamArn"]
    described = database.call("DescribeStream", {"StreamArn": arn})
    records: list[Any] = [described]
    for shard in described["StreamDescription"]["Shards"]:
        members = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = database.call("GetShardIterator", members)["ShardIterator"]
        while iterator is not None:
            page = database.call("GetRecords", {"ShardIterator": iterator})
            iterator = page.get("NextShardIterator") if page["Records"] else None
            records.append(page["Records"])
    return records


def _stored(database: Database) -> list[tuple[bytes, bytes]]:
    with database.read() as snapshot:
        return list(snapshot.cursor())


def expected_answers(folder: Path) -> Answers:
    return {question: ask() for question, ask in read_all(folder)}
