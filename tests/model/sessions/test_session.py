"""The calls of sessions, on every store, sync and async."""

from __future__ import annotations

from decimal import Decimal

import msgspec
import pytest

import sortkey as sk
from tests.model.sessions.shop import Customer, Order, Parcel, numbers, order


def test_get_gives_the_item_or_nothing(db: sk.Session) -> None:
    made = order(1, total=Decimal("9.50"), tags={"a", "b"}, notes=["x"])
    assert db.put(made)
    assert db.get(Order.key(customer="ada", number=1)) == made
    assert db.get(Order.key(customer="ada", number=1), consistent=True) == made
    assert db.get(Order.key(customer="ada", number=2)) is None


def test_get_needs_an_exact_key(db: sk.Session) -> None:
    with pytest.raises(sk.NoAccessPath, match="needs number"):
        db.get(Order.key(customer="ada"))
    with pytest.raises(sk.NoAccessPath, match="not one item's primary key"):
        db.get(Order.by_status(status="OPEN", number=1))


# More than a batch holds, some twice, some missing.
def test_lookup_keeps_the_order_of_its_keys(db: sk.Session) -> None:
    db.batch(put=[order(number) for number in range(0, 150, 2)])
    wanted = [149, 0, *range(150), 0]
    found = db.lookup(Order.key, [{"customer": "ada", "number": number} for number in wanted])
    assert [each and each.number for each in found] == [number if number % 2 == 0 else None for number in wanted]
    assert db.lookup(Order.key, []) == []


def test_lookup_is_by_the_primary_key(db: sk.Session) -> None:
    with pytest.raises(sk.NoAccessPath, match="index"):
        db.lookup(Order.by_status, [{"status": "OPEN", "number": 1}])


# The newest write wins, in whatever order and however often writes arrive.
def test_newer_by_writes_only_newer_items(db: sk.Session) -> None:
    assert db.put(order(1, updated=5, status="NEW"), newer_by="updated")
    assert not db.put(order(1, updated=5, status="SAME"), newer_by="updated")
    assert not db.put(order(1, updated=4, status="OLD"), newer_by="updated")
    assert db.put(order(1, updated=6, status="NEWER"), newer_by="updated")
    stored = db.get(Order.key(customer="ada", number=1))
    assert stored is not None
    assert stored.status == "NEWER"


def test_if_absent_never_replaces(db: sk.Session) -> None:
    assert db.put(order(1, status="FIRST"), if_absent=True)
    assert not db.put(order(1, status="SECOND"), if_absent=True)


def test_if_version_rejects_an_outdated_item(db: sk.Session) -> None:
    mine = order(1)
    assert db.put(mine, if_version="revision")
    assert mine.revision == 1
    theirs = db.get(mine.key)
    assert theirs == mine
    assert db.put(theirs, if_version="revision")
    mine.status = "LOST"
    with pytest.raises(sk.ConditionFailed, match=r"revision is 1, but the stored item has 2") as error:
        db.put(mine, if_version="revision")
    assert error.value.item == theirs
    assert mine.revision == 1


def test_a_put_has_one_condition(db: sk.Session) -> None:
    with pytest.raises(ValueError, match="a put takes one of"):
        db.put(order(1), if_absent=True, newer_by="updated")


def test_delete_gives_what_was_there(db: sk.Session) -> None:
    db.put(order(1))
    with pytest.raises(sk.ConditionFailed) as error:
        db.delete(order(1).key, where={"status": "DONE"})
    assert error.value.item == order(1)
    assert db.delete(order(1).key, where={"status": "OPEN"}) == order(1)
    assert db.delete(order(1).key) is None


# One partition holds a customer and its orders; a path gives only its own class.
def test_other_classes_on_a_path_are_left_out(db: sk.Session) -> None:
    db.batch(put=[Customer(customer="ada"), order(1), order(2), Parcel(parcel="p", status="OPEN")])
    assert numbers(list(db.iterate(Order.by_status(status="OPEN")))) == [1, 2]
    assert db.count(Order.by_status(status="OPEN")) == 2
    assert numbers(db.page(Order.by_status(status="OPEN"), first=5).items) == [1, 2]
    everything = list(db.iterate(sk.collection(Customer.key, customer="ada")))
    assert everything == [order(1), order(2), Customer(customer="ada")]
    assert db.count(sk.collection(Customer.key, customer="ada")) == 3


