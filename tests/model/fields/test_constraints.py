"""Constraints of fields: checked when a value is written, never when a row is read."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

import pytest
from msgspec import Meta

import sortkey as sk
from sortkey.model.items.item import schema_of


class Part(sk.Item):
    weight: Annotated[Decimal, Meta(gt=0)] = Decimal(1)


class Shelf(sk.Item, table="constrained-shelves"):
    shelf: str
    stock: Annotated[int, Meta(ge=0, lt=100)] = 0
    dozens: Annotated[int, Meta(multiple_of=12)] = 0
    code: Annotated[str, Meta(pattern="^[A-Z]+$", max_length=3)] | None = None
    labels: Annotated[list[Annotated[str, Meta(min_length=1)]], Meta(max_length=2)] = sk.field(default_factory=list)
    sizes: set[Annotated[int, Meta(le=9)]] = sk.field(default_factory=set)
    part: Part = sk.field(default_factory=Part)
    seen: Annotated[datetime, Meta(tz=True)] = datetime(2026, 1, 1, tzinfo=UTC)

    key = sk.Key("SHELF#{shelf}")


CONFLICTS: list[tuple[dict[str, Any], str]] = [
    ({"stock": -1}, "Shelf.stock: must be at least 0, not -1"),
    ({"stock": 100}, "Shelf.stock: must be less than 100, not 100"),
    ({"dozens": 13}, "Shelf.dozens: must be a multiple of 12, not 13"),
    ({"code": "a"}, "Shelf.code: must be a text that matches '^[A-Z]+$', not 'a'"),
    ({"code": "ABCD"}, "Shelf.code: must be of at most 3 elements or characters"),
    ({"labels": ["a", "b", "c"]}, "Shelf.labels: must be of at most 2"),
    ({"labels": [""]}, "Shelf.labels: must be of at least 1"),
    ({"sizes": {10}}, "Shelf.sizes: must be at most 9, not 10"),
]


@pytest.mark.parametrize(("values", "said"), CONFLICTS)
def test_puts_and_updates_are_rejected(values: dict[str, Any], said: str) -> None:
    with sk.connect("memory:", tables=[Shelf]) as db:
        db.create_tables()
        with pytest.raises(sk.EncodeError, match=re.escape(said)):
            db.put(Shelf(shelf="a", **values))
        db.put(Shelf(shelf="a"))
        with pytest.raises(sk.EncodeError, match=re.escape(said)):
            db.update(Shelf.key(shelf="a"), values)
        assert db.get(Shelf.key(shelf="a")) == Shelf(shelf="a")


def test_nested_items_are_checked() -> None:
    with pytest.raises(sk.EncodeError, match="weight: must be greater than 0, not Decimal"):
        schema_of(Shelf).encode(Shelf(shelf="a", part=Part(weight=Decimal(0))))


def test_values_within_the_limits_are_stored() -> None:
    shelf = Shelf(shelf="a", stock=99, dozens=24, code="ABC", labels=["a", "b"], sizes={9})
    assert schema_of(Shelf).decode(schema_of(Shelf).encode(shelf)) == shelf


# What a condition compares with, or an operator adds, is not a value of the field.
def test_operands_are_not_checked() -> None:
    with sk.connect("memory:", tables=[Shelf]) as db:
        db.create_tables()
        db.put(Shelf(shelf="a", stock=5))
        path = Shelf.key(shelf="a")
        assert db.count(path, where=sk.F(Shelf.stock) > -1) == 1
        assert db.update(path, [sk.F(Shelf.stock).add(-3)]).stock == 2


# Others may have written it, and it must be readable to be repaired.
def test_a_stored_value_outside_the_limits_is_read() -> None:
    row = schema_of(Shelf).encode(Shelf(shelf="a")) | {"stock": {"N": "-7"}}
    assert schema_of(Shelf).decode(row).stock == -7


def test_a_constraint_that_cannot_apply_is_rejected_at_import() -> None:
    with pytest.raises(sk.DeclarationError, match=r"Odd.name: msgspec.Meta\(ge=0\) cannot apply to str"):

        class Odd(sk.Item):
            name: Annotated[str, Meta(ge=0)]

    with pytest.raises(sk.DeclarationError, match=r"Empty.tags: msgspec.Meta\(min_length=1\) cannot apply to set"):

        class Empty(sk.Item):
            tags: Annotated[set[str], Meta(min_length=1)]


def test_another_type_is_named_before_a_constraint() -> None:
    wrong: Any = "many"
    with pytest.raises(sk.EncodeError, match="expected int, got str"):
        schema_of(Shelf).encode(Shelf(shelf="a", stock=wrong))
