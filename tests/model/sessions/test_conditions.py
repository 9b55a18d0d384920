"""Conditions: joined, negated, of parts of values; on queries, updates, deletes and puts alike."""

from __future__ import annotations

from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any

import pytest
from botocore.exceptions import ClientError

import sortkey as sk
from sortkey.model.changes.requirements import Requirement
from sortkey.model.changes.typed_field import field_of
from sortkey.model.items.item import schema_of
from tests.model.sessions.shop import Customer, Order, numbers, order

ADA = Order.key(customer="ada")
ORDERS = [
    order(1, visits=0, city=None, tags={"a"}, notes=["x", "y"], status="OPEN"),
    order(2, visits=5, city="Berlin", tags={"a", "b"}, status="OPENED"),
    order(3, visits=9, city="Bern", notes=["y"], status="DONE"),
]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ((sk.F(Order.visits) > 0) & (sk.F(Order.visits) < 9), [2]),
        ((sk.F(Order.visits) < 1) | (sk.F(Order.visits) > 8), [1, 3]),
        (~((sk.F(Order.visits) < 1) | (sk.F(Order.visits) > 8)), [2]),
        (~sk.F(Order.status).is_in("OPEN", "DONE"), [2]),
        (~sk.F(Order.city).not_exists(), [2, 3]),
        (sk.F(Order.city).begins_with("Ber"), [2, 3]),
        (~sk.F(Order.city).begins_with("Berl"), [1, 3]),
        (sk.F(Order.city).contains("rn"), [3]),
        (sk.F(Order.tags).contains("b"), [2]),
        (sk.F(Order.tags).exists() & ~sk.F(Order.tags).contains("b"), [1]),
        (sk.F(Order.notes).contains("y"), [1, 3]),
        (sk.F(Order.city).not_exists() | (sk.F(Order.visits) == 9), [1, 3]),
        (
            ((sk.F(Order.status) == "OPEN") & (sk.F(Order.visits) == 5))
            | ((sk.F(Order.status) == "DONE") & (sk.F(Order.visits) == 9)),
            [3],
        ),
        (~((sk.F(Order.visits) == 5) | (sk.F(Order.city) == "Bern")), [1]),
        (~((sk.F(Order.visits) == 0) | (sk.F(Order.visits) == 9)), [2]),
        (~(((sk.F(Order.status) == "OPEN") & sk.F(Order.city).not_exists()) | sk.F(Order.tags).not_exists()), [2]),
        (~sk.F(Order.city).exists() | ((sk.F(Order.visits) == 9) & (sk.F(Order.status) == "DONE")), [1, 3]),
    ],
)
def test_conditions_of_queries_and_writes(db: sk.Session, where: Any, expected: list[int]) -> None:
    db.batch(put=ORDERS)
    assert numbers(list(db.iterate(ADA, where=where))) == expected
    assert db.count(ADA, where=where) == len(expected)
    for each in ORDERS:
        if each.number in expected:
            assert db.update(each.key, {"updated": 1}, where=where).updated == 1
            assert db.put(each, where=where)
        else:
            with pytest.raises(sk.ConditionFailed) as error:
                db.update(each.key, {"updated": 1}, where=where)
            assert error.value.item == each
            with pytest.raises(sk.ConditionFailed) as error:
                db.put(each, where=where)
            assert error.value.item == each


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (sk.F(Order.visits) == sk.F(Order.updated), [1]),
        (sk.F(Order.visits) > sk.F(Order.updated), [2, 3]),
        ((sk.F(Order.visits) > sk.F(Order.updated)) & (sk.F(Order.visits) < 9), [2]),
        (~(sk.F(Order.visits) > sk.F(Order.updated)), [1]),
        (~(field_of(Order, "visits") >= field_of(Order, "total")), [3]),
        (sk.F(Order.status) == sk.F(Order.city), []),
        (sk.F(Order.status) != sk.F(Order.city), [1, 2, 3]),
        (sk.F(Order.city) < sk.F(Order.status), [2, 3]),
    ],
)
def test_fields_compare_with_fields(db: sk.Session, where: Any, expected: list[int]) -> None:
    totals = {1: Decimal(0), 2: Decimal(5), 3: Decimal(10)}
    orders = [sk.replace(each, total=totals[each.number]) for each in ORDERS]
    rows = [{**schema_of(Order).encode(each), "updated": None} for each in orders]
    for row in rows:
        # Older than the field, which shows its default, 0.
        db.client.put_item(TableName="shop", Item={name: value for name, value in row.items() if value is not None})
    assert numbers(list(db.iterate(ADA, where=where))) == expected
    assert db.count(ADA, where=where) == len(expected)
    for each in orders:
        if each.number in expected:
            assert db.update(each.key, {"revision": 1}, where=where).revision == 1
        else:
            with pytest.raises(sk.ConditionFailed):
                db.delete(each.key, where=where)


def test_a_put_with_conditions_replaces_only_what_matches(db: sk.Session) -> None:
    with pytest.raises(sk.ConditionFailed, match="a missing Order does not match"):
        db.put(order(1), where={"status": "OPEN"})
    assert db.put(order(1), where={"status": None})  # a missing item has no fields
    with pytest.raises(sk.ConditionFailed, match="the stored Order does not match"):
        db.put(order(1, status="DONE"), where={"status": "PAID"})
    sale = sk.Transaction()
    sale.put(order(1, status="DONE"), where=(sk.F(Order.visits) <= 0) & {"status": "OPEN"})
    db.transact(sale)
    with pytest.raises(sk.TransactionFailed, match="put of Order: ConditionalCheckFailed"):
        db.transact(sale)
    assert db.get(order(1).key, consistent=True) == order(1, status="DONE")


