"""Rows that PynamoDB made are read, and written back as they were; rows of Sortkey are read by PynamoDB."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pynamodb.attributes import (
    BinaryAttribute,
    BinarySetAttribute,
    BooleanAttribute,
    JSONAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    NumberSetAttribute,
    TTLAttribute,
    UnicodeAttribute,
    UTCDateTimeAttribute,
)
from pynamodb.models import Model

import sortkey as sk
from sortkey.compat import pynamodb

VISITS = sk.Table("visits", ttl="expires")
AT = datetime(2026, 1, 4, 10, 0, 0, 120, tzinfo=UTC)


class Theirs(Model):
    class Meta:
        table_name = "visits"

    id = UnicodeAttribute(hash_key=True)
    at = UTCDateTimeAttribute(range_key=True)
    photo = BinaryAttribute(legacy_encoding=True, null=True)
    photos = BinarySetAttribute(legacy_encoding=True, null=True)
    answers = JSONAttribute(null=True)
    paid = BooleanAttribute(null=True)
    price = NumberAttribute(null=True)
    prices = NumberSetAttribute(null=True)
    expires = TTLAttribute(null=True)
    details: MapAttribute[str, Any] = MapAttribute(null=True)
    times = ListAttribute(of=UTCDateTimeAttribute, null=True)


class Ours(sk.Item, table=VISITS):
    id: str
    at: pynamodb.UTCDateTime
    photo: pynamodb.LegacyBinary | None = None
    photos: set[pynamodb.LegacyBinary] = sk.field(default_factory=set)
    answers: pynamodb.JSON = None
    paid: pynamodb.LegacyBoolean | None = None
    price: pynamodb.Number | None = None
    prices: set[pynamodb.Number] = sk.field(default_factory=set)
    expires: pynamodb.TTL | None = None
    details: dict[str, pynamodb.AnyValue] | None = None
    times: list[pynamodb.UTCDateTime] | None = None

    key = sk.Key("{id}", "{at}", names=("id", "at"))


VALUES: dict[str, Any] = {
    "photo": b"\x00\xff",
    "photos": {b"\x00", b"ab"},
    "answers": {"b": [1, None, 1.5, "ß"], "a": {}},
    "paid": True,
    "price": 0.1 + 0.2,
    "prices": {1.5, 2.0},
    "expires": datetime(2096, 1, 1, tzinfo=UTC),
    "details": {"n": 1.5, "none": None, "list": [True, "x"]},
    "times": [AT, datetime(999, 1, 1, tzinfo=UTC)],
}


@pytest.fixture
def db() -> Iterator[sk.Session]:
    with sk.connect("memory:", tables=[VISITS]) as made:
        made.create_tables()
        yield made


def stored(db: sk.Session) -> dict[str, Any]:
    (row,) = db.scan_rows(VISITS)
    return row


def test_a_row_of_theirs_shows_its_values_and_a_put_leaves_it_as_it_was(db: sk.Session) -> None:
    db.client.put_item(TableName="visits", Item=Theirs("v1", AT, **VALUES).serialize())
    before = stored(db)
    item = db.get(Ours.key(id="v1", at=AT))
    assert item == Ours(id="v1", at=AT, **VALUES)
    db.put(item)
    assert stored(db) == before
    assert db.audit(VISITS).is_clean


def test_a_row_of_ours_is_theirs(db: sk.Session) -> None:
    db.put(Ours(id="v1", at=AT, **VALUES))
    ours = stored(db)
    shown = Theirs.from_raw_data(ours)
    assert {name: getattr(shown, name) for name in VALUES if name != "details"} == {
        name: value for name, value in VALUES.items() if name != "details"
    }
    assert shown.details.as_dict() == VALUES["details"]
    db.client.put_item(TableName="visits", Item=shown.serialize())
    assert stored(db) == ours


def test_what_is_none_or_empty_is_left_out_by_both(db: sk.Session) -> None:
    db.put(Ours(id="v1", at=AT))
    assert stored(db) == Theirs("v1", AT, photos=set(), prices=set()).serialize()


def test_times_are_compared_and_found_by_range(db: sk.Session) -> None:
    db.client.put_item(TableName="visits", Item=Theirs("v1", AT).serialize())
    elsewhere = AT.astimezone(timezone(timedelta(hours=5)))
    assert db.count(Ours.key(id="v1").between(elsewhere - timedelta(seconds=1), elsewhere)) == 1
    assert db.count(Ours.key(id="v1").after(AT)) == 0


# PynamoDB does not read it, so it is an error for Sortkey, too; an audit rewrites it.
def test_a_time_that_ends_with_z_is_another_form(db: sk.Session) -> None:
    row = {**Theirs("v1", AT).serialize(), "times": {"L": [{"S": "2026-01-04T10:00:00.000000Z"}]}}
    db.client.put_item(TableName="visits", Item=row)
    with pytest.raises(sk.DecodeError, match=r"\+0000; a plain datetime reads it, and sortkey audit --repair"):
        db.get(Ours.key(id="v1", at=AT))
    db.audit(VISITS, repair=True)
    assert stored(db)["times"] == {"L": [{"S": "2026-01-04T10:00:00.000000+0000"}]}


@pytest.mark.parametrize(("found", "shown"), [({"N": "0"}, False), ({"N": "1"}, True), ({"BOOL": True}, True)])
def test_a_boolean_of_an_old_version_is_read(db: sk.Session, found: dict[str, Any], shown: bool) -> None:
    db.client.put_item(TableName="visits", Item={**Theirs("v1", AT).serialize(), "paid": found})
    item = db.get(Ours.key(id="v1", at=AT))
    assert item is not None
    assert item.paid is shown
    assert db.count(Ours.key(id="v1", at=AT), where={"paid": shown}) == 1


@pytest.mark.parametrize(
    ("attribute", "found"),
    [
        ("paid", {"N": "2"}),
        ("photo", {"B": b"not base64!"}),
        ("answers", {"S": "{"}),
        ("answers", {"S": '{"a":1}'}),  # by another program: PynamoDB writes a space after the colon
        ("price", {"N": "0.12345678901234567890"}),
    ],
)
def test_what_pynamodb_would_not_write_names_the_field(db: sk.Session, attribute: str, found: dict[str, Any]) -> None:
    db.client.put_item(TableName="visits", Item={**Theirs("v1", AT).serialize(), attribute: found})
    with pytest.raises(sk.DecodeError, match=f"Ours.{attribute}: "):
        db.get(Ours.key(id="v1", at=AT))


def test_a_value_that_json_cannot_say_names_the_field(db: sk.Session) -> None:
    with pytest.raises(sk.EncodeError, match=r"Ours\.answers: cannot encode .*set"):
        db.put(Ours(id="v1", at=AT, answers={1, 2}))
