"""`first` and `iterate(limit=…)`: some items, without reading the rest."""

from __future__ import annotations

import pytest

import sortkey as sk
from tests.model.sessions.shop import Customer, Order, Parcel, numbers, order

ADA = Order.key(customer="ada")


def test_the_first_item(db: sk.Session) -> None:
    assert db.first(ADA) is None
    db.batch(put=[order(number, visits=number % 5) for number in range(30)])
    assert numbers([item for item in (db.first(ADA), db.first(ADA, descending=True)) if item is not None]) == [0, 29]
    assert db.first(ADA.after(7)) == order(8, visits=3)
    assert db.first(ADA, where={"visits": 4}, consistent=True) == order(4, visits=4)
    assert db.first(ADA, where={"visits": 9}) is None


def test_limited_iteration(db: sk.Session) -> None:
    db.batch(put=[order(number, status="RARE" if number % 10 == 9 else "OPEN") for number in range(250)])
    assert numbers(list(db.iterate(ADA, limit=3))) == [0, 1, 2]
    assert numbers(list(db.iterate(ADA, limit=3, descending=True))) == [249, 248, 247]
    assert len(list(db.iterate(ADA, limit=1000))) == 250
    # The store's filter drops rows, so that one request may not be enough.
    assert numbers(list(db.iterate(ADA, limit=12, where={"status": "RARE"}))) == list(range(9, 120, 10))


# Three items cost three rows, not a page of 1 MB.
def test_no_more_rows_are_read_than_needed(db: sk.Session) -> None:
    db.batch(put=[order(number) for number in range(100)])
    list(db.iterate(ADA, limit=3))
    assert db.meter.reading("Order.key").rows_read == 3
    db.first(ADA)
    reading = db.meter.reading("Order.key")
    assert (reading.rows_read, reading.rows_returned) == (4, 4)


# Rows of other classes come first in the index; the read goes on behind them.
def test_rows_of_other_classes_do_not_count(db: sk.Session) -> None:
    db.batch(put=[*(order(number) for number in range(5)), Parcel(parcel="p", status="OPEN")])
    assert db.first(Parcel.by_status(status="OPEN")) == Parcel(parcel="p", status="OPEN")
    assert len(list(db.iterate(sk.collection(Customer.key, customer="ada"), limit=2))) == 2


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_is_at_least_one(db: sk.Session, limit: int) -> None:
    with pytest.raises(ValueError, match=f"limit must be at least 1, not {limit}"):
        list(db.iterate(ADA, limit=limit))
