"""Conditions: joined, negated, of parts of values; on queries, updates, deletes and puts alike."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import ClientError

import sortkey as sk
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
        ({"visits": sk.above(0) & sk.below(9)}, [2]),
        ({"visits": sk.below(1) | sk.above(8)}, [1, 3]),
        ({"visits": ~(sk.below(1) | sk.above(8))}, [2]),
        ({"status": ~sk.one_of("OPEN", "DONE")}, [2]),
        ({"city": ~sk.absent}, [2, 3]),
        ({"city": sk.starting("Ber")}, [2, 3]),
        ({"city": ~sk.starting("Berl")}, [1, 3]),
        ({"city": sk.contains("rn")}, [3]),
        ({"tags": sk.contains("b")}, [2]),
        ({"tags": sk.present & ~sk.contains("b")}, [1]),
        ({"notes": sk.contains("y")}, [1, 3]),
        (sk.any_of({"city": None}, {"visits": 9}), [1, 3]),
        (sk.any_of({"status": "OPEN", "visits": 5}, {"status": "DONE", "visits": 9}), [3]),
        (sk.all_of({"visits": sk.above(0)}, {"visits": sk.below(9)}), [2]),
        (sk.none_of({"visits": 5}, {"city": "Bern"}), [1]),
        (sk.none_of(sk.any_of({"visits": 0}, {"visits": 9})), [2]),
        (sk.none_of(sk.all_of({"status": "OPEN"}, {"city": None}), {"tags": sk.absent}), [2]),
        (sk.any_of(sk.none_of({"city": sk.present}), sk.all_of({"visits": 9}, {"status": "DONE"})), [1, 3]),
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
        ({"visits": sk.value_of("updated")}, [1]),
        ({"visits": sk.above(sk.value_of("updated"))}, [2, 3]),
        ({"visits": sk.above(sk.value_of("updated")) & sk.below(9)}, [2]),
        ({"visits": ~sk.above(sk.value_of("updated"))}, [1]),
        (sk.none_of({"visits": sk.at_least(sk.value_of("total"))}), [3]),
        ({"status": sk.value_of("city")}, []),
        ({"status": sk.other_than(sk.value_of("city"))}, [1, 2, 3]),
        ({"city": sk.below(sk.value_of("status"))}, [2, 3]),
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
    sale.put(order(1, status="DONE"), where={"status": "OPEN", "visits": sk.at_most(0)})
    db.transact(sale)
    with pytest.raises(sk.TransactionFailed, match="put of Order: ConditionalCheckFailed"):
        db.transact(sale)
    assert db.get(order(1).key, consistent=True) == order(1, status="DONE")


# A missing item has no value that could differ from another, and no size: a check must not take it for a free one.
@pytest.mark.parametrize(
    ("where", "matches"),
    [
        ({"status": None}, True),
        ({"status": ~sk.present, "city": sk.absent}, True),
        ({"city": sk.absent | sk.other_than("Rome")}, True),
        (sk.none_of({"status": sk.present}), True),
        (sk.any_of({"status": "OPEN"}, {"status": None}), True),
        ({"status": sk.other_than("BLOCKED")}, False),
        ({"city": ~sk.one_of("Rome")}, False),
        ({"city": ~sk.starting("R")}, False),
        ({"notes": sk.sized(at_most=3)}, False),
        ({"tags": ~sk.contains("a")}, False),
        ({"status": sk.other_than(sk.value_of("city"))}, False),
        ({"status": None, "city": sk.other_than("Rome")}, False),
        ({"city": sk.absent & sk.other_than("Rome")}, False),
        (sk.none_of({"status": "BLOCKED"}), False),
        (sk.none_of({"status": sk.absent}, {"city": "Rome"}), False),
        (sk.any_of({"visits": 1}, sk.none_of({"visits": sk.above(3)})), False),
        ({"status": sk.present}, False),
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
        ({"visits": sk.contains(1)}, sk.EncodeError, r"Order\.visits: sk\.contains needs"),
        ({"visits": sk.starting("1")}, sk.EncodeError, r"Order\.visits: sk\.starting needs"),
        ({"tags": sk.contains(1)}, sk.EncodeError, r"Order\.tags: expected str"),
        ({"statu": ~sk.present}, sk.UnknownField, "did you mean 'status'"),
        (sk.any_of({"statu": "x"}), sk.UnknownField, "did you mean 'status'"),
        ({"visits": sk.below(sk.value_of("statu"))}, sk.UnknownField, "did you mean 'status'"),
        ({"visits": sk.value_of("visits")}, sk.EncodeError, r"Order\.visits is compared with itself"),
        ({"visits": sk.below(sk.value_of("status"))}, sk.EncodeError, "stored as N and status as S"),
    ],
)
def test_impossible_conditions_are_rejected(memory: sk.Session, where: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        memory.update(order(1).key, {"updated": 1}, where=where)
    with pytest.raises(kind, match=said):
        memory.count(ADA, where=where)


# 0 values are no list to the store, and 100 are the most that it takes.
@pytest.mark.parametrize("count", [0, 101])
def test_one_of_takes_a_limited_number_of_values(count: int) -> None:
    with pytest.raises(ValueError, match=rf"sk\.one_of takes 1 to 100 values, not {count}"):
        sk.one_of(*range(count))
    with pytest.raises(ValueError, match=rf"sk\.one_of takes 1 to 100 values, not {count}"):
        sk.F(Order.visits).one_of(*range(count))


def test_combinations_need_conditions() -> None:
    with pytest.raises(ValueError, match=r"sk\.any_of needs conditions"):
        sk.any_of()
    with pytest.raises(ValueError, match=r"sk\.none_of needs conditions"):
        sk.none_of({"status": "OPEN"}, {})
    with pytest.raises(TypeError, match=r"& and \| join conditions"):
        sk.above(1) & 5  # type: ignore[operator]


def test_texts_of_conditions() -> None:
    where = sk.any_of({"visits": sk.above(1) & ~sk.one_of(5)}, {"city": sk.starting("B") | sk.absent})
    assert repr(where) == "any_of({'visits': (> 1 and not one of 5)}, {'city': (starting with 'B' or absent)})"


# The store has a limit for the expressions of a request; its error comes as it is.
def test_more_conditions_than_the_store_takes(memory: sk.Session) -> None:
    memory.put(Customer(customer="ada"))
    many = sk.any_of(*({"name": f"{number}"} for number in range(400)))
    with pytest.raises(ClientError, match="ValidationException"):
        memory.count(Customer.key(customer="ada"), where=many)
