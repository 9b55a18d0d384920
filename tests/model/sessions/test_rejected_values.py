"""What a store rejects in a value is a ModelError that names the class and the field, whatever the call and the store.

It stays the store's ClientError, so that a program that catches that one still does.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from botocore.exceptions import ClientError

import sortkey as sk
from tests.model.sessions.shop import Customer, Order, order
from tests.stores import needs

LONG = "x" * 2100
HALF = "a\ud800b"
HUGE = "x" * 410_000
ONE = Order.key(customer="ada", number=1)

CALLS: dict[str, tuple[Callable[[sk.Session], Any], str]] = {
    "put, partition key": (lambda db: db.put(Customer(customer=LONG)), "Customer.customer: the partition key"),
    "put, index key": (lambda db: db.put(order(1, city=LONG)), "Order.city: the partition key 'CITY#{city}' of Order"),
    "put, sort key of an index": (lambda db: db.put(order(1, city="x", status="y" * 1100)), "Order.status: the sort"),
    "put, size": (lambda db: db.put(order(1, notes=["x", HUGE])), "Order.notes: the item would have 410,"),
    "put, text": (lambda db: db.put(order(1, notes=["x", HALF])), r"Order.notes\[1\]: 'a\\ud800b' has half"),
    "put with a condition": (lambda db: db.put(order(1, notes=[HUGE]), where={"status": "x"}), "Order.notes: the item"),
    "get": (lambda db: db.get(Customer.key(customer=LONG)), "Customer.customer: the partition key"),
    "get, text": (lambda db: db.get(Customer.key(customer=HALF)), "Customer.key: customer: .* has half"),
    "lookup": (lambda db: db.lookup(Customer.key, [{"customer": "a"}, {"customer": LONG}]), "Customer.customer: the"),
    "get_many": (lambda db: db.get_many([Customer.key(customer=LONG)]), "Customer.customer: the partition key"),
    "page, text": (lambda db: db.page(Order.by_status(status=HALF)), "half of a surrogate pair"),
    "filter": (lambda db: db.page(Order.key(customer="ada"), where={"status": HALF}), "Order.status: .* has half"),
    "delete": (lambda db: db.delete(Customer.key(customer=LONG)), "Customer.customer: the partition key"),
    "update, text": (lambda db: db.update(ONE, {"notes": [HALF]}), r"Order.notes\[0\]: .* has half"),
    "update, size": (lambda db: db.update(ONE, [sk.F(Order.notes).append([HUGE])]), "Order: the update of notes"),
    "batch": (lambda db: db.batch(put=[order(2), order(3, notes=[HUGE])]), "Order.notes: the item would have"),
    "batch, delete": (lambda db: db.batch(delete=[Customer.key(customer=LONG)]), "Customer.customer: the partition"),
    "load": (lambda db: db.load([order(2), order(3, notes=[HALF])]), r"Order.notes\[0\]: .* has half"),
    "load, size": (lambda db: db.load([order(2), order(3, notes=[HUGE])]), "Order.notes: the item would have"),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_call_names_the_field(db: sk.Session, name: str) -> None:
    call, message = CALLS[name]
    db.put(order(1))
    with pytest.raises(sk.ModelError, match=message):
        call(db)
    assert db.get(ONE) == order(1)


# A program may have two declarations of a table, an old one and a new one.
def test_the_class_that_declares_the_fields_is_named(memory: sk.Session) -> None:
    class OldOrder(sk.Item, table=sk.Table("shop")):
        customer: str
        number: int
        status: str = "OPEN"

        key = sk.Key("CUSTOMER#{customer}", "ORDER#{number:06}")

    memory.put(OldOrder(customer="ada", number=1))
    with pytest.raises(sk.ModelError, match=r"Order\.notes: the item would have"):
        memory.put(order(1, notes=[HUGE]))
    with pytest.raises(sk.KeyPartError, match=r"Order\.city: the partition key"):
        memory.update(ONE, {"city": LONG})


# DynamoDB Local accepts it.
def test_an_update_names_the_field_of_an_index_key(memory: sk.Session) -> None:
    memory.put(order(1))
    with pytest.raises(sk.KeyPartError, match=r"Order\.city: the partition key 'CITY#{city}' of Order\.by_city"):
        memory.update(ONE, {"city": LONG})


# The remote client writes a transaction by another way.
def test_a_transaction_names_the_field(db: sk.Session) -> None:
    needs(db.capabilities, "transactions")
    transaction = sk.Transaction()
    transaction.put(order(1))
    transaction.put(order(2, notes=[HALF]))
    with pytest.raises(sk.ModelError, match=r"Order.notes\[0\]: .* has half"):
        db.transact(transaction)
    assert db.get(ONE) is None


def test_it_is_the_error_of_the_store_too(memory: sk.Session) -> None:
    with pytest.raises(ClientError) as caught:
        memory.put(order(1, notes=[HUGE]))
    error = caught.value
    assert isinstance(error, sk.EncodeError)
    assert error.response["Error"]["Code"] == "ValidationException"
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert copy.response == error.response


def test_other_errors_of_the_store_are_unchanged(store: str) -> None:
    with sk.connect(store) as session, pytest.raises(ClientError) as caught:
        session.put(order(1))
    assert not isinstance(caught.value, sk.ModelError)


class Instant(datetime):
    """As pendulum's: a subclass with methods of its own."""

    def __str__(self) -> str:
        return "an instant"

    def isoformat(self, *_: Any, **__: Any) -> str:
        return "an instant"


class Event(sk.Item, table="rejected-events"):
    id: str
    at: datetime = datetime(2026, 8, 24, tzinfo=UTC)
    payload: Any = None
    count: int = 0

    key = sk.Key("EVENT#{id}")
    by_time = sk.Index("gsi1", "EVENTS", "{at}#{id}")


@pytest.fixture
def events() -> Iterator[sk.Session]:
    with sk.connect("memory:", tables=[Event]) as session:
        session.create_tables()
        yield session


def test_a_subclass_of_datetime_is_the_time_that_it_equals(events: sk.Session) -> None:
    at = Instant(2026, 8, 24, 12, 30, tzinfo=timezone(timedelta(hours=2)))
    events.put(Event(id="1", at=at))
    found = events.get(Event.key(id="1"))
    assert found is not None
    assert found.at == at
    assert type(found.at) is datetime


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("at", datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))),
        ("at", datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-11)))),
        ("count", 10**5000),
        ("payload", 10**5000),
        ("payload", {"a": {"b": [10**50 + 1]}}),
    ],
    ids=["year 1", "year 9999", "digits", "digits in Any", "digits inside"],
)
def test_what_no_row_can_hold_is_rejected_before_the_request(events: sk.Session, field: str, value: Any) -> None:
    with pytest.raises(sk.EncodeError, match=f"Event.{field}: "):
        events.put(Event(**{"id": "1", field: value}))


def test_a_list_that_contains_itself(events: sk.Session) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(sk.EncodeError, match=r"Event.payload: list has too many levels"):
        events.put(Event(id="1", payload=endless))


class Unshowable:
    def __repr__(self) -> str:
        raise OSError("no repr")


@pytest.mark.parametrize("field", ["id", "at", "payload", "count"])
def test_a_value_that_cannot_be_shown(events: sk.Session, field: str) -> None:
    values: dict[str, Any] = {"id": "1", field: Unshowable()}
    with pytest.raises(sk.EncodeError, match=f"Event.{field}: .*its repr raises OSError"):
        events.put(Event(**values))
