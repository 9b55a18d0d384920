"""Rows that are no item of any class, and rows that their class cannot read: never lost without a word."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

import sortkey as sk
from tests.model.sessions.shop import SHOP, Customer, Order, Parcel, numbers, order

ADA = Order.key(customer="ada")


def put_row(db: sk.Session, pk: str, sort: str, **attributes: Any) -> None:
    db.client.put_item(TableName="shop", Item={"pk": {"S": pk}, "sk": {"S": sort}, **attributes})


# `{number:06}` writes ORDER#000003.
def put_foreign(db: sk.Session) -> None:
    put_row(db, "CUSTOMER#ada", "ORDER#3", customer={"S": "ada"}, number={"N": "3"})
    put_row(db, "CUSTOMER#ada", "ORDER#12", customer={"S": "ada"}, number={"N": "12"})


@pytest.mark.parametrize(
    ("read", "found"),
    [
        (lambda db: numbers(list(db.iterate(ADA))), [1]),
        (lambda db: numbers(db.page(ADA).items), [1]),
        (lambda db: db.count(ADA), 1),
    ],
    ids=["iterate", "page", "count"],
)
def test_unrecognised_rows_are_counted_and_warned_of_once(
    db: sk.Session, caplog: pytest.LogCaptureFixture, read: Callable[[sk.Session], object], found: object
) -> None:
    db.put(order(1))
    put_foreign(db)
    assert read(db) == found
    assert db.meter.reading("Order.key").rows_unrecognised == 2
    (record,) = caplog.records
    assert record.getMessage() == (
        "Order.key: table shop has a row with the key pk='CUSTOMER#ada', sk='ORDER#12', which no class recognises, so "
        "it is not returned; Order.key = sk.Key('CUSTOMER#{customer}', 'ORDER#{number:d}') would read it. The meter "
        "counts such rows"
    )
    read(db)
    assert len(caplog.records) == 1
    assert db.meter.reading("Order.key").rows_unrecognised == 4
    assert " 4 " in str(db.meter)


# The rows of Customer and Parcel lie among those of Order, and are none of its business.
def test_rows_of_other_classes_are_not_reported(db: sk.Session, caplog: pytest.LogCaptureFixture) -> None:
    db.batch(put=[order(1), Customer(customer="ada"), Parcel(parcel="p", status="OPEN")])
    assert numbers(list(db.iterate(Order.by_status(status="OPEN")))) == [1]
    assert db.count(Order.by_status(status="OPEN")) == 1
    assert len(list(db.iterate(sk.collection(Customer.key, customer="ada")))) == 2
    assert db.meter.reading("Order.by_status").rows_unrecognised == 0
    assert caplog.records == []


# Both say how many items there are.
def test_counting_a_collection_agrees_with_iterating(db: sk.Session, caplog: pytest.LogCaptureFixture) -> None:
    db.batch(put=[order(1), Customer(customer="ada")])
    put_foreign(db)
    put_row(db, "CUSTOMER#ada", "NOTE#1")
    path = sk.collection(Customer.key, customer="ada")
    assert db.count(path) == len(list(db.iterate(path))) == len(db.page(path).items) == 2
    assert db.meter.reading("Customer.key").rows_unrecognised == 9
    (record,) = caplog.records
    assert "declare a class with such a key to read it" in record.getMessage()


def put_undecodable(db: sk.Session) -> None:
    put_row(db, "CUSTOMER#ada", "ORDER#000002", customer={"S": "ada"}, number={"N": "2"}, total={"S": "much"})


def test_an_undecodable_row_is_named(db: sk.Session) -> None:
    db.batch(put=[order(number) for number in (1, 3)])
    put_undecodable(db)
    said = (
        r"Order\.total: expected N, found .* table shop with the key pk='CUSTOMER#ada', sk='ORDER#000002'\. Repair it"
    )
    for read in (
        lambda: list(db.iterate(ADA)),
        lambda: db.page(ADA),
        lambda: db.lookup(Order.key, [{"customer": "ada", "number": number} for number in (1, 2)]),
    ):
        with pytest.raises(sk.DecodeError, match=said) as raised:
            read()
        assert raised.value.key == {"pk": {"S": "CUSTOMER#ada"}, "sk": {"S": "ORDER#000002"}}


def test_undecodable_rows_can_be_skipped(db: sk.Session, caplog: pytest.LogCaptureFixture) -> None:
    db.batch(put=[order(number) for number in (1, 3, 4)])
    put_undecodable(db)
    assert numbers(list(db.iterate(ADA, undecodable="skip"))) == [1, 3, 4]
    page = db.page(ADA, first=2, undecodable="skip")
    assert (numbers(page.items), page.has_next) == ([1, 3], True)
    page = db.page(ADA, first=2, after=page.end_cursor, undecodable="skip")
    assert (numbers(page.items), page.has_next) == ([4], False)
    assert db.meter.reading("Order.key").rows_undecodable == 2
    (record,) = caplog.records
    assert "Order.key: a row is skipped, and counted by the meter: Order.total: expected N" in record.getMessage()


def test_the_option_has_two_values(memory: sk.Session) -> None:
    other: Any = "ignore"
    with pytest.raises(ValueError, match="must be 'raise' or 'skip', not 'ignore'"):
        memory.page(ADA, undecodable=other)


OLD = sk.Table("skipped-old")


class Reading(sk.Item, table=OLD, version=2):
    name: str
    value: int = 0
    key = sk.Key("READINGS", "{name}")


@Reading.upgrade(1)
def _split(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "value": row["text"].split()[1]}


# An upgrade may raise anything.
def test_an_upgrade_that_fails_is_an_undecodable_row(store: str) -> None:
    with sk.connect(store, tables=[OLD]) as db:
        db.create_tables()
        db.put(Reading(name="b", value=2))
        row = {"pk": {"S": "READINGS"}, "sk": {"S": "a"}, "name": {"S": "a"}}
        db.client.put_item(TableName="skipped-old", Item=row)
        with pytest.raises(sk.DecodeError, match=r"KeyError: 'text'; this is the row of table skipped-old"):
            list(db.iterate(Reading.key()))
        assert list(db.iterate(Reading.key(), undecodable="skip")) == [Reading(name="b", value=2)]


def test_the_warning_is_the_models(memory: sk.Session, caplog: pytest.LogCaptureFixture) -> None:
    put_foreign(memory)
    with caplog.at_level(logging.WARNING, logger="sortkey"):
        memory.count(ADA)
    assert [record.name for record in caplog.records] == ["sortkey.model.calls.skipped_rows"]
    assert SHOP.name in caplog.text
