"""Long reads in slices: how much a slice does, and what a page holds meanwhile."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from sortkey.engine import requests
from sortkey.engine.database import Database
from sortkey.engine.operations import SLICED_READS
from sortkey.engine.operations.fast_path import FAST_READS, FastAnswer
from sortkey.engine.operations.slices import SLICE_UNITS, Slices, finish, units_of_rows
from sortkey.engine.tables.core import Answer

ROWS = 20_000
BATCH = 25


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    """One partition of small rows."""
    database = Database(None)
    database.call(
        "CreateTable",
        {
            "TableName": "rows",
            "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("p", "s")],
        },
    )
    for start in range(0, ROWS, BATCH):
        items = [{"p": {"S": "p"}, "s": {"S": str(start + each)}, "n": {"N": "1"}} for each in range(BATCH)]
        database.call("BatchWriteItem", {"RequestItems": {"rows": [{"PutRequest": {"Item": item}} for item in items]}})
    yield database
    database.close()


def begin(database: Database, operation: str, **members: Any) -> Slices[Answer]:
    return SLICED_READS[operation](database, requests.convert(operation, {"TableName": "rows", **members}))


def count(slices: Slices[Any]) -> int:
    return 1 + sum(1 for _ in slices)


# A page of 1 MB can have 200,000 rows. Nothing else is answered during a slice.
def test_a_long_page_takes_many_slices(database: Database) -> None:
    assert count(begin(database, "Scan")) >= ROWS / SLICE_UNITS


def test_a_short_page_takes_one(database: Database) -> None:
    assert count(begin(database, "Scan", Limit=64)) == 1


@pytest.mark.slow
def test_a_slice_with_a_filter_has_fewer_rows(database: Database) -> None:
    plain = count(begin(database, "Scan"))
    simple = count(begin(database, "Scan", FilterExpression="n = :v", ExpressionAttributeValues={":v": {"N": "2"}}))
    costly = count(
        begin(
            database,
            "Scan",
            FilterExpression=" OR ".join(["n = :v"] * 150),
            ExpressionAttributeValues={":v": {"N": "2"}},
        )
    )
    assert plain < simple < costly
    assert costly >= ROWS * 150 / SLICE_UNITS


def test_a_long_query_on_the_fast_path_takes_many_slices(database: Database) -> None:
    members = {"TableName": "rows", "KeyConditionExpression": "p = :p", "ExpressionAttributeValues": {":p": {"S": "p"}}}
    answer = FAST_READS["Query"](database, orjson.dumps(members))
    assert answer is not None
    assert not isinstance(answer, FastAnswer)
    assert count(answer) >= ROWS / SLICE_UNITS


# One evaluation over a large item can take longer than a slice, so it is sliced itself.
def test_one_costly_evaluation_takes_many_slices(database: Database) -> None:
    large = {"p": {"S": "large"}, "s": {"S": "x"}, "t": {"S": "y" * 390_000}}
    database.call("PutItem", {"TableName": "rows", "Item": large})
    slices = begin(
        database,
        "Query",
        KeyConditionExpression="p = :p",
        FilterExpression=" OR ".join(["contains(t, :v)"] * 100),
        ExpressionAttributeValues={":v": {"S": "z"}, ":p": {"S": "large"}},
    )
    assert count(slices) > 10
    database.call("DeleteItem", {"TableName": "rows", "Key": {"p": large["p"], "s": large["s"]}})


# Once 210,000 dictionaries: 940 MB for an answer of 1 MB.
def test_a_projection_holds_little_more_than_its_answer(database: Database) -> None:
    slices = begin(database, "Scan", ProjectionExpression="n")
    tracemalloc.start()
    try:
        finish(slices)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    text = len(b'{"n":{"N":"1"}},') * ROWS
    assert peak < 5 * text


# A snapshot that is held keeps the store from using freed space again.
def test_a_long_page_reads_newer_snapshots_at_its_end(database: Database) -> None:
    slices = begin(database, "Scan", FilterExpression="n = :v", ExpressionAttributeValues={":v": {"N": "7"}})
    next(slices)
    last = database.call("Scan", {"TableName": "rows"})["Items"][-1]
    database.call("PutItem", {"TableName": "rows", "Item": last | {"n": {"N": "7"}}})
    assert finish(slices)["Count"] == 1
    database.call("PutItem", {"TableName": "rows", "Item": last})


# A client that leaves must not leave its snapshot behind.
def test_a_read_that_is_closed_ends_its_snapshot(database: Database) -> None:
    slices = begin(database, "Scan")
    next(slices)
    slices.close()
    with pytest.raises(StopIteration):
        next(slices)


# `contains` of a value that nearly matches everywhere takes 3 ms in 400 KB; five of them were one slice.
def test_an_operator_on_a_large_item_is_a_slice_of_its_own() -> None:
    assert units_of_rows([bytes(400_000)], 2) - units_of_rows([bytes(400_000)], 1) >= SLICE_UNITS


@pytest.mark.parametrize("where", ["", " WHERE n = 1", " WHERE p = 'p' AND n > 0"])
def test_a_select_has_the_slices_of_its_read(database: Database, where: str) -> None:
    request = requests.convert("ExecuteStatement", {"Statement": f'SELECT s, n FROM "rows"{where}'})
    slices = SLICED_READS["ExecuteStatement"](database, request)
    assert count(slices) > 10


def test_a_select_pauses_between_partitions(database: Database) -> None:
    partitions = ", ".join(f"'{number}'" for number in range(90))
    request = requests.convert("ExecuteStatement", {"Statement": f'SELECT * FROM "rows" WHERE p IN [{partitions}]'})
    assert count(SLICED_READS["ExecuteStatement"](database, request)) == 90
