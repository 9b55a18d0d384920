"""An index whose sort key is a field: rows with a time in the form of another program are in a wrong place there."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

import pytest

import sortkey as sk

VISITS = sk.Table("misplaced-visits")


class Visit(sk.Item, table=VISITS):
    id: str
    room: str
    at: datetime
    note: str = ""

    key = sk.Key("{id}", names=("id",))
    by_room = sk.Index("by_room", "{room}", "{at}", names=("room", "at"))
    by_time = sk.Index("by_time", "ROOM#{room}", "{at}", names=("by_time", "at"), projection="KEYS_ONLY")


TEN, ELEVEN = datetime(2026, 1, 4, 10, tzinfo=UTC), datetime(2026, 1, 4, 11, tzinfo=UTC)
HALL = Visit.by_room(room="hall")
SMALL = Visit.by_time(room="hall")


@pytest.fixture
def visits(db: sk.Session) -> sk.Session:
    """At ten in the form of another program, which sorts after ours, and at eleven in our own."""
    db.create_tables(Visit)
    row = {"id": {"S": "a"}, "room": {"S": "hall"}, "at": {"S": "2026-01-04T10:00:00Z"}, "by_time": {"S": "ROOM#hall"}}
    db.client.put_item(TableName="misplaced-visits", Item=row)
    db.put(Visit(id="b", room="hall", at=ELEVEN))
    return db


# The store said that ten is after ten.
@pytest.mark.parametrize("path", [HALL.after(TEN), HALL.between(TEN.replace(microsecond=1), ELEVEN)])
def test_a_range_has_the_items_that_show_a_time_in_it(visits: sk.Session, path: Any) -> None:
    assert [each.id for each in visits.iterate(path)] == ["b"]
    assert [each.id for each in visits.page(path, first=5)] == ["b"]
    assert [each.note for each in visits.iterate(path, only=["note"])] == [""]
    assert [each.id for each in visits.iterate(path, where={"note": ""})] == ["b"]
    first = visits.first(path)
    assert first is not None
    assert first.id == "b"
    assert visits.count(path) == 1


def test_an_index_with_a_part_of_the_items_has_the_same_range(visits: sk.Session) -> None:
    assert [each.id for each in visits.iterate(SMALL.after(TEN))] == ["b"]
    assert [each.note for each in visits.iterate(SMALL.after(TEN), whole=True)] == [""]
    assert visits.count(SMALL.after(TEN)) == 1


@pytest.mark.parametrize("path", [HALL.after(TEN), SMALL.after(TEN)])
def test_delete_all_leaves_an_item_outside_of_the_range(visits: sk.Session, path: Any) -> None:
    assert visits.delete_all(path).items == 1
    assert visits.get(Visit.key(id="a"), consistent=True) is not None


def test_a_warning_says_once_what_to_do(visits: sk.Session, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            visits.count(HALL.after(TEN))
    (message,) = [record.getMessage() for record in caplog.records if "another form" in record.getMessage()]
    assert "id='a' has at in another form than Sortkey writes" in message
    assert "sortkey audit" in message


def test_a_put_brings_the_row_to_its_place(visits: sk.Session) -> None:
    (found,) = [each for each in visits.audit(VISITS).findings if each.subject == "by_room"]
    assert (found.kind.value, found.rows, found.repairable) == ("index-key-stale", 1, 0)
    item = visits.get(Visit.key(id="a"), consistent=True)
    assert item is not None
    visits.put(item)
    assert visits.audit(VISITS).findings == []
    assert [each.id for each in visits.iterate(HALL.between(TEN, TEN))] == ["a"]
