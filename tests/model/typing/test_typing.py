"""What a type checker knows of a model; `mypy --strict` is the test, running it only shows that it runs."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import assert_type
from uuid import UUID

import pytest

import sortkey as sk
from sortkey.model.fields.codec import Row
from sortkey.model.items.item import schema_of
from sortkey.model.items.key import BoundKey
from tests.model.declared import Everything, Follow, Price, User

PRICE = Price(store="1", product="P", effective=datetime(2026, 8, 24, tzinfo=UTC), amount=Decimal(1))


def test_attributes_have_their_types() -> None:
    assert_type(PRICE, Price)
    assert_type(PRICE.store, str)
    assert_type(PRICE.amount, Decimal)
    assert_type(User(user="a").city, str | None)


def test_paths_know_their_items() -> None:
    assert_type(wants_key_of_prices(Price.key), str)
    assert_type(wants_key_of_prices(Price.by_product), str)
    assert_type(Everything.key(id=UUID(int=1)), sk.AccessPath[Everything])
    assert_type(Price.key(store="1"), sk.AccessPath[Price])
    assert_type(Price.by_product(kind="Base", product="P").between("A", "B"), sk.AccessPath[Price])
    assert_type(PRICE.key, sk.AccessPath[Price])
    assert_type(schema_of(Price).encode(PRICE), Row)
    assert_type(schema_of(Price).decode(schema_of(Price).encode(PRICE)), Price)
    assert_type(Price.key(store="1").decode({}), Price | None)
    assert_type(sk.replace(PRICE, amount=Decimal(2)), Price)


def test_a_collection_is_of_any_class() -> None:
    assert_type(sk.collection(Follow.key, user="a"), sk.AccessPath[sk.Item])


def wants_key_of_prices(key: BoundKey[Price]) -> str:
    return key.name


def wants_any_item(path: sk.AccessPath[sk.Item]) -> sk.AccessPath[sk.Item]:
    return path


# A function that takes paths to any item takes paths to prices.
def test_paths_are_covariant() -> None:
    assert_type(wants_any_item(Price.key(store="1")), sk.AccessPath[sk.Item])


# An unused `type: ignore` is an error, so these show that the checker rejects what Python does.
def test_mistakes_are_found() -> None:
    with pytest.raises(TypeError):
        Price(store="1")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError):
        Price("1", "P")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    with pytest.raises(AttributeError):
        _ = PRICE.price  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(AttributeError):
        PRICE.price = Decimal(1)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(TypeError, match=r"takes its fields by name: Price\.by_product\(kind=…, product=…, "):
        Price.by_product("Base", "P")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Price(
        store=1,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        product="P",
        effective=PRICE.effective,
        amount=PRICE.amount,
    )
