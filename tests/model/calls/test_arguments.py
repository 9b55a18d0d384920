"""Arguments that are not what a call takes: the error names what was meant."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import sortkey as sk
from tests.model.sessions.shop import Customer, Order, order


class Note(sk.Item):
    text: str = ""


PATH_CALLS: list[Callable[[Any, Any], object]] = [
    lambda db, path: db.get(path),
    lambda db, path: db.get(path, consistent=True),
    lambda db, path: db.page(path),
    lambda db, path: list(db.iterate(path)),
    lambda db, path: db.count(path),
    lambda db, path: db.update(path, {"status": "x"}),
    lambda db, path: db.delete(path),
    lambda db, path: db.explain(path),
    lambda db, path: db.batch(delete=[path]),
    lambda _, path: sk.Transaction().update(path, {"status": "x"}),
    lambda _, path: sk.Transaction().delete(path),
    lambda _, path: sk.Transaction().check(path, where={"status": "x"}),
]


@pytest.mark.parametrize("call", PATH_CALLS)
@pytest.mark.parametrize(
    ("given", "named"),
    [
        (order(1), r"an item: use its path, order\.key"),
        (Order, r"the class Order: call one of its keys with fields, such as Order\.key\(customer=…\)"),
        (Order.by_city, r"the key Order\.by_city: call it with fields, Order\.by_city\(city=…\)"),
        (Note(), r"Note Note\(text=''\), whose class has no table"),
        (Note, "the class Note"),
        ("ada", "str 'ada'"),
    ],
)
def test_a_path_is_expected(memory: sk.Session, call: Callable[[Any, Any], object], given: object, named: str) -> None:
    with pytest.raises(TypeError, match=f"expected an access path, not {named}"):
        call(memory, given)


# The remote client and the one in the process take different ways.
def test_get_and_lookup_on_every_store(db: sk.Session) -> None:
    with pytest.raises(TypeError, match=r"use its path, order\.key"):
        db.get(order(1))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"expected a key, such as Order\.key, not Order\.key, a path"):
        db.lookup(Order.key(customer="ada"), [{"number": 1}])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"expected a key, .* the class Customer: call one of its keys"):
        db.lookup(Customer, [{"customer": "ada"}])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("keys", "error", "said"),
    [
        ([("ada", 1)], TypeError, r"each key is a mapping with customer, number, not tuple \('ada', 1\)"),
        ({"customer": "ada", "number": 1}, TypeError, "not str 'customer'"),
        ([order(1)], TypeError, r"not Order Order\("),
        ([{"customer": "ada", "nmber": 1}], sk.KeyPartError, "key takes exactly customer, number, not customer, nmber"),
        ([{"customer": "ada"}], sk.KeyPartError, "key takes exactly customer, number, not customer"),
    ],
)
def test_the_keys_of_a_lookup(db: sk.Session, keys: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        db.lookup(Order.key, keys)


def test_a_transaction_is_expected(memory: sk.Session) -> None:
    items: Any = [order(1)]
    with pytest.raises(TypeError, match=r"expected an sk\.Transaction, not list"):
        memory.transact(items)


def test_a_collection_needs_a_key() -> None:
    with pytest.raises(TypeError, match=r"expected a key, such as Order\.key, not the class Order"):
        sk.collection(Order, customer="ada")  # type: ignore[call-overload]


def test_tables_are_tables_or_classes(memory: sk.Session) -> None:
    for wrong in ("shop", Note, order(1).key):
        given: Any = wrong
        with pytest.raises(TypeError, match=r"expected sk\.Table objects or classes with a table, not "):
            memory.create_tables(given)
        with pytest.raises(TypeError, match=r"expected sk\.Table objects or classes with a table, not "):
            sk.connect("memory:", tables=[given])


@pytest.mark.parametrize(
    "call",
    [
        lambda db, item: db.put(item),
        lambda db, item: db.batch(put=[item]),
        lambda _, item: sk.Transaction().put(item),
    ],
)
def test_an_item_is_expected(memory: sk.Session, call: Callable[[Any, Any], object]) -> None:
    with pytest.raises(
        TypeError, match=r"expected an item, not the access path Order\.key\(customer='ada', number=1\)"
    ):
        call(memory, order(1).key)
    with pytest.raises(TypeError, match="not the class Order"):
        call(memory, Order)
    with pytest.raises(TypeError, match=r"not dict {'customer': 'ada'}"):
        call(memory, {"customer": "ada"})


def alone(call: Callable[[sk.Session, Any], object], given: Any, named: str) -> Any:
    return pytest.param(call, given, named, id=named)


@pytest.mark.parametrize(
    ("call", "given", "named"),
    [
        alone(lambda db, item: db.batch(put=item), order(1), r"a list of items, not Order Order\("),
        alone(lambda db, path: db.batch(delete=path), order(1).key, "a list of access paths, not AccessPath Order.key"),
        alone(lambda db, path: db.get_many(path), order(1).key, "a list of access paths, not AccessPath"),
        alone(lambda db, item: db.whole(item), order(1), "a list of items, not Order"),
        alone(lambda _, table: sk.connect("memory:", tables=table), Order, "a list of tables or classes, not <class"),
        alone(lambda _, table: sk.connect("memory:", tables=table), "shop", "a list of tables or classes, not 'shop'"),
    ],
)
def test_several_are_expected(
    memory: sk.Session, call: Callable[[sk.Session, Any], object], given: Any, named: str
) -> None:
    with pytest.raises(TypeError, match=f"expected {named}.* alone"):
        call(memory, given)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"after": 7}, "a cursor is a text, such as page.end_cursor, not int 7"),
        ({"before": b"x"}, "not bytes b'x'"),
        ({"first": "5"}, "first and last are numbers of items, not str '5'"),
    ],
)
def test_a_page_takes_numbers_and_cursors(memory: sk.Session, arguments: Any, named: str) -> None:
    with pytest.raises(TypeError, match=named):
        memory.page(Order.key(customer="ada"), **arguments)


# A wrong option is found when the store is opened, not by the first call that uses it.
@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"timeout": "2"}, "a timeout is a number of seconds, or None, not '2'"),
        ({"secret": 5}, "secret must be a text or bytes, not int"),
        ({"clock": time.time}, "clock must have a method now, which returns seconds since 1970"),
    ],
    ids=["timeout", "secret", "clock"],
)
def test_options_are_checked_when_a_store_is_opened(options: Any, named: str) -> None:
    with pytest.raises(TypeError, match=named):
        sk.connect("memory:", **options)
    with pytest.raises(TypeError, match=named):
        sk.async_connect("memory:", **options)


def test_a_timeout_is_a_number(memory: sk.Session) -> None:
    seconds: Any = "2"
    with pytest.raises(TypeError, match="a timeout is a number of seconds, or None, not '2'"):
        memory.within(seconds)
