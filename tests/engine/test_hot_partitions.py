"""Hot partitions by name, and the warning of those that pass DynamoDB's limits."""

from __future__ import annotations

import logging

import pytest

from sortkey.engine.database import Database
from sortkey.engine.hot_partitions import SHOWN_CHARACTERS, HotPartitions
from sortkey.limits import PARTITION_READ_UNITS, PARTITION_WRITE_UNITS
from tests.engine.conftest import Call
from tests.engine.orders import Orders, text

NOTE = text("x" * 8500)
"""Costs 9 units to write; small writes are sampled."""


def add(db: Database, key: str, *, reads: float = 0.0, writes: float = 0.0) -> None:
    """Load of one partition of the orders, as if it had come in requests."""
    with db.read() as snapshot:
        partition = db.catalog.require(snapshot, "orders").partition_prefix({"id": text(key)})
    if reads:
        db.partitions.reads.add(partition, reads)
    if writes:
        db.partitions.writes.add(partition, writes)


def test_loads_are_means_of_the_window(db: Database) -> None:
    Orders(db).put("a", note=NOTE)
    began = db.partitions.ends - 60.0
    add(db, "a", reads=40.0, writes=11.0)
    (found,) = HotPartitions(db, began).hottest(5, began + 10.0)
    assert (found.table, found.index, found.key) == ("orders", None, "a")
    loads = found.requests_per_second, found.read_units_per_second, found.write_units_per_second
    # The machine's clock has fractions that a difference rounds.
    assert loads == pytest.approx((0.3, 4.0, 2.0))


# The metrics are open to everyone, the items are not.
def test_keys_that_are_not_to_be_named_are_hashes(db: Database) -> None:
    Orders(db).put("secret", note=NOTE)
    (found,) = HotPartitions(db, 0.0).hottest(5, 0.0, named=False)
    assert found.table == "orders"
    assert found.key.startswith("hash:")
    assert len(found.key) == len("hash:") + 32


def test_a_long_key_is_cut(db: Database) -> None:
    Orders(db).put("k" * 2000, note=NOTE)
    assert HotPartitions(db, 0.0).hottest(5, 0.0)[0].key == "k" * SHOWN_CHARACTERS


@pytest.mark.parametrize(("kind", "value", "shown"), [("N", "7", "7"), ("B", "AP8=", "00ff")])
def test_numbers_and_binary(call: Call, db: Database, kind: str, value: str, shown: str) -> None:
    call(
        "CreateTable",
        TableName="things",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": kind}],
        BillingMode="PAY_PER_REQUEST",
    )
    call("PutItem", TableName="things", Item={"id": {kind: value}, "note": NOTE})
    assert [each.key for each in HotPartitions(db, 0.0).hottest(5, 0.0)] == [shown]


def test_the_table_may_be_gone(call: Call, db: Database) -> None:
    Orders(db).put("a", note=NOTE)
    call("DeleteTable", TableName="orders")
    (found,) = HotPartitions(db, 0.0).hottest(5, 0.0)
    assert found.table == "(deleted)"
    assert found.key.startswith("hash:")


def test_a_partition_that_passes_a_limit_is_warned_of(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    Orders(db).put("a\nb")
    hot = HotPartitions(db, 0.0)
    hot.each_second(1.0)
    add(db, "a\nb", writes=PARTITION_WRITE_UNITS, reads=PARTITION_READ_UNITS)
    with caplog.at_level(logging.WARNING, logger="sortkey"):
        hot.each_second(2.0)
        assert caplog.messages == []
        add(db, "a\nb", writes=PARTITION_WRITE_UNITS + 234)
        hot.each_second(3.0)
    assert caplog.messages == [
        "table orders: the partition 'a\\nb' takes 1,234 write units a second; DynamoDB serves 1,000 from one "
        "partition and throttles what exceeds that. Spread it over several partition keys, for example by sk.Shards"
    ]


def test_reads_have_a_limit_of_their_own(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    Orders(db)
    hot = HotPartitions(db, 0.0)
    add(db, "absent", reads=PARTITION_READ_UNITS + 1)
    hot.each_second(1.0)
    (message,) = caplog.messages
    assert "the partition 'hash:" in message
    assert "takes 3,001 read units a second; DynamoDB serves 3,000" in message


# The loop was busy: what came in four seconds is not the load of one.
def test_a_late_look_divides_by_its_seconds(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    Orders(db)
    hot = HotPartitions(db, 0.0)
    add(db, "a", writes=4 * PARTITION_WRITE_UNITS)
    hot.each_second(4.0)
    assert caplog.messages == []
    add(db, "a", writes=4 * PARTITION_WRITE_UNITS + 4)
    hot.each_second(8.0)
    assert len(caplog.messages) == 1


def test_a_partition_is_warned_of_once_a_minute(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    Orders(db)
    hot = HotPartitions(db, 0.0)
    for second in range(1, 122):
        add(db, "a", writes=PARTITION_WRITE_UNITS + 1)
        hot.each_second(float(second))
    assert len(caplog.messages) == 3
    add(db, "b", writes=PARTITION_WRITE_UNITS + 1)
    hot.each_second(122.0)
    assert len(caplog.messages) == 4


# The watch begins new windows, so that a partition that was hot an hour ago is not shown.
def test_the_windows_turn(db: Database) -> None:
    Orders(db).put("a", note=NOTE)
    began = db.partitions.ends - 60.0
    hot = HotPartitions(db, began)
    hot.each_second(began + 60.0)
    assert [each.key for each in hot.hottest(5, began + 60.0)] == ["a"]
    hot.each_second(began + 120.0)
    assert hot.hottest(5, began + 120.0) == []
