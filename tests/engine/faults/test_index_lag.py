"""Global indexes that show an earlier state of their table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey.engine.faults.index_lag import MOST_KEPT
from sortkey.engine.faulty_database import FaultyDatabase
from tests.engine.faults.conftest import OpenFaulty
from tests.engine.faults.orders import ORDERS, key, put

INDEX = {"IndexName": "again", "KeySchema": ORDERS["KeySchema"], "Projection": {"ProjectionType": "ALL"}}
INDEXED = {**ORDERS, "GlobalSecondaryIndexes": [INDEX]}
LAG = 10.0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def db(clock: ManualClock) -> Iterator[FaultyDatabase]:
    database = FaultyDatabase(sk.testing.Faults(index_lag=LAG), None, clock)
    database.call("CreateTable", INDEXED)
    yield database
    database.close()


def write(db: FaultyDatabase, number: int) -> None:
    db.call("PutItem", {"TableName": "orders", "Item": key(number)})


def scanned(db: FaultyDatabase, **members: Any) -> set[int]:
    return {int(item["number"]["N"]) for item in db.call("Scan", {"TableName": "orders", **members})["Items"]}


def test_an_index_does_not_show_what_was_just_written(open_faulty: OpenFaulty) -> None:
    client = open_faulty("index_lag=3600")
    client.create_table(**INDEXED)
    put(client, 1)
    assert client.scan(TableName="orders")["Count"] == 1
    assert client.scan(TableName="orders", IndexName="again")["Count"] == 0
    assert len(client.execute_statement(Statement="SELECT * FROM orders")["Items"]) == 1
    assert client.execute_statement(Statement='SELECT * FROM "orders"."again"')["Items"] == []


def test_an_index_catches_up_when_no_more_writes_come(db: FaultyDatabase, clock: ManualClock) -> None:
    write(db, 1)
    clock.advance(LAG + 1)
    assert scanned(db, IndexName="again") == {1}


# Each read draws its own lag, and shows a state that the table has had.
def test_reads_show_some_earlier_state(db: FaultyDatabase, clock: ManualClock) -> None:
    for number in range(10):
        write(db, number)
        clock.advance(1)
    shown = [scanned(db, IndexName="again") for _ in range(50)]
    states = [{*range(count)} for count in range(11)]
    assert all(state in states for state in shown)
    assert len({len(state) for state in shown}) > 3
    assert scanned(db) == {*range(10)}


def test_fast_writes_keep_a_bounded_number_of_snapshots(db: FaultyDatabase, clock: ManualClock) -> None:
    for number in range(20 * MOST_KEPT):
        write(db, number)
        clock.advance(LAG / MOST_KEPT / 8)
    clock.advance(LAG + 1)
    assert len(scanned(db, IndexName="again")) == 20 * MOST_KEPT


def test_a_changed_table_is_not_read_as_it_was(db: FaultyDatabase) -> None:
    write(db, 1)
    db.call("CreateTable", {**ORDERS, "TableName": "others"})
    assert scanned(db, IndexName="again") == {1}
