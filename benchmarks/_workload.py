"""The workloads: one table, and the same requests for every server."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, Final

import msgspec
import orjson

from benchmarks.engine import BATCH, TABLE, item, key
from tests.oracle.endpoint import Endpoint

NAMESPACE: Final = "bench"
DISTINCT: Final = 4096
"""Different requests in a workload; wrk sends them repeatedly."""
BATCH_GET: Final = 50
QUERY: Final = 64
IN_TRANSACTION: Final = 4
LOADERS: Final = 8

TABLE_DEFINITION: Final[dict[str, Any]] = {
    "TableName": TABLE,
    "AttributeDefinitions": [
        {"AttributeName": "customer", "AttributeType": "S"},
        {"AttributeName": "order", "AttributeType": "S"},
    ],
    "KeySchema": [{"AttributeName": "customer", "KeyType": "HASH"}, {"AttributeName": "order", "KeyType": "RANGE"}],
    "BillingMode": "PAY_PER_REQUEST",
}
INDEXED: Final = "orders-indexed"
INDEXED_DEFINITION: Final[dict[str, Any]] = TABLE_DEFINITION | {
    "TableName": INDEXED,
    "AttributeDefinitions": [
        *TABLE_DEFINITION["AttributeDefinitions"],
        {"AttributeName": "total", "AttributeType": "N"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-total",
            "KeySchema": [
                {"AttributeName": "order", "KeyType": "HASH"},
                {"AttributeName": "total", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}
STREAM: Final[dict[str, Any]] = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}}


class Request(msgspec.Struct, frozen=True):
    operation: str
    body: bytes


class WrongAnswer(Exception):
    """A server gave a wrong answer."""


def get_item(choose: random.Random, count: int) -> Request:
    return _request("GetItem", Key=key(choose.randrange(count)))


def batch_get_item(choose: random.Random, count: int) -> Request:
    keys = [key(number) for number in choose.sample(range(count), BATCH_GET)]
    return Request("BatchGetItem", orjson.dumps({"RequestItems": {TABLE: {"Keys": keys}}}))


def query(choose: random.Random, count: int) -> Request:
    return _request(
        "Query",
        KeyConditionExpression="customer = :c",
        ExpressionAttributeValues={":c": key(choose.randrange(count))["customer"]},
        Limit=QUERY,
    )


def put_item(choose: random.Random, count: int) -> Request:
    """Replaces an item, so that the table stays as it is."""
    return _request("PutItem", Item=item(choose.randrange(count)))


def update_item(choose: random.Random, count: int) -> Request:
    return _request(
        "UpdateItem",
        Key=key(choose.randrange(count)),
        UpdateExpression="ADD #t :one",
        ExpressionAttributeNames={"#t": "total"},
        ExpressionAttributeValues={":one": {"N": "1"}},
    )


def put_indexed(choose: random.Random, count: int) -> Request:
    """Into a table with an index and, where the server has them, a stream; the item and its index key change."""
    total = {"total": {"N": str(choose.randrange(10_000))}}
    return Request("PutItem", orjson.dumps({"TableName": INDEXED, "Item": item(choose.randrange(count)) | total}))


def transact_write_items(choose: random.Random, count: int) -> Request:
    puts = [{"Put": {"TableName": TABLE, "Item": item(each)}} for each in choose.sample(range(count), IN_TRANSACTION)]
    return Request("TransactWriteItems", orjson.dumps({"TransactItems": puts}))


def mixed(choose: random.Random, count: int) -> Request:
    """Nine reads for each write."""
    return get_item(choose, count) if choose.random() < 0.9 else put_item(choose, count)


WORKLOADS: Final[dict[str, Callable[[random.Random, int], Request]]] = {
    "GetItem": get_item,
    "BatchGetItem 50": batch_get_item,
    "Query 64": query,
    "PutItem": put_item,
    "UpdateItem ADD": update_item,
    "PutItem, index and stream": put_indexed,
    f"TransactWriteItems of {IN_TRANSACTION}": transact_write_items,
    "mixed 90/10": mixed,
}


def requests(workload: str, count: int) -> list[Request]:
    """The same random requests at each call, over a table of `count` items."""
    choose = random.Random(7)
    return [WORKLOADS[workload](choose, count) for _ in range(DISTINCT)]


def rows_expected(operation: str) -> int:
    return {"GetItem": 1, "BatchGetItem": BATCH_GET, "Query": QUERY}.get(operation, 0)


def rows_in(answer: dict[str, Any]) -> int:
    if "Responses" in answer:
        return len(answer["Responses"][TABLE])
    return len(answer["Items"]) if "Items" in answer else int("Item" in answer)


def check(endpoint: Endpoint, sample: list[Request]) -> None:
    """Rejects wrong answers: a fast empty one would win every comparison."""
    for request in sample:
        rows, expected = rows_in(endpoint.send(request.operation, request.body)), rows_expected(request.operation)
        if rows != expected:
            raise WrongAnswer(f"{request.operation} gave {rows} items instead of {expected}")


def create_table(endpoint: Endpoint, definition: dict[str, Any] = TABLE_DEFINITION) -> None:
    endpoint.call("CreateTable", definition)
    while not _is_active(endpoint.call("DescribeTable", {"TableName": definition["TableName"]})["Table"]):
        time.sleep(0.05)  # the protocol has no notification


def _is_active(table: dict[str, Any]) -> bool:
    indexes = [index["IndexStatus"] for index in table.get("GlobalSecondaryIndexes", [])]
    return {table["TableStatus"], *indexes} == {"ACTIVE"}


def load(url: str, numbers: range, seconds: float) -> bool:
    """Writes the items with these numbers; False if the time does not suffice."""
    began = time.monotonic()
    with ThreadPoolExecutor(LOADERS) as pool:
        return all(pool.map(lambda loader: _load(url, numbers, loader, began, seconds), range(LOADERS)))


def _load(url: str, numbers: range, loader: int, began: float, seconds: float) -> bool:
    """Writes every `LOADERS`-th batch, so that no two loaders write the same items."""
    starts = numbers[loader * BATCH :: LOADERS * BATCH]
    with closing(Endpoint(url, NAMESPACE)) as endpoint:
        for done, start in enumerate(starts):
            if hopeless(done / len(starts), (time.monotonic() - began) / seconds):
                return False
            puts = [{"PutRequest": {"Item": item(each)}} for each in range(start, min(start + BATCH, numbers.stop))]
            answer = endpoint.send("BatchWriteItem", orjson.dumps({"RequestItems": {TABLE: puts}}))
            if answer.get("UnprocessedItems"):
                raise WrongAnswer("BatchWriteItem left items unprocessed")
    return True


def hopeless(done: float, elapsed: float) -> bool:
    """Whether what is left, of work and of time (both from 0 to 1), does not go together.

    After a sixth of the time a server is warm. If it is then less than half as fast as needed, why wait for the end?
    """
    return elapsed > 1 or (elapsed > 1 / 6 and done < elapsed / 2)


def _request(operation: str, **members: Any) -> Request:
    return Request(operation, orjson.dumps({"TableName": TABLE, **members}))
