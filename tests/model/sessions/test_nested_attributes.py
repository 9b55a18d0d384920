"""Attributes inside of a map that its class does not declare: an update of one place keeps them, also where the session
applies the change."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
import pytest

import sortkey as sk

ADA = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")


class Line(msgspec.Struct):
    text: str
    quantity: int | None = 0
    users: set[UUID] = msgspec.field(default_factory=set)


class Basket(sk.Item, table="nested-attributes"):
    id: str
    lines: list[Line] = sk.field(default_factory=list)
    first: Line | None = None
    by_name: dict[str, Line] = sk.field(default_factory=dict)

    key = sk.Key("BASKET#{id}")


ONE = Basket.key(id="1")
KEPT = {"colour": {"S": "red"}}
LINE = {"M": {"text": {"S": "tea"}, "quantity": {"NULL": True}, "users": {"SS": [str(ADA)]}, **KEPT}}
OTHER = {"M": {"text": {"S": "milk"}, **KEPT}}
ROW = {"lines": {"L": [LINE, OTHER]}, "first": LINE, "by_name": {"M": {"tea": LINE, "milk": OTHER}}}


# The store adds nothing to NULL.
@pytest.mark.parametrize(
    "changes",
    [
        [
            sk.F(Basket.lines)[0].at(Line.quantity).add(1),
            sk.F(Basket.first).at(Line.quantity).add(1),
            sk.F(Basket.by_name)["tea"].at(Line.quantity).add(1),
        ],
        [
            sk.F(Basket.lines)[0].at(Line.users).delete({ADA}),
            sk.F(Basket.first).at(Line.users).delete({ADA}),
            sk.F(Basket.by_name)["tea"].at(Line.users).delete({ADA}),
        ],
    ],
)
def test_an_update_keeps_what_the_class_does_not_declare(db: sk.Session, changes: dict[str, Any]) -> None:
    db.create_tables(Basket)
    db.client.put_item(TableName="nested-attributes", Item={"pk": {"S": "BASKET#1"}, "id": {"S": "1"}, **ROW})
    item = db.update(ONE, changes)
    assert item.first is not None
    for line in (item.lines[0], item.first, item.by_name["tea"]):
        assert (line.quantity, line.users) in [(1, {ADA}), (None, set())]
    row = db.client.get_item(TableName="nested-attributes", Key=ONE.key(), ConsistentRead=True)["Item"]
    for found in (row["lines"]["L"][0], row["first"], row["by_name"]["M"]["tea"]):
        assert found["M"]["colour"] == {"S": "red"}
    assert row["lines"]["L"][1] == row["by_name"]["M"]["milk"] == OTHER
