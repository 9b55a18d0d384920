"""Removal of what nothing refers to any more."""

from __future__ import annotations

import pytest

from sortkey.clock import ManualClock
from sortkey.engine.database import Database
from sortkey.engine.janitor import removal
from sortkey.engine.rows import records
from sortkey.storage import after_prefix, ascending
from tests.engine.orders import Orders, number, text


def keys_in(db: Database, low: bytes, high: bytes) -> int:
    with db.read() as snapshot:
        return sum(1 for _ in ascending(snapshot, low, high))


def rows(db: Database) -> int:
    return keys_in(db, records.space_bytes(records.FIRST_FREE), b"\xff" * 4)


def members(db: Database, space: bytes) -> int:
    return keys_in(db, space, after_prefix(space))


def test_dropped_table_leaves_nothing_behind(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "CHUNK", 7)
    orders = Orders(db, "NEW_IMAGE")
    orders.add_index("city")
    db.janitor.sweep()
    for at in range(20):
        orders.put(f"order-{at}", city=text("here"))
    kept = Orders(db, name="kept")
    kept.put("a")
    db.call("DeleteTable", {"TableName": orders.name})
    assert rows(db) == 61
    db.janitor.sweep()
    assert rows(db) == 1
    assert members(db, records.GARBAGE) == 0
    assert members(db, records.COUNTS) == 1


# A new table must not see rows of a dropped table of the same name that are still being removed.
def test_table_made_anew_is_empty_before_the_janitor_has_come(db: Database) -> None:
    Orders(db).put("a")
    db.call("DeleteTable", {"TableName": "orders"})
    orders = Orders(db)
    assert orders.ids() == set()
    orders.put("b")
    db.janitor.sweep()
    assert orders.ids() == {"b"}


def transact(db: Database, token: str) -> None:
    put = {"Put": {"TableName": "orders", "Item": {"id": text(token), "total": number(1)}}}
    db.call("TransactWriteItems", {"TransactItems": [put], "ClientRequestToken": token})


def test_tokens_are_forgotten_after_ten_minutes(db: Database, clock: ManualClock) -> None:
    Orders(db)
    transact(db, "first")
    clock.advance(300)
    transact(db, "second")
    clock.advance(301)
    db.janitor.sweep()
    assert members(db, records.TOKENS) == 1
    clock.advance(300)
    db.janitor.sweep()
    assert members(db, records.TOKENS) == 0


# They are not ordered by time: a search for old ones reads them all.
def test_tokens_are_looked_at_once_a_minute(db: Database, clock: ManualClock) -> None:
    Orders(db)
    transact(db, "first")
    clock.advance(599)
    db.janitor.sweep()
    clock.advance(59)
    db.janitor.sweep()
    assert members(db, records.TOKENS) == 1
    clock.advance(1)
    db.janitor.sweep()
    assert members(db, records.TOKENS) == 0


# The next look would be two days away otherwise.
def test_tokens_are_looked_at_after_the_clock_went_back(db: Database, clock: ManualClock) -> None:
    Orders(db)
    clock.jump(2 * 86400)
    db.janitor.sweep()
    clock.jump(-2 * 86400)
    transact(db, "first")
    clock.advance(601)
    db.janitor.sweep()
    assert members(db, records.TOKENS) == 0
