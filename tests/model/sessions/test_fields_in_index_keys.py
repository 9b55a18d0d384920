"""Rows that have a required field in an index key only: no update and no repair may lose it with the key."""

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


def test_an_update_that_removes_the_key_stores_the_field(stays: sk.Session) -> None:
    store(stays, **IN_ROME, **BOTH)
    assert stays.update(PATH, {"room": None}) == Stay(guest="ada", number=3, city="Rome")
    row = stored(stays)
    assert row["city"] == {"S": "Rome"}
    assert row.keys().isdisjoint(IN_ROME)


def test_a_transaction_that_removes_the_key_stores_the_field(stays: sk.Session) -> None:
    store(stays, **IN_ROME, **BOTH)
    transaction = sk.Transaction()
    transaction.update(PATH, {"room": None})
    stays.transact(transaction)
    assert stays.get(PATH) == Stay(guest="ada", number=3, city="Rome")


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
def test_a_repair_that_removes_the_key_stores_the_field(stays: sk.Session) -> None:
    store(stays, **IN_ROME, room={"NULL": True})
    shown = stays.get(PATH)
    assert shown == Stay(guest="ada", number=3, city="Rome")
    report = stays.audit(TABLE, repair=True)
    assert [(each.kind, each.subject, each.repaired) for each in report.findings] == [
        (Kind.INDEX_KEY_STALE, "gsi1", 1),
        (Kind.INDEX_KEY_MISSING, "gsi2", 1),
    ]
    assert stays.get(PATH) == shown
    assert stored(stays)["city"] == {"S": "Rome"}
    assert stays.audit(TABLE).fine == 1


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


# To a row of an older version, a repair must not add an attribute that its upgrade does not expect.
def test_a_repair_of_an_older_version_needs_the_upgrade(db: sk.Session) -> None:
    db.create_tables(Trip)
    row = {"pk": {"S": "TRIP#1"}, "id": {"S": "1"}, "gsi1pk": {"S": "CITY#Rome"}, "gsi1sk": {"S": "7"}}
    db.client.put_item(TableName="index-held-trips", Item=row)
    report = db.audit(Trip.__table__, repair=True)
    assert {each.kind: each.repaired for each in report.findings} == {Kind.INDEX_KEY_STALE: 0, Kind.OLDER_VERSION: 0}
    assert "upgraded" in report.findings[0].examples[0].detail
    assert list(db.scan_rows(Trip.__table__)) == [row]
    db.audit(Trip.__table__, repair=True, upgrade=True)
    assert db.get(Trip.key(id="1")) == Trip(id="1", city="Rome")
    assert db.audit(Trip.__table__).fine == 1


# A field with a default has it, whether or not another field has to be taken from a key; conditions go by it, too.
@pytest.mark.parametrize("city", [{}, {"city": {"S": "Rome"}}], ids=["city-in-key", "city"])
def test_a_field_with_a_default_is_not_taken_from_an_index_key(stays: sk.Session, city: dict[str, Any]) -> None:
    store(stays, **IN_ROME, **BOTH, **city, gsi2pk={"S": "STATE#DONE"}, gsi2sk={"N": "3"})
    wanted = Stay(guest="ada", number=3, city="Rome", room="7")
    assert stays.get(PATH) == wanted
    assert list(stays.iterate(Stay.key(guest="ada"), where={"state": "OPEN"})) == [wanted]
    assert stays.count(Stay.key(guest="ada"), where={"state": "DONE"}) == 0
    only = stays.get(PATH, only=["state", "city"])
    assert only is not None
    assert (only.state, only.city) == ("OPEN", "Rome")
    assert stays.update(PATH, {"room": "8"}, where={"state": "OPEN"}) == sk.replace(wanted, room="8")
    stays.audit(TABLE, repair=True)
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
    db.client.put_item(TableName="index-held-notes", Item={"pk": {"S": "NOTE#1"}, "id": {"S": "1"}, **keys})
    (by_topic,) = db.iterate(Note.by_topic(topic="a"))
    assert (by_topic.id, by_topic.topic, by_topic.state) == ("1", "a", "OPEN")
    (by_color,) = db.iterate(Note.by_color(color="red"))
    assert (by_color.id, by_color.color) == ("1", "red")
    assert db.whole([by_topic]) == [Note(id="1", topic="a")]