# A missing item has no value that could differ from another, and no size: a check must not take it for a free one.
@pytest.mark.parametrize(
    ("where", "matches"),
    [
        ({"status": None}, True),
        (~sk.F(Order.status).exists() & sk.F(Order.city).not_exists(), True),
        (sk.F(Order.city).not_exists() | (sk.F(Order.city) != "Rome"), True),
        (~sk.F(Order.status).exists(), True),
        ((sk.F(Order.status) == "OPEN") | sk.F(Order.status).not_exists(), True),
        (sk.F(Order.status) != "BLOCKED", False),
        (~sk.F(Order.city).is_in("Rome"), False),
        (~sk.F(Order.city).begins_with("R"), False),
        (sk.F(Order.notes).size <= 3, False),
        (~sk.F(Order.tags).contains("a"), False),
        (sk.F(Order.status) != sk.F(Order.city), False),
        ((sk.F(Order.city) != "Rome") & {"status": None}, False),
        (sk.F(Order.city).not_exists() & (sk.F(Order.city) != "Rome"), False),
        (~(sk.F(Order.status) == "BLOCKED"), False),
        (~(sk.F(Order.status).not_exists() | (sk.F(Order.city) == "Rome")), False),
        ((sk.F(Order.visits) == 1) | (~(sk.F(Order.visits) > 3)), False),
        (sk.F(Order.status).exists(), False),
    ],
)
def test_a_missing_item_matches_only_that_fields_are_absent(db: sk.Session, where: Any, matches: bool) -> None:
    for add in (sk.Transaction.check, sk.Transaction.delete):
        both = sk.Transaction()
        add(both, order(1).key, where=where)
        both.put(order(2))
        if matches and add is sk.Transaction.check:
            db.transact(both)
            continue
        with pytest.raises(sk.TransactionFailed) as failed:
            db.transact(both)
        assert failed.value.reasons == ("ConditionalCheckFailed", None)
    with pytest.raises(sk.ItemMissing, match="does not exist, so it is not deleted"):
        db.delete(order(1).key, where=where)
    if matches:
        assert db.put(order(1), where=where)
    else:
        with pytest.raises(sk.ConditionFailed, match="a missing Order does not match"):
            db.put(order(1), where=where)
    assert (db.get(order(1).key, consistent=True) is not None) == matches


@pytest.mark.parametrize(
    ("where", "kind", "said"),
    [
        (field_of(Order, "visits").contains(1), sk.EncodeError, r"Order\.visits: contains needs"),
        (field_of(Order, "visits").begins_with("1"), sk.EncodeError, r"Order\.visits: begins_with needs"),
        (field_of(Order, "tags").contains(1), sk.EncodeError, r"Order\.tags: expected str"),
        ({"statu": None}, sk.UnknownField, "did you mean 'status'"),
        ({"statu": "x"} | (sk.F(Order.visits) > 1), sk.UnknownField, "did you mean 'status'"),
        (~({"statu": "x"} & (sk.F(Order.visits) > 1)), sk.UnknownField, "did you mean 'status'"),
        (sk.F(Order.visits) == sk.F(Order.visits), sk.EncodeError, r"Order\.visits is compared with itself"),
        (field_of(Order, "visits") < field_of(Order, "status"), sk.EncodeError, "stored as N and status as S"),
    ],
)
def test_impossible_conditions_are_rejected(memory: sk.Session, where: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        memory.update(order(1).key, {"updated": 1}, where=where)
    with pytest.raises(kind, match=said):
        memory.count(ADA, where=where)


# 0 values are no list to the store, and 100 are the most that it takes.
@pytest.mark.parametrize("count", [0, 101])
def test_is_in_takes_a_limited_number_of_values(count: int) -> None:
    with pytest.raises(ValueError, match=rf"is_in takes 1 to 100 values, not {count}"):
        sk.F(Order.visits).is_in(*range(count))


def test_combinations_need_conditions() -> None:
    with pytest.raises(ValueError, match=r"& and \| join conditions, and one of them requires nothing"):
        _ = (sk.F(Order.status) == "OPEN") | {}
    with pytest.raises(TypeError, match=r"where= takes"):
        _ = (sk.F(Order.visits) > 1) & 5  # type: ignore[operator]
    with pytest.raises(TypeError, match=r"a mapping names fields by texts"):
        Requirement(schema_of(Order), {Order.visits: 1}, {})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match=r"a mapping in where= has values"):
        Requirement(schema_of(Order), {"visits": sk.F(Order.visits) > 1}, {})


def test_texts_of_conditions() -> None:
    where = ((sk.F(Order.visits) > 1) & ~sk.F(Order.visits).is_in(5)) | (
        sk.F(Order.city).begins_with("B") | sk.F(Order.city).not_exists()
    )
    assert (
        repr(where) == "(((visits > 1) & ~(visits IN (5))) | (begins_with(city, 'B')) | (attribute_not_exists(city)))"
    )


# The store has a limit for the expressions of a request; its error comes as it is.
def test_more_conditions_than_the_store_takes(memory: sk.Session) -> None:
    memory.put(Customer(customer="ada"))
    many = reduce(or_, (sk.F(Customer.name) == f"{number}" for number in range(400)))
    with pytest.raises(ClientError, match="ValidationException"):
        memory.count(Customer.key(customer="ada"), where=many)
