"""Batches of large items in slices: their answers are the same, and others are answered in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from sortkey.engine import requests
from sortkey.engine.database import Database
from sortkey.engine.operations import SLICED_READS
from sortkey.engine.operations.answers import to_dict
from sortkey.engine.operations.fast_path import FAST_READS
from sortkey.engine.operations.slices import Slices
from sortkey.engine.tables.core import Answer

ITEMS = [{"p": {"S": str(number)}, "n": {"N": str(number)}, "t": {"S": "x" * 30_000}} for number in range(100)]
KEYS = [{"p": item["p"]} for item in ITEMS]


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    database = Database(None)
    database.call(
        "CreateTable",
        {
            "TableName": "rows",
            "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
        },
    )
    for item in ITEMS:
        database.call("PutItem", {"TableName": "rows", "Item": item})
    yield database
    database.close()


def batch(keys: list[dict[str, Any]] = KEYS, **members: Any) -> dict[str, Any]:
    return {"RequestItems": {"rows": {"Keys": keys, **members}}}


def begin(database: Database, operation: str, members: dict[str, Any]) -> Slices[Answer]:
    return SLICED_READS[operation](database, requests.convert(operation, members))


def run(slices: Slices[Answer]) -> tuple[int, dict[str, Any]]:
    """The number of slices, and the answer."""
    count = 1
    while True:
        try:
            next(slices)
            count += 1
        except StopIteration as end:
            return count, to_dict(end.value)


def test_a_batch_of_large_items_takes_many_slices(database: Database) -> None:
    count, answer = run(begin(database, "BatchGetItem", batch()))
    assert count > 2
    assert answer == {"Responses": {"rows": ITEMS}, "UnprocessedKeys": {}}


# To decode an item takes many times as long as to copy it.
def test_a_projection_takes_more(database: Database) -> None:
    plain, _ = run(begin(database, "BatchGetItem", batch()))
    count, answer = run(begin(database, "BatchGetItem", batch(ProjectionExpression="n")))
    assert count > 2 * plain
    assert answer["Responses"]["rows"] == [{"n": item["n"]} for item in ITEMS]


def test_a_batch_of_few_items_takes_one(database: Database) -> None:
    assert run(begin(database, "BatchGetItem", batch(KEYS[:3])))[0] == 1


# The fast path would answer nothing else until all of it is read.
def test_the_fast_path_leaves_megabytes_to_the_general_operation(database: Database) -> None:
    fast = FAST_READS["BatchGetItem"]
    assert fast(database, orjson.dumps(batch())) is None
    assert fast(database, orjson.dumps(batch(KEYS[:10]))) is not None


def test_a_transaction_with_projections_takes_many_slices(database: Database) -> None:
    gets = [{"Get": {"TableName": "rows", "Key": key, "ProjectionExpression": "n"}} for key in KEYS]
    count, answer = run(begin(database, "TransactGetItems", {"TransactItems": gets}))
    assert count > 5
    assert answer == {"Responses": [{"Item": {"n": item["n"]}} for item in ITEMS]}


# All of its items are read before the first slice ends.
def test_a_transaction_reads_one_snapshot(database: Database) -> None:
    gets = [{"Get": {"TableName": "rows", "Key": key, "ProjectionExpression": "n"}} for key in KEYS]
    slices = begin(database, "TransactGetItems", {"TransactItems": gets})
    next(slices)
    database.call("PutItem", {"TableName": "rows", "Item": KEYS[-1] | {"n": {"N": "-1"}}})
    assert run(slices)[1]["Responses"][-1] == {"Item": {"n": ITEMS[-1]["n"]}}
    database.call("PutItem", {"TableName": "rows", "Item": ITEMS[-1]})
