"""`db.get_many`: exact keys of several classes and tables, in batches or in one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_type

import pytest

import sortkey as sk
from sortkey.client.errors import client_error
from sortkey.errors import DynamoDBError
from tests.model.sessions.old_rows import put_row
from tests.model.sessions.shop import SHOP, Customer, Order, Parcel, order

LOGS = sk.Table("many-logs")
ADA = Customer(customer="ada", name="Ada")


class Log(sk.Item, table=LOGS):
    id: bytes
    number: int
    text: str = ""

    key = sk.Key("{id}", "{number}", names=("id", "number"))


@pytest.fixture
def many(db: sk.Session) -> sk.Session:
    db.create_tables(LOGS)
    db.batch(put=[ADA, Parcel(parcel="p", status="OPEN"), *map(order, range(150)), Log(id=b"\x00\xff", number=1)])
    return db


both = pytest.mark.parametrize("transaction", [False, True])


@both
def test_several_classes_and_tables(many: sk.Session, transaction: bool) -> None:
    paths = [
        order(2).key,
        Customer.key(customer="nobody"),
        ADA.key,
        Log.key(id=b"\x00\xff", number=1),
        order(1).key,
        order(2).key,
        Log.key(id=b"\x00", number=1),
    ]
    found = many.get_many(paths, consistent=True, transaction=transaction)
    assert found == [order(2), None, ADA, Log(id=b"\x00\xff", number=1), order(1), order(2), None]
    reading = many.meter.reading("get_many Customer, Log, Order")
    assert (reading.calls, reading.rows_read, reading.rows_returned) == (1, 4, 4)
    assert many.get_many([], transaction=transaction) == []


# A tuple has the type of each of its paths.
@both
def test_a_tuple_of_paths(many: sk.Session, transaction: bool) -> None:
    two = many.get_many((ADA.key, order(7).key), transaction=transaction)
    assert_type(two, tuple[Customer | None, Order | None])
    assert two == (ADA, order(7))
    four = many.get_many((ADA.key, order(7).key, Parcel.key(parcel="x"), order(8).key), transaction=transaction)
    assert_type(four, tuple[Customer | None, Order | None, Parcel | None, Order | None])
    assert four == (ADA, order(7), None, order(8))
    assert_type(many.get_many([order(7).key]), list[Order | None])


def test_more_than_a_request_takes(many: sk.Session) -> None:
    paths: list[sk.AccessPath[Any]] = [*(order(number).key for number in range(150)), ADA.key]
    assert many.get_many(path for path in paths) == [*map(order, range(150)), ADA]
    with pytest.raises(ValueError, match="a transaction reads at most 100 items, not 151"):
        many.get_many(paths, transaction=True)


# Twice a consistent read of each item.
def test_what_a_transaction_costs(memory: sk.Session) -> None:
    memory.batch(put=[order(1), ADA])
    memory.get_many((order(1).key, ADA.key), transaction=True)
    assert memory.meter.reading("get_many Customer, Order").units == 4


@both
def test_a_row_that_cannot_be_decoded_is_named(many: sk.Session, transaction: bool) -> None:
    put_row(many, {"pk": {"S": "CUSTOMER#ada"}, "sk": {"S": "ORDER#000200"}, "total": {"S": "much"}}, "shop")
    with pytest.raises(sk.DecodeError, match="sk='ORDER#000200'"):
        many.get_many([ADA.key, Order.key(customer="ada", number=200)], transaction=transaction)


@both
def test_only_exact_keys(many: sk.Session, transaction: bool) -> None:
    with pytest.raises(sk.NoAccessPath, match="needs number"):
        many.get_many([Order.key(customer="ada")], transaction=transaction)
    with pytest.raises(TypeError, match="expected an access path, not an item"):
        many.get_many([order(1)], transaction=transaction)  # type: ignore[arg-type]


class Busy:
    """Answers with errors first."""

    def __init__(self, session: sk.Session, errors: Iterator[Any]) -> None:
        self._session = session
        self._call = session._runner._send
        self._errors = errors
        session._runner._send = self.send  # type: ignore[method-assign]

    def send(self, call: Any) -> dict[str, Any]:
        error = next(self._errors, None)
        if isinstance(error, dict):
            return error
        if error is not None:
            raise error
        return self._call(call)


def error(code: str, **members: Any) -> Exception:
    cls = type(code, (DynamoDBError,), {})
    made = client_error("TransactGetItems", {}, cls("not now"))
    made.response.update(members)  # type: ignore[typeddict-item]
    return made


def test_what_the_store_leaves_out_is_requested_again() -> None:
    with sk.connect("memory:", tables=[SHOP]) as db:
        db.create_tables()
        db.batch(put=[order(1), ADA])
        keys = {"shop": {"Keys": [ADA.key.key(), order(1).key.key()]}}
        Busy(db, iter([error("ThrottlingException"), {"Responses": {}, "UnprocessedKeys": keys}]))
        assert db.get_many((order(1).key, ADA.key)) == (order(1), ADA)


def test_conflicts_are_retried() -> None:
    with sk.connect("memory:", tables=[SHOP]) as db:
        db.create_tables()
        db.put(ADA)
        conflict = [{"Code": "TransactionConflict"}, {"Code": "None"}]
        Busy(db, iter([error("TransactionCanceledException", CancellationReasons=conflict)]))
        assert db.get_many((ADA.key, order(1).key), transaction=True) == (ADA, None)
        other = [{"Code": "ValidationError"}, {"Code": "TransactionConflict"}]
        Busy(db, iter([error("TransactionCanceledException", CancellationReasons=other)]))
        with pytest.raises(db.client.exceptions.TransactionCanceledException):
            db.get_many((ADA.key, order(1).key), transaction=True)
