"""Transactions with a token are made once, however often they are sent."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

import sortkey as sk
from tests.model.sessions.shop import Order, order
from tests.stores import needs

FIRST = Order.key(customer=order(1).customer, number=1)


def noting(token: str, text: str = "note") -> sk.Transaction:
    transaction = sk.Transaction(token=token)
    transaction.update(FIRST, [sk.F(Order.notes).append([text])])
    return transaction


def visiting(token: str) -> sk.Transaction:
    """The key of an index has the field, so the item is read first."""
    transaction = sk.Transaction(token=token)
    transaction.update(FIRST, [sk.F(Order.visits).add(1)])
    return transaction


def stored(db: sk.Session) -> Order:
    found = db.get(FIRST, consistent=True)
    assert found is not None
    return found


@pytest.fixture
def token() -> str:
    """The tests of one store share its tokens."""
    return uuid4().hex


@pytest.fixture(autouse=True)
def first_order(db: sk.Session) -> None:
    needs(db.capabilities, "transactions")
    db.put(order(1))


def test_a_token_is_used_once(db: sk.Session, token: str) -> None:
    db.transact(noting(token))
    db.transact(noting(token))
    assert stored(db).notes == ["note"]
    db.transact(noting(token[::-1]))
    assert stored(db).notes == ["note", "note"]


def test_a_transaction_may_be_sent_again(db: sk.Session, token: str) -> None:
    again = visiting(token)
    db.transact(again)
    db.transact(again)
    assert stored(db).visits == 1


def test_a_token_of_another_transaction_is_an_error(db: sk.Session, token: str) -> None:
    db.transact(noting(token))
    with pytest.raises(sk.TransactionFailed, match="a transaction with this token was made, which differs") as error:
        db.transact(noting(token, "other"))
    assert error.value.reasons == ("IdempotentParameterMismatch",)
    assert stored(db).notes == ["note"]


# What was read is a part of the request. It is not made twice, but the store takes it for another.
def test_a_new_transaction_that_reads_first_differs(db: sk.Session, token: str) -> None:
    db.transact(visiting(token))
    with pytest.raises(sk.TransactionFailed, match="a transaction with this token was made, which differs"):
        db.transact(visiting(token))
    assert stored(db).visits == 1


# A condition that fails writes nothing, so the token is still free.
def test_a_transaction_that_failed_may_be_sent_again(db: sk.Session, token: str) -> None:
    late = sk.Transaction(token=token)
    late.update(FIRST, [sk.F(Order.notes).append(["note"])], where={"status": "LATE"})
    with pytest.raises(sk.TransactionFailed):
        db.transact(late)
    db.update(FIRST, {"status": "LATE"})
    db.transact(late)
    assert stored(db).notes == ["note"]


@pytest.mark.parametrize("token", ["", "x" * 37])
def test_a_token_has_up_to_36_characters(token: Any) -> None:
    with pytest.raises(ValueError, match="a token has 1 to 36 characters"):
        sk.Transaction(token=token)
