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
    """With an entry of ten o'clock, which sorts after eleven as it is stored, and an owner in capital letters."""
    db.create_tables(Shelf)
    entry = {"M": {"price": {"N": "1"}, "at": {"S": "2026-01-04T12:00:00+02:00"}}}
    row = {"pk": {"S": "SHELF#1"}, "id": {"S": "1"}, "owner": {"S": str(ADA).upper()}, "offer:a": entry}
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


@pytest.mark.parametrize(("where", "matches"), [({"owner": ADA}, True), ({"owner": sk.above(ADA)}, False)])
def test_further_conditions_compare_what_the_item_shows(shelf: sk.Session, where: Any, matches: bool) -> None:
    assert shelf.put_entry(ONE, Shelf.offers, "b", Offer(2, NINE), newer_by="at", where=where).written == matches


def test_the_field_that_orders_entries_has_a_value(shelf: sk.Session) -> None:
    with pytest.raises(sk.EncodeError, match=r"Offer\.at: cannot be compared with None"):
        shelf.put_entry(ONE, Shelf.offers, "a", Offer(2), newer_by="at")
