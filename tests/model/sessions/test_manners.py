"""What a program sees of sessions, pages, transactions and paths besides their calls."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import sortkey as sk
from tests.model.sessions.shop import SHOP, Customer, Order, numbers, order

ADA = Order.key(customer="ada")


def test_what_things_show(memory: sk.Session) -> None:
    assert repr(memory) == "<Session of 'memory:'>"
    memory.put(order(1))
    assert repr(memory.page(ADA)) == "<page of Order.key(customer='ada'): 1 items>"
    transaction = sk.Transaction()
    assert repr(transaction) == "<transaction: no actions>"
    transaction.put(order(1))
    transaction.delete(order(2).key)
    assert repr(transaction) == "<transaction: put of Order, delete of Order.key(customer='ada', number=2)>"


# The type checker knows it, too: the comment is part of the test.
def test_a_session_that_is_not_awaited_says_so() -> None:
    db = sk.async_connect("memory:")
    with pytest.raises(
        AttributeError, match=r"not open yet, so it has no 'get': async with sk\.async_connect\(…\) as db, or"
    ):
        db.get(ADA)  # type: ignore[attr-defined]


def test_a_page_is_a_collection(db: sk.Session) -> None:
    assert not db.page(ADA)
    db.batch(put=[order(number) for number in range(3)])
    page = db.page(ADA, first=2)
    assert len(page) == 2
    assert numbers(list(page)) == [0, 1]


PATHS: list[sk.AccessPath[Any]] = [
    ADA,
    order(1).key,
    ADA.between(1, 5),
    ADA.after(1),
    Order.by_status(status="OPEN"),
    Order.by_city(city="Berlin", status="OPEN").before(7),
    sk.collection(Customer.key, customer="ada"),
    Customer.key(customer="ada"),
]


@pytest.mark.parametrize("path", PATHS, ids=repr)
def test_paths_hash_and_pickle(path: sk.AccessPath[Any]) -> None:
    for again in (pickle.loads(pickle.dumps(path)), copy.copy(path), copy.deepcopy(path)):
        assert again == path
        assert hash(again) == hash(path)
        assert again.request() == path.request()


def test_paths_are_keys_of_a_dict() -> None:
    assert len(set(PATHS)) == len(PATHS)
    assert {path: number for number, path in enumerate(PATHS)}[ADA.between(1, 5)] == 2


# Threads share the session's meter, its pool and its connections.
def test_threads_share_a_session(store: str) -> None:
    with sk.connect(store, tables=[SHOP]) as db:
        db.create_tables()

        def work(thread: int) -> list[int]:
            path = Order.key(customer=f"c{thread}")
            for number in range(10):
                db.put(Order(customer=f"c{thread}", number=number))
                db.update(Order.key(customer=f"c{thread}", number=number), [sk.F(Order.visits).add(1)])
            db.batch(put=[Order(customer=f"c{thread}", number=number) for number in range(10, 60)])
            return numbers(list(db.iterate(path)))

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(work, range(8))) == [list(range(60))] * 8
        reading = db.meter.reading("Order.key")
        assert (reading.rows_read, reading.rows_returned) == (480, 480)
        assert db.meter.reading("put Order").calls == 80
