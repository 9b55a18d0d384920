"""Rows that have a stored field in an index key only: nothing reads it there, and nothing may remove the key."""

from __future__ import annotations

from typing import Any

import pytest

import sortkey as sk
from sortkey.model.audit.finding import Kind


class Stay(sk.Item, table="index-held-stays"):
    guest: str
    number: int
    city: str
    room: str | None = None
    state: str = "OPEN"

    key = sk.Key("GUEST#{guest}", "STAY#{number:d}")
    by_city = sk.Index("gsi1", "CITY#{city}", "{room}#{number:d}")
    by_state = sk.Index("gsi2", "STATE#{state}", "{number}")


TABLE = Stay.__table__
PATH = Stay.key(guest="ada", number=3)
KEY: dict[str, Any] = {"pk": {"S": "GUEST#ada"}, "sk": {"S": "STAY#3"}}
IN_ROME: dict[str, Any] = {"gsi1pk": {"S": "CITY#Rome"}, "gsi1sk": {"S": "7#3"}}
BOTH: dict[str, Any] = {"guest": {"S": "ada"}, "number": {"N": "3"}, "room": {"S": "7"}}


@pytest.fixture
def stays(db: sk.Session) -> sk.Session:
    db.create_tables(Stay)
    return db


def store(db: sk.Session, **attributes: Any) -> None:
    db.client.put_item(TableName="index-held-stays", Item={**KEY, **attributes})


def stored(db: sk.Session) -> dict[str, Any]:
    (row,) = db.scan_rows(TABLE)
    return dict(row)


NOT_READ = r"declare it as Annotated\[…, sk.in_key\]"


# The key is all that is known of the city.
def test_no_write_removes_the_key(stays: sk.Session) -> None:
    store(stays, **IN_ROME, **BOTH)
    before = stored(stays)
    transaction = sk.Transaction()
    transaction.update(PATH, {"room": None})
    writes: list[Any] = [
        lambda: stays.update(PATH, {"room": None}),
        lambda: stays.transact(transaction),
        lambda: stays.get(PATH),
    ]
    for write in writes:
        with pytest.raises(sk.DecodeError, match=NOT_READ):
            write()
    assert stored(stays) == before


def test_an_update_of_the_field_itself_stores_it(stays: sk.Session) -> None:
    store(stays, **IN_ROME, **BOTH)
    assert stays.update(PATH, {"room": None, "city": "Oslo"}) == Stay(guest="ada", number=3, city="Oslo")
    assert stays.get(PATH) == Stay(guest="ada", number=3, city="Oslo")


def test_an_update_of_a_row_with_the_attribute_removes_the_key_in_one_request(stays: sk.Session) -> None:
    stays.put(Stay(guest="ada", number=3, city="Rome", room="7"))
    before = sum(reading.calls for reading in stays.meter.readings())
    assert stays.update(PATH, {"room": None}).city == "Rome"
    assert sum(reading.calls for reading in stays.meter.readings()) == before + 1
    assert list(stays.iterate(Stay.by_city(city="Rome"))) == []


# The room says that the item is not in the index, whose key alone has the city.
def test_a_repair_does_not_remove_the_key(stays: sk.Session) -> None:
    store(stays, **IN_ROME, room={"NULL": True})
    before = stored(stays)
    report = stays.audit(TABLE, repair=True)
    assert [(each.kind, each.subject, each.repaired) for each in report.findings] == [(Kind.ONLY_IN_INDEX_KEY, "", 0)]
    assert stored(stays) == before


class Trip(sk.Item, table="index-held-trips", version=2):
    id: str
    city: str
    room: str | None = None

    key = sk.Key("TRIP#{id}")
    by_city = sk.Index("gsi1", "CITY#{city}", "{room}")


@Trip.upgrade(1)
def rename_room(row: dict[str, Any]) -> dict[str, Any]:
    row["room"] = row.pop("chamber", None)
    return row


def test_an_older_row_is_judged_as_its_upgrade_makes_it(db: sk.Session) -> None:
    db.create_tables(Trip)
    row = {"pk": {"S": "TRIP#1"}, "id": {"S": "1"}, "gsi1pk": {"S": "CITY#Rome"}, "gsi1sk": {"S": "7"}}
    db.client.put_item(TableName="index-held-trips", Item=row)
    report = db.audit(Trip.__table__, repair=True, upgrade=True)
    assert [(each.kind, each.repaired) for each in report.findings] == [(Kind.ONLY_IN_INDEX_KEY, 0)]
    assert list(db.scan_rows(Trip.__table__)) == [row]
    db.client.put_item(TableName="index-held-trips", Item=row | {"city": {"S": "Rome"}, "chamber": {"S": "8"}})
    db.audit(Trip.__table__, repair=True, upgrade=True)
    assert db.get(Trip.key(id="1")) == Trip(id="1", city="Rome", room="8")
    assert db.audit(Trip.__table__).fine == 1


# A field with a default has it, whatever a key says; conditions go by it, too.
def test_a_field_with_a_default_is_not_taken_from_an_index_key(stays: sk.Session) -> None:
    store(stays, **IN_ROME, **BOTH, city={"S": "Rome"}, gsi2pk={"S": "STATE#DONE"}, gsi2sk={"N": "3"})
    wanted = Stay(guest="ada", number=3, city="Rome", room="7")
    assert stays.get(PATH) == wanted
    assert list(stays.iterate(Stay.key(guest="ada"), where={"state": "OPEN"})) == [wanted]
    assert stays.count(Stay.key(guest="ada"), where={"state": "DONE"}) == 0
    only = stays.get(PATH, only=["state", "city"])
    assert only is not None
    assert (only.state, only.city) == ("OPEN", "Rome")
    assert stays.update(PATH, {"room": "8"}, where={"state": "OPEN"}) == sk.replace(wanted, room="8")
    report = stays.audit(TABLE, repair=True)
    assert [(each.kind, each.subject) for each in report.findings] == [(Kind.ONLY_IN_INDEX_KEY, "gsi2")]
    stays.update(PATH, {"state": "OPEN"})
    assert list(stays.iterate(Stay.by_state(state="OPEN"))) == [sk.replace(wanted, room="8")]


class Note(sk.Item, table="index-held-notes"):
    id: str
    topic: str
    state: str = "OPEN"
    color: str = "white"

    key = sk.Key("NOTE#{id}")
    by_topic = sk.Index("gsi1", "TOPIC#{topic}", "{state}", projection=["state"])
    by_color = sk.Index("gsi2", "COLOR#{color}", projection="KEYS_ONLY")


# What an index projects and a row lacks has its default; what it does not project, its key may still tell.
def test_a_partial_item_shows_what_the_whole_item_shows(db: sk.Session) -> None:
    db.create_tables(Note)
    keys = {"gsi1pk": {"S": "TOPIC#a"}, "gsi1sk": {"S": "DONE"}, "gsi2pk": {"S": "COLOR#red"}}
    row = {"pk": {"S": "NOTE#1"}, "id": {"S": "1"}, "topic": {"S": "a"}, **keys}
    db.client.put_item(TableName="index-held-notes", Item=row)
    (by_topic,) = db.iterate(Note.by_topic(topic="a"))
    assert (by_topic.id, by_topic.topic, by_topic.state) == ("1", "a", "OPEN")
    (by_color,) = db.iterate(Note.by_color(color="red"))
    assert (by_color.id, by_color.color) == ("1", "red")
    assert db.whole([by_topic]) == [Note(id="1", topic="a")]
