"""A new index on a table that has items, filled in the background while writes go on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sortkey.clock import ManualClock
from sortkey.engine.check.database_check import check_database
from sortkey.engine.database import Database
from sortkey.engine.janitor import backfill
from sortkey.engine.janitor.backfill import fill_indexes
from tests.engine.orders import Orders, number, text


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill, "CHUNK_ROWS", 5)


@pytest.fixture
def orders(db: Database) -> Orders:
    """Thirty orders, a third of them without a city."""
    orders = Orders(db)
    for at in range(30):
        orders.put(f"order-{at}", **({"city": text(f"city-{at % 3}")} if at % 3 else {}))
    return orders


def counted(orders: Orders) -> int:
    count: int = orders.index()["ItemCount"]
    return count


def test_index_is_being_created_until_all_items_are_in(orders: Orders) -> None:
    orders.add_index("city")
    assert (orders.index()["IndexStatus"], counted(orders)) == ("CREATING", 0)
    orders.db.janitor.sweep()
    assert (orders.index()["IndexStatus"], counted(orders)) == ("ACTIVE", 20)
    found = orders.db.call(
        "Query",
        {
            "TableName": orders.name,
            "IndexName": "by_attribute",
            "KeyConditionExpression": "city = :c",
            "ExpressionAttributeValues": {":c": text("city-1")},
        },
    )
    assert found["Count"] == 10


@pytest.mark.usefixtures("small_chunks")
def test_filling_takes_one_transaction_a_chunk(orders: Orders) -> None:
    orders.add_index("city")
    before = orders.db.store.queue.commits
    orders.db.janitor.sweep()
    # Thirty rows are six full chunks; a seventh finds the end.
    assert orders.db.store.queue.commits == before + 7
    assert counted(orders) == 20


# AWS leaves items with an invalid index key out of the index; they can be changed or deleted afterwards.
@pytest.mark.parametrize("unfit", [{"N": "1"}, {"S": ""}, {"S": "x" * 2049}, {"NULL": True}])
def test_items_whose_attribute_is_no_key_are_left_out(orders: Orders, unfit: dict[str, str]) -> None:
    orders.put("unfit", city=unfit)
    orders.add_index("city")
    orders.db.janitor.sweep()
    assert counted(orders) == 20
    update = {"UpdateExpression": "SET note = :n", "ExpressionAttributeValues": {":n": text("still fine")}}
    orders.db.call("UpdateItem", {"TableName": orders.name, "Key": {"id": text("unfit")}, **update})
    assert counted(orders) == 20
    orders.put("unfit", city=text("mended"))
    assert counted(orders) == 21
    orders.delete("unfit")
    assert counted(orders) == 20


def steps(orders: Orders) -> Iterator[None]:
    """The backfill, chunk by chunk, with a check after each."""
    for _ in fill_indexes(orders.db):
        assert check_database(orders.db).problems == []
        yield


# Every type of change, on rows before and after the position of the backfill.
@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("projection", ["ALL", "KEYS_ONLY"])
def test_writes_meanwhile_are_neither_missed_nor_counted_twice(orders: Orders, projection: str) -> None:
    orders.add_index("city", projection=projection)
    for round_number, _ in enumerate(steps(orders)):
        orders.put("order-1", city=text(f"moved-{round_number}"))
        orders.put("order-2", city=text("city-2"), total=number(round_number))
        orders.put("order-4")
        orders.put("order-6", city=text("late"))
        orders.delete(f"order-{round_number + 10}")
        orders.put(f"new-{round_number}", city=text("new"))
        assert check_database(orders.db).problems == []
    assert orders.index()["IndexStatus"] == "ACTIVE"
    with_city = [item for item in orders.db.call("Scan", {"TableName": orders.name})["Items"] if "city" in item]
    assert counted(orders) == len(with_city)


@pytest.mark.usefixtures("small_chunks")
def test_index_dropped_while_it_is_filled(orders: Orders) -> None:
    orders.add_index("city")
    filling = steps(orders)
    next(filling)
    orders.update(GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by_attribute"}}])
    assert list(filling) == []
    orders.db.janitor.sweep()
    assert check_database(orders.db).index_rows == 0


@pytest.mark.usefixtures("small_chunks")
def test_table_dropped_while_its_index_is_filled(orders: Orders) -> None:
    orders.add_index("city")
    filling = steps(orders)
    next(filling)
    orders.db.call("DeleteTable", {"TableName": orders.name})
    assert list(filling) == []
    orders.db.janitor.sweep()


# The position is in the store, so the backfill continues there instead of at the start.
@pytest.mark.usefixtures("small_chunks")
def test_filling_goes_on_after_a_restart(tmp_path: Path, clock: ManualClock) -> None:
    db = Database(tmp_path, clock)
    orders = Orders(db)
    for at in range(20):
        orders.put(f"order-{at}", city=text("here"))
    orders.add_index("city")
    next(steps(orders))
    db.close()
    orders.db = Database(tmp_path, clock)
    assert counted(orders) == 5
    assert len(list(steps(orders))) == 4
    assert counted(orders) == 20
    orders.db.close()


# A chunk limited only by rows would be a transaction of 400 MB with items of 400 KB.
def test_large_items_make_smaller_chunks(orders: Orders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill, "CHUNK_BYTES", 1)
    orders.add_index("city")
    assert len(list(steps(orders))) == 31
