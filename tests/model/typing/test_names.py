"""Names that type checkers check: `sk.F` and keys with a signature.

`make lint` runs mypy and pyright over this file. Both report a comment that ignores no error, so the comments
here show what they reject. Running the file shows what happens without a type checker.
"""

from __future__ import annotations

from decimal import Decimal
from typing import assert_type

import pytest

import sortkey as sk
from tests.model.typing.named import NAMED, Line, Other, Product, Size

WIDGET = Product(tenant="acme", number=1)


def test_keys_know_their_fields() -> None:
    assert_type(Product.key(tenant="acme"), sk.AccessPath[Product])
    assert_type(Product.key(tenant="acme", number=1), sk.AccessPath[Product])
    assert_type(Product.key(tenant="acme").between(1, 2), sk.AccessPath[Product])
    assert_type(Product.by_size(size=Size.SMALL, city="Rome"), sk.AccessPath[Product])
    assert_type(Product.by_status(tenant="acme", status="NEW"), sk.AccessPath[Product])
    assert_type(Product.by_price(tenant="acme"), sk.AccessPath[Product])
    assert_type(WIDGET.key, sk.AccessPath[Product])
    assert_type(sk.collection(Product.key, tenant="acme"), sk.AccessPath[sk.Item])


def test_keys_reject_other_fields() -> None:
    with pytest.raises(sk.NoAccessPath, match="did you mean 'tenant'"):
        Product.key(tennant="acme")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    with pytest.raises(sk.NoAccessPath, match="needs tenant"):
        Product.key(number=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="takes its fields by name"):
        Product.key("acme")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    with pytest.raises(sk.KeyPartError):
        Product.key(tenant=1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(sk.KeyPartError):
        Product.by_status(tenant="a", status="OLD")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(sk.NoAccessPath, match="needs exactly tenant"):
        sk.collection(Other.key, tennant="a")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]


def test_fields_know_their_types() -> None:
    assert_type(sk.F(Product.stock), sk.F[int])
    assert_type(sk.F(Product.city), sk.F[str | None])
    assert_type(sk.F(Product.lines)[0], sk.F[Line])
    assert_type(sk.F(Product.lines)[0].at(Line.quantity), sk.F[int])
    assert_type(sk.F(Product.line).at(Line.text), sk.F[str])
    assert_type(sk.F(Product.counts)["monday"], sk.F[int])
    assert_type(sk.F(Product.sizes)[0], sk.F[int])


def test_conditions_and_changes_take_values_of_the_type() -> None:
    stock, reserved, price = sk.F(Product.stock), sk.F(Product.reserved), sk.F(Product.price)
    conditions = [
        stock == 1,
        stock != reserved,
        reserved <= stock,
        price >= Decimal(1),
        price.between(Decimal(1), Decimal(2)),
        sk.F(Product.status).is_in("NEW", "SOLD"),
        sk.F(Product.size) == Size.LARGE,
        sk.F(Product.city).begins_with("R"),
        sk.F(Product.tags).contains("red"),
        sk.F(Product.lines)[0].at(Line.text) == "a",
        sk.F(Product.lines).size <= 9,
        sk.F(Product.city).not_exists() | ~sk.F(Product.city).exists(),
        (stock > 1) & {"city": "Rome"},
        sk.F(Product.sizes)[1] >= 10,
    ]
    changes = [
        stock.set(2),
        reserved.set(None),
        stock.add(-1),
        price.add(Decimal(1)),
        sk.F(Product.tags).add({"red"}),
        sk.F(Product.tags).delete({"red"}),
        sk.F(Product.lines).append([Line(text="a")]),
        sk.F(Product.lines)[0].at(Line.quantity).add(1),
        sk.F(Product.city).if_not_exists("Rome"),
    ]
    with sk.connect("memory:", tables=[NAMED]) as db:
        db.create_tables()
        db.put(WIDGET)
        for condition in conditions:
            db.count(Product.key(tenant="acme"), where=condition)
        for change in changes:
            db.put(sk.replace(WIDGET, lines=[Line(text="a")]))
            assert_type(db.update(WIDGET.key, change), Product)
        assert_type(db.update(WIDGET.key, [changes[0], changes[4]]), Product)


def small(most: int) -> sk.Where:
    return (sk.F(Product.stock) <= most) | {"city": None}


def restocked(amount: int) -> sk.Changes:
    return [sk.F(Product.stock).add(amount), {"is_new": False}]


# A program that has functions for its conditions and changes can annotate them.
def test_conditions_and_changes_have_names_for_their_types() -> None:
    with sk.connect("memory:", tables=[NAMED]) as db:
        db.create_tables()
        db.put(WIDGET)
        assert db.update(WIDGET.key, restocked(3), where=small(0)).stock == 3


def test_a_misspelt_field_is_an_error() -> None:
    with pytest.raises(AttributeError, match="stok"):
        sk.F(Product.stok)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]


def test_values_of_another_type_are_errors() -> None:
    path = WIDGET.key
    with sk.connect("memory:", tables=[NAMED]) as db:
        db.create_tables()
        db.put(WIDGET)
        with pytest.raises(sk.EncodeError):
            db.count(path, where=sk.F(Product.stock) >= "3")  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue]
        # Python compares anything with anything, so the checkers take this for a bool.
        with pytest.raises(sk.EncodeError):
            db.count(path, where=sk.F(Product.stock) == "3")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        with pytest.raises(sk.EncodeError):
            db.update(path, sk.F(Product.stock).set("3"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        with pytest.raises(sk.EncodeError):
            db.update(path, sk.F(Product.stock).set(None))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        with pytest.raises(sk.EncodeError):
            db.update(path, sk.F(Product.tags).add({1}))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        with pytest.raises(sk.EncodeError):
            db.update(path, sk.F(Product.city).add(1))  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
        with pytest.raises(sk.EncodeError):
            db.update(path, sk.F(Product.is_new).add(1))  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(sk.UnknownField):
        sk.F(Product.counts)[0]  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]


# `and` would drop the first condition.
def test_conditions_are_not_joined_by_and() -> None:
    stock = sk.F(Product.stock)
    with pytest.raises(TypeError, match=r"use &, \| and ~"):
        _ = stock > 1 and stock < 5
    with pytest.raises(TypeError, match=r"use &, \| and ~"):
        _ = 1 < stock < 5
    with pytest.raises(TypeError, match=r"use &, \| and ~"):
        _ = not stock > 1  # pyright: ignore[reportGeneralTypeIssues]