def test_count_and_iterate_take_conditions_and_orders(db: sk.Session) -> None:
    db.batch(put=[order(number, status="OPEN" if number % 3 else "DONE", visits=number) for number in range(10)])
    path = Order.key(customer="ada")
    assert db.count(path) == 10
    assert db.count(path, where={"status": "DONE"}) == 4
    assert numbers(list(db.iterate(path, where=sk.F(Order.visits) > 6, descending=True))) == [9, 8, 7]
    assert numbers(list(db.iterate(path, where=sk.F(Order.status).is_in("DONE", "X") & (sk.F(Order.visits) < 5)))) == [
        0,
        3,
    ]
    assert db.count(path, where={"city": None}) == db.count(path, where=sk.F(Order.city).not_exists()) == 10
    assert db.count(path, where=sk.F(Order.city).exists()) == 0
    assert db.count(path, where=sk.F(Order.visits) != 0) == 9
    with pytest.raises(sk.UnknownField, match="did you mean 'status'"):
        db.count(path, where={"statu": "DONE"})


def test_batch_writes_more_than_a_request_holds(db: sk.Session) -> None:
    db.batch(put=[order(number) for number in range(60)])
    db.batch(put=[order(100), order(100, status="LAST")], delete=[order(number).key for number in range(58)])
    assert [(each.number, each.status) for each in db.iterate(Order.key(customer="ada"))] == [
        (58, "OPEN"),
        (59, "OPEN"),
        (100, "LAST"),
    ]


def test_calls_are_metered_by_path(db: sk.Session) -> None:
    db.batch(put=[order(number) for number in range(5)])
    db.get(order(1).key)
    db.page(Order.by_status(status="OPEN"), first=3)
    reading = db.meter.reading("Order.by_status")
    assert (reading.calls, reading.rows_read, reading.rows_returned) == (1, 4, 3)
    assert (reading.units > 0) is db.capabilities.consumed_capacity
    assert reading.seconds > 0
    assert db.meter.reading("Order.key").calls == 1
    assert "Order.by_status" in str(db.meter)


def test_lookup_as_reads_rows_by_a_function(db: sk.Session) -> None:
    db.batch(put=[order(number) for number in range(120)])
    texts: list[bytes] = []

    def read(text: bytes) -> list[int | None]:
        texts.append(text)
        return [None if row is None else int(row["number"]["N"]) for row in msgspec.json.decode(text)]

    wanted = [*range(119, 200), *range(60), 5]
    expected = [number if number < 120 else None for number in wanted]
    keys = [{"customer": "ada", "number": number} for number in wanted]
    assert db.lookup_as(Order.key, keys, read) == expected
    assert db.lookup_as(Order.key, sk.each(customer="ada", number=wanted), read) == expected
    assert db.lookup_as(Order.key, [], read) == []
    assert len(texts) == 3
    with pytest.raises(sk.NoAccessPath, match="is an index"):
        db.lookup_as(Order.by_status, [], read)


def test_a_lookup_takes_combinations_of_values(db: sk.Session) -> None:
    db.batch(put=[order(1), order(2), sk.replace(order(2), customer="bob")])
    assert db.lookup(Order.key, sk.each(customer=["ada", "bob", "eve"], number=(1, 2))) == [
        order(1),
        order(2),
        None,
        sk.replace(order(2), customer="bob"),
        None,
        None,
    ]
    # The last one given varies fastest, whatever the order in the key.
    assert db.lookup(Order.key, sk.each(number=range(1, 3), customer=("bob", "ada"))) == [
        None,
        order(1),
        sk.replace(order(2), customer="bob"),
        order(2),
    ]
    assert db.lookup(Order.key, sk.each(customer="ada", number=1)) == [order(1)]
    assert db.lookup(Order.key, sk.each(customer="ada", number=[])) == []
    with pytest.raises(sk.KeyPartError, match="takes exactly customer, number"):
        db.lookup(Order.key, sk.each(customer="ada"))
    with pytest.raises(sk.KeyPartError, match="number"):
        db.lookup(Order.key, sk.each(customer="ada", number=["one"]))
