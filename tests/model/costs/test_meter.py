"""The meter: sums by path, and one warning for a path that reads too much."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import sortkey as sk
from sortkey.model.costs.meter import Meter, Reading
from tests.model.sessions.shop import SHOP, Order, order

ADA = Order.key(customer="ada")


def test_sums() -> None:
    meter = Meter()
    query = {"ScannedCount": 10, "Count": 2, "ConsumedCapacity": {"CapacityUnits": 1.5}}
    meter.requested("p", "Query", query, 0.25)
    meter.requested("p", "Query", query, 0.25)
    meter.returned("p", 4)
    meter.requested("q", "PutItem", {}, 0.1)
    assert meter.reading("p") == Reading("p", 2, 20, 4, 3.0, 0.5, blocks_read=6.0)
    assert meter.reading("p").amplification == 5
    assert meter.reading("nothing") == Reading("nothing")
    assert [reading.path for reading in meter.readings()] == ["p", "q"]


# A key or a path instead of its name, so that a misspelt name does not read as "no rows".
def test_a_reading_of_a_key_or_a_path() -> None:
    meter = Meter()
    meter.returned("Order.key", 4)
    assert meter.reading(Order.key) == meter.reading(ADA) == meter.reading("Order.key") == Reading("Order.key", 0, 0, 4)


def test_batches_add_the_units_of_their_tables() -> None:
    meter = Meter()
    meter.requested(
        "p",
        "BatchGetItem",
        {"ConsumedCapacity": [{"CapacityUnits": 1.0}, {"CapacityUnits": 0.5}]},
        0,
    )
    # Its rows are counted by who parses them.
    meter.returned("p", 2, read=2)
    assert (meter.reading("p").rows_read, meter.reading("p").units) == (2, 1.5)


def test_a_path_that_reads_too_much_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    with sk.connect("memory:", tables=[SHOP]) as db:
        db.create_tables()
        db.batch(put=[order(number, status="RARE" if number == 7 else "OPEN") for number in range(150)])
        with caplog.at_level(logging.WARNING, logger="sortkey"):
            for _ in range(3):
                db.page(ADA, first=5, where={"status": "RARE"})
        (record,) = caplog.records
        assert "Order.key reads 150 rows for each row it returns" in record.getMessage()


# Pages of what is there read as much as they return, give or take the look ahead.
def test_a_good_path_is_not_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with sk.connect("memory:", tables=[SHOP]) as db:
        db.create_tables()
        db.batch(put=[order(number) for number in range(150)])
        for _ in range(30):
            db.page(ADA, first=1)
        assert db.meter.reading("Order.key").amplification == 2
    assert caplog.records == []


@pytest.mark.parametrize("number", [-1, 1.5, None, True])
def test_hottest_takes_a_number_of_partitions(number: Any) -> None:
    with pytest.raises(ValueError, match=f"at least 0, not {number}"):
        Meter().hottest(number)


# Writes cost five times as much as reads, so a bill needs them apart.
def test_read_and_write_units_are_told_apart() -> None:
    with sk.connect("memory:", tables=[SHOP]) as db:
        db.create_tables()
        db.put(order(1))
        db.put_many([order(2), order(3)])
        db.get(order(1).key, consistent=True)
        transaction = sk.Transaction()
        transaction.put(order(4))
        db.transact(transaction)
        readings = db.meter.readings()
        written = sum(each.write_units for each in readings)
        read = sum(each.read_units for each in readings)
    assert read == 1
    # Each row is in an index, too; a transaction takes twice the units of the item, and once those of the index.
    assert written == 2 + 2 * 2 + 2 + 1
