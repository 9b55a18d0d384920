"""What each operation counts for the partitions that it reads and writes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sortkey.engine.database import Database
from sortkey.engine.hot_partitions import HotPartitions
from sortkey.engine.operations.fast_path import FAST_READS, FAST_WRITES, FastAnswer
from sortkey.engine.rows.partition_loads import SAMPLED
from tests.engine.conftest import Call
from tests.engine.orders import DAY, Orders, number, text

KEY = {"id": text("a")}
OF_A = {"KeyConditionExpression": "id = :v", "ExpressionAttributeValues": {":v": text("a")}}
NOTE = text("x" * 9000)
"""Costs 9 units to write and 1.5 to read, so that each request is counted."""
NOTE_OF_A_BLOCK = text("x" * 4000)
"""Costs 4 units to write and 0.5 to read."""

Totals = dict[tuple[str | None, str], tuple[float, float, float]]


def totals(db: Database) -> Totals:
    """Requests, read units and write units, by index and partition key. (The windows last a second at least.)"""
    return {
        (each.index, each.key): (each.requests_per_second, each.read_units_per_second, each.write_units_per_second)
        for each in HotPartitions(db, 0.0).hottest(100, 0.0)
    }


def body(**members: Any) -> bytes:
    return msgspec.json.encode({"TableName": "orders", **members})


@pytest.fixture
def cities(db: Database) -> Orders:
    orders = Orders(db)
    orders.add_index("city", name="by_city")
    db.janitor.sweep()
    return orders


def test_writes_count_for_the_table_and_each_index(db: Database, cities: Orders) -> None:
    cities.put("a", city=text("ulm"), note=NOTE)
    assert totals(db) == {(None, "a"): (1, 0, 9), ("by_city", "ulm"): (1, 0, 9)}
    # The row moves in the index: one is removed, one is inserted.
    cities.put("a", city=text("bonn"), note=NOTE)
    found = {("hash" if key.startswith("hash:") else key): count for (_, key), count in totals(db).items()}
    assert found == {"a": (2, 0, 18), "bonn": (1, 0, 9), "hash": (2, 0, 18)}


def test_a_delete_counts(db: Database) -> None:
    orders = Orders(db)
    orders.put("a", note=NOTE)
    orders.delete("a")
    assert [*totals(db).values()] == [(2, 0, 18)]


# AWS deletes expired items for nothing.
def test_the_deletion_of_an_expired_item_does_not_count(db: Database, call: Call) -> None:
    orders = Orders(db)
    call("UpdateTimeToLive", TableName="orders", TimeToLiveSpecification={"AttributeName": "end", "Enabled": True})
    orders.put("a", end=number(db.clock.now() - DAY), note=NOTE)
    db.janitor.sweep()
    assert orders.ids() == set()
    assert [*totals(db).values()] == [(1, 0, 9)]


def test_batches_and_transactions(db: Database, call: Call) -> None:
    Orders(db)
    items = [{"id": text(key), "note": NOTE} for key in "ab"]
    call("BatchWriteItem", RequestItems={"orders": [{"PutRequest": {"Item": item}} for item in items]})
    assert totals(db) == {(None, "a"): (1, 0, 9), (None, "b"): (1, 0, 9)}
    check = {"TableName": "orders", "Key": {"id": text("b")}, "ConditionExpression": "attribute_exists(id)"}
    put = {"TableName": "orders", "Item": items[0]}
    call("TransactWriteItems", TransactItems=[{"Put": put}, {"ConditionCheck": check}])
    # A transaction writes twice, and a check costs as much as a write.
    assert totals(db) == {(None, "a"): (3, 0, 27), (None, "b"): (3, 0, 27)}
    call("TransactGetItems", TransactItems=[{"Get": {"TableName": "orders", "Key": {"id": text("a")}}}])
    assert totals(db)[None, "a"] == (4, 6, 27)


def test_queries_count_for_the_table_or_the_index(db: Database, call: Call, cities: Orders) -> None:
    cities.put("a", city=text("ulm"), note=NOTE)
    query = {"TableName": "orders", "ExpressionAttributeValues": {":v": text("a")}}
    call("Query", KeyConditionExpression="id = :v", **query)
    call("Query", KeyConditionExpression="id = :v", ConsistentRead=True, **query)
    assert totals(db)[None, "a"] == (3, 4.5, 9)
    query["ExpressionAttributeValues"] = {":v": text("ulm")}
    call("Query", KeyConditionExpression="city = :v", IndexName="by_city", **query)
    assert totals(db)["by_city", "ulm"] == (2, 1.5, 9)


def test_the_fast_path_counts_the_same(db: Database) -> None:
    Orders(db).put("a", note=NOTE)
    put = FAST_WRITES["PutItem"](db, body(Item={"id": text("a"), "note": NOTE}))
    change = {"UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": number(1)}}
    update = FAST_WRITES["UpdateItem"](db, body(Key=KEY, **change))
    assert put is not None
    assert update is not None
    db.store.write(put)
    db.store.write(update)
    assert totals(db) == {(None, "a"): (3, 0, 27)}
    assert isinstance(FAST_READS["Query"](db, body(**OF_A)), FastAnswer)
    assert totals(db) == {(None, "a"): (4, 1.5, 27)}
    assert FAST_READS["GetItem"](db, body(Key=KEY)) is not None
    assert totals(db) == {(None, "a"): (5, 3.0, 27)}


# Counting each would take one or two parts in a hundred of its time.
@pytest.mark.parametrize("operation", ["GetItem", "Query"])
@pytest.mark.parametrize("fast", [False, True])
def test_small_reads_are_sampled(db: Database, call: Call, operation: str, fast: bool) -> None:
    Orders(db).put("a", note=NOTE_OF_A_BLOCK)
    members: dict[str, Any] = {"Key": KEY} if operation == "GetItem" else OF_A
    reads = 200 * SAMPLED
    for _ in range(reads):
        if fast:
            assert FAST_READS[operation](db, body(**members)) is not None
        else:
            call(operation, TableName="orders", **members)
    requests, read, _ = totals(db)[None, "a"]
    # The wait for the next that is counted varies by 0.6 of its mean, so this is six standard deviations.
    assert abs(requests - 1 - reads) < 0.25 * reads
    assert read == (requests - 1) / 2


def test_small_writes_are_sampled(db: Database) -> None:
    orders = Orders(db)
    writes = 200 * SAMPLED
    for _ in range(writes):
        orders.put("a")
    requests, _, written = totals(db)[None, "a"]
    assert abs(requests - writes) < 0.25 * writes
    assert written == requests


# A batch of one partition is exact; of several, each has its share in the long run.
@pytest.mark.parametrize("fast", [False, True])
def test_one_key_of_a_batch_counts_for_all(db: Database, call: Call, fast: bool) -> None:
    Orders(db)
    keys = [{"id": text(key)} for key in "abcd"]
    rounds = 800
    for _ in range(rounds):
        if fast:
            request = msgspec.json.encode({"RequestItems": {"orders": {"Keys": keys}}})
            assert isinstance(FAST_READS["BatchGetItem"](db, request), FastAnswer)
        else:
            call("BatchGetItem", RequestItems={"orders": {"Keys": keys}})
    found = totals(db)
    assert len(found) == 4
    assert sum(requests for requests, _, _ in found.values()) == 4 * rounds
    for requests, read, _ in found.values():
        # Six standard deviations.
        assert abs(requests - rounds) < 0.4 * rounds
        assert read == requests / 2


def test_a_scan_counts_for_no_partition(db: Database, call: Call) -> None:
    Orders(db)
    call("Scan", TableName="orders")
    assert totals(db) == {}
