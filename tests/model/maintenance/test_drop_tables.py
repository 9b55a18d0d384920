"""`db.drop_tables`: says what it would drop, and drops it only if told so."""

from __future__ import annotations

import pytest

import sortkey as sk
from tests.model.sessions.shop import SHOP, Order, order

PLAIN = sk.Table("drop-plain")


class Plain(sk.Item, table=PLAIN):
    id: str
    key = sk.Key("{id}", names=("id",))


def test_nothing_is_dropped_by_default(db: sk.Session) -> None:
    db.batch(put=[order(number) for number in range(3)])
    ((name, rows, size),) = db.drop_tables(SHOP, Plain)
    assert (name, rows) == ("shop", 3)
    assert size > 0
    assert db.count(Order.key(customer="ada"), consistent=True) == 3


def test_tables_are_dropped(db: sk.Session) -> None:
    db.create_tables(PLAIN)
    db.put(Plain(id="a"))
    assert [each.name for each in db.drop_tables(Order, Plain, dry_run=False)] == ["shop", "drop-plain"]
    assert db.client.list_tables()["TableNames"] == []
    assert db.drop_tables(Order, Plain, dry_run=False) == []
    assert db.create_tables(PLAIN) == ["drop-plain"]
    assert list(db.scan(Plain)) == []


# A misspelt name, or none, must not drop anything.
def test_tables_must_be_declared_and_named(db: sk.Session) -> None:
    with pytest.raises(ValueError, match="name the tables to drop"):
        db.drop_tables(dry_run=False)
    with pytest.raises(TypeError, match=r"expected sk\.Table objects or classes with a table, not 'shop'"):
        db.drop_tables("shop", dry_run=False)  # type: ignore[arg-type]
    assert db.diff_tables(SHOP) == []
