"""`put_entry` on rows of other programs: its conditions are of what the item and its entries show."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest

import sortkey as sk

ADA = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")


class Offer(msgspec.Struct):
    price: int
    at: datetime | None = None
    revision: int = 3


class Shelf(sk.Item, table="older-entries"):
    id: str
    owner: UUID | None = None

    offers = sk.Entries(Offer, "offer:")
    key = sk.Key("SHELF#{id}")


ONE = Shelf.key(id="1")
NINE, TEN, ELEVEN = (datetime(2026, 1, 4, hour, tzinfo=UTC) for hour in (9, 10, 11))


@pytest.fixture
def shelf(db: sk.Session) -> sk.Session:
    """With an entry of ten o'clock."""
    db.create_tables(Shelf)
    entry = {"M": {"price": {"N": "1"}, "at": {"S": "2026-01-04T10:00:00.000000Z"}}}
    row = {"pk": {"S": "SHELF#1"}, "id": {"S": "1"}, "owner": {"S": str(ADA)}, "offer:a": entry}
    db.client.put_item(TableName="older-entries", Item=row)
    return db


@pytest.mark.parametrize(("at", "is_newer"), [(NINE, False), (TEN, False), (ELEVEN, True)])
def test_an_entry_replaces_one_that_shows_an_earlier_time(shelf: sk.Session, at: datetime, is_newer: bool) -> None:
    written, item = shelf.put_entry(ONE, Shelf.offers, "a", Offer(2, at), newer_by="at")
    assert (written, item.offers["a"].price) == (is_newer, 1 + is_newer)


# The stored entry lacks the field, and shows 3.
@pytest.mark.parametrize(("revision", "is_newer"), [(3, False), (4, True)])
def test_an_entry_replaces_one_that_shows_an_older_default(shelf: sk.Session, revision: int, is_newer: bool) -> None:
    assert shelf.put_entry(ONE, Shelf.offers, "a", Offer(2, revision=revision), newer_by="revision").written == is_newer
    assert shelf.put_entry(ONE, Shelf.offers, "new", Offer(2, revision=0), newer_by="revision").written


@pytest.mark.parametrize(("where", "matches"), [({"owner": ADA}, True), (sk.F(Shelf.owner) > ADA, False)])
def test_further_conditions_compare_what_the_item_shows(shelf: sk.Session, where: Any, matches: bool) -> None:
    assert shelf.put_entry(ONE, Shelf.offers, "b", Offer(2, NINE), newer_by="at", where=where).written == matches


def test_the_field_that_orders_entries_has_a_value(shelf: sk.Session) -> None:
    with pytest.raises(sk.EncodeError, match=r"Offer\.at: cannot be compared with None"):
        shelf.put_entry(ONE, Shelf.offers, "a", Offer(2), newer_by="at")


class Counted(sk.Item, table="older-entries-counted"):
    id: str
    number: int | None = None
    state: str | None = None
    notes: list[str] | None = None

    offers = sk.Entries(Offer, "offer:")
    key = sk.Key("COUNTED#{id}")


class Dated(msgspec.Struct):
    at: int


class Calendar(sk.Item, table="older-entries-calendars"):
    id: str

    days = sk.Entries(Dated, "day:")
    key = sk.Key("CALENDAR#{id}")


# The item shows None, whether the attribute is NULL or absent.
@pytest.mark.parametrize("stored", [{}, {name: {"NULL": True} for name in ("number", "state", "notes")}])
def test_changes_are_of_what_the_item_shows(db: sk.Session, stored: dict[str, Any]) -> None:
    db.create_tables(Counted)
    db.client.put_item(TableName="older-entries-counted", Item={"pk": {"S": "COUNTED#1"}, **stored})
    changes = [sk.F(Counted.number).add(2), sk.F(Counted.state).if_not_exists("new"), sk.F(Counted.notes).append(["x"])]
    path, offer = Counted.key(id="1"), Offer(2, revision=4)
    written, item = db.put_entry(path, Counted.offers, "a", offer, newer_by="revision", changes=changes)
    assert written
    assert (item.number, item.state, item.notes, item.offers) == (2, "new", ["x"], {"a": offer})
    again = db.put_entry(path, Counted.offers, "b", offer, newer_by="revision", changes=changes).item
    assert (again.number, again.state, again.notes) == (4, "new", ["x", "x"])


# Nobody knows whether it is older.
@pytest.mark.parametrize("stored", [{"S": "x"}, {"NULL": True}, {"L": []}, {"M": {}}, {"M": {"at": {"S": "1"}}}])
def test_what_is_no_entry_is_not_replaced(db: sk.Session, stored: dict[str, Any]) -> None:
    db.create_tables(Calendar)
    row = {"pk": {"S": "CALENDAR#1"}, "id": {"S": "1"}, "day:a": stored}
    db.client.put_item(TableName="older-entries-calendars", Item=row)
    with pytest.raises(sk.DecodeError, match=r"days\['a'\]"):
        db.put_entry(Calendar.key(id="1"), Calendar.days, "a", Dated(5), newer_by="at")
    assert list(db.scan_rows(Calendar.__table__)) == [row]


@pytest.mark.parametrize("stored", [{"S": "x"}, {"NULL": True}, {"L": []}])
def test_what_is_no_entry_shows_no_default(shelf: sk.Session, stored: dict[str, Any]) -> None:
    row = {"pk": {"S": "SHELF#1"}, "id": {"S": "1"}, "offer:a": stored}
    shelf.client.put_item(TableName="older-entries", Item=row)
    with pytest.raises(sk.DecodeError, match=r"offers\['a'\]"):
        shelf.put_entry(ONE, Shelf.offers, "a", Offer(2, revision=4), newer_by="revision")
    assert list(shelf.scan_rows(Shelf.__table__)) == [row]
