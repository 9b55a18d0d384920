"""Which partitions the requests of a session name, and their shares of the capacity units."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

import sortkey as sk
from sortkey.model.costs.meter import PartitionMeter, count_partitions
from tests.model.sessions.shop import SHOP, Customer, Order, order

ADA = "CUSTOMER#ada"
Totals = dict[tuple[str, str | None, str], tuple[int, float, float]]


class Reading(sk.Item, table="partition-readings"):
    sensor: int
    digest: bytes
    place: str
    floor: int
    value: Decimal = Decimal(0)
    key = sk.Key("{sensor}", "{digest}")
    by_place = sk.Index("by_place", ("place", "floor"), ("sensor", "digest"))


class Blob(sk.Item, table="partition-blobs"):
    digest: bytes
    size: int = 0
    key = sk.Key("{digest}")


class Score(sk.Item, table="partition-scores"):
    game: str
    player: str
    points: int
    key = sk.Key("GAME#{game}#PLAYER#{player}", "SCORE")
    top = sk.Index("top", "GAME#{game}", "{points}", shards=sk.Shards(4, by="player"))


def totals(session: sk.Session | sk.AsyncSession) -> Totals:
    return {
        (each.table, each.index, each.key): (each.requests, each.read_units, each.write_units)
        for each in session.meter.hottest(1000)
    }


def test_each_kind_of_request() -> None:
    with sk.connect("memory:", tables=[SHOP]) as db:
        db.create_tables()
        assert db.meter.hottest() == []
        db.put(order(1, city="ulm"))
        db.update(Order.key(customer="ada", number=1), {"total": Decimal(5)})
        # With the units of the two indexes.
        assert totals(db) == {("shop", None, ADA): (2, 0.0, 3.0 + 3.0)}
        db.get(Order.key(customer="ada", number=1))
        db.get(Order.key(customer="ada", number=1), consistent=True)
        db.page(Order.key(customer="ada"))
        assert totals(db)["shop", None, ADA] == (5, 0.5 + 1.0 + 0.5, 6.0)
        db.page(Order.by_status(status="OPEN"))
        assert totals(db)["shop", "gsi1", "STATUS#OPEN"] == (1, 0.5, 0.0)
        db.delete(Order.key(customer="ada", number=1))
        assert totals(db)["shop", None, ADA] == (6, 2.0, 9.0)


def test_batches_and_transactions_count_each_key() -> None:
    with sk.connect("memory:", tables=[SHOP]) as db:
        db.create_tables()
        db.batch(
            put=[Customer(customer="ada"), Customer(customer="bob"), Customer(customer="cy")],
            delete=[Customer.key(customer="dan")],
        )
        assert totals(db) == {("shop", None, f"CUSTOMER#{name}"): (1, 0.0, 1.0) for name in ("ada", "bob", "cy", "dan")}
        db.get_many([Customer.key(customer="ada"), Customer.key(customer="bob")])
        assert totals(db)["shop", None, ADA] == (2, 0.5, 1.0)
        db.lookup(Customer.key, [{"customer": "ada"}, {"customer": "bob"}])
        assert totals(db)["shop", None, ADA] == (3, 1.0, 1.0)
        transaction = sk.Transaction()
        transaction.put(Customer(customer="ada", name="Ada"))
        transaction.delete(Customer.key(customer="bob"))
        db.transact(transaction)
        # Transactions cost twice as much.
        assert totals(db)["shop", None, ADA] == (4, 1.0, 3.0)
        assert totals(db)["shop", None, "CUSTOMER#bob"] == (4, 1.0, 3.0)
        db.get_many([Customer.key(customer="ada")], transaction=True)
        assert totals(db)["shop", None, ADA] == (5, 3.0, 3.0)


# Stores report units in shapes of their own; none may be lost.
def test_partitions_have_all_units_that_the_paths_have(store: str) -> None:
    with sk.connect(store, tables=[SHOP]) as db:
        db.create_tables()
        db.batch(put=[order(number) for number in range(5)])
        db.put(Customer(customer="bob"))
        db.page(Order.key(customer="ada"))
        db.page(Order.by_status(status="OPEN"))
        db.lookup(Customer.key, [{"customer": "ada"}, {"customer": "bob"}])
        transaction = sk.Transaction()
        transaction.put(order(9))
        transaction.delete(Customer.key(customer="bob"))
        db.transact(transaction)
        found = db.meter.hottest()
        assert {(each.index, each.key): each.requests for each in found} == {
            (None, ADA): 8,
            (None, "CUSTOMER#bob"): 3,
            ("gsi1", "STATUS#OPEN"): 1,
        }
        units = sum(each.read_units + each.write_units for each in found)
        assert units == pytest.approx(sum(reading.units for reading in db.meter.readings()))


# The fast path of a lookup builds a product of partition keys and sort keys.
def test_lookups_by_a_product_of_keys() -> None:
    with sk.connect("memory:", tables=[SHOP]) as db:
        db.create_tables()
        db.lookup(Order.key, sk.each(customer=["ada", "bob"], number=[1, 2, 3]))
        assert totals(db) == {("shop", None, f"CUSTOMER#{name}"): (3, 1.5, 0.0) for name in ("ada", "bob")}
        db.lookup(Order.key, [{"customer": "ada", "number": number} for number in (1, 2, 2)])
        assert totals(db)["shop", None, ADA] == (5, 2.5, 0.0)


def test_an_async_session_counts_the_same() -> None:
    async def main() -> None:
        async with sk.async_connect("memory:", tables=[SHOP]) as db:
            await db.create_tables()
            await db.put(Customer(customer="ada"))
            await db.get(Customer.key(customer="ada"))
            await db.page(Customer.key(customer="ada"))
            assert totals(db) == {("shop", None, ADA): (3, 1.0, 1.0)}

    asyncio.run(main())


def test_numbers_binary_and_keys_of_several_attributes() -> None:
    with sk.connect("memory:", tables=[Reading, Blob]) as db:
        db.create_tables()
        db.put(Reading(sensor=7, digest=b"\x01", place="attic", floor=3))
        db.get(Reading.key(sensor=7, digest=b"\x01"))
        db.page(Reading.by_place(place="attic", floor=3))
        db.page(Reading.by_place(place="attic", floor=3, sensor=7))
        db.put(Blob(digest=b"\x00\xfe"))
        db.get(Blob.key(digest=b"\x00\xfe"))
        assert totals(db) == {
            ("partition-readings", None, "7"): (2, 0.5, 2.0),
            ("partition-readings", "by_place", "attic,3"): (2, 1.0, 0.0),
            ("partition-blobs", None, "00fe"): (2, 0.5, 1.0),
        }


# That is what shards are for: no partition has all of the reads.
def test_each_shard_is_a_partition() -> None:
    with sk.connect("memory:", tables=[Score]) as db:
        db.create_tables()
        db.page(Score.top(game="chess"), first=2)
        found = db.meter.hottest()
        assert len(found) == 4
        assert {(each.index, each.requests) for each in found} == {("top", 1)}


# A scan reads all partitions, none more than another; tables have none.
def test_requests_without_a_partition_count_for_none() -> None:
    with sk.connect("memory:", tables=[SHOP]) as db:
        db.create_tables()
        list(db.scan(Customer))
        assert db.meter.hottest() == []


# ScyllaDB reports no units for some requests; a hot partition must be seen there, too.
@pytest.mark.parametrize(
    ("operation", "members", "consistent", "least"),
    [
        ("GetItem", {"TableName": "shop", "Key": {"pk": {"S": ADA}}}, False, (0.5, 0.0)),
        ("GetItem", {"TableName": "shop", "Key": {"pk": {"S": ADA}}}, True, (1.0, 0.0)),
        ("UpdateItem", {"TableName": "shop", "Key": {"pk": {"S": ADA}}}, False, (0.0, 1.0)),
        ("BatchGetItem", {"RequestItems": {"shop": {"Keys": [{"pk": {"S": ADA}}]}}}, False, (0.5, 0.0)),
        ("BatchWriteItem", {"RequestItems": {"shop": [{"DeleteRequest": {"Key": {"pk": {"S": ADA}}}}]}}, False, (0, 1)),
    ],
)
def test_without_reported_units_each_key_counts_as_the_smallest(
    operation: str, members: dict[str, Any], consistent: bool, least: tuple[float, float]
) -> None:
    meter = PartitionMeter()
    count_partitions(meter, operation, members, {}, 0.0, consistent)
    (reading,) = meter.hottest(10)
    assert (reading.key, reading.requests) == (ADA, 1)
    assert (reading.read_units, reading.write_units) == least


# The index of a store that no class declares, and the put into a table that none declares.
def test_an_undeclared_table_is_left_out() -> None:
    meter = PartitionMeter()
    count_partitions(meter, "PutItem", {"TableName": "partition-unknown", "Item": {"pk": {"S": "a"}}}, {}, 1.0, False)
    assert meter.hottest(10) == []
