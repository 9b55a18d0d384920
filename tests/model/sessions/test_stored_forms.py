"""A put of a read item leaves what it did not change as it is stored, in whatever form another program wrote it."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

import msgspec
import pytest

import sortkey as sk
from sortkey.client.boto3_shapes import Unparsed
from sortkey.model.calls.item_decoder import decode_item
from sortkey.model.items.item import schema_of


def to_offset(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f+0000")


Offset = sk.stored_as(str, encode=to_offset, decode=datetime.fromisoformat)


@dataclass
class Address:
    city: str
    zip: str | None = None
    country: str = "DE"
    since: Annotated[datetime, sk.stored_as(datetime, also=Offset)] | None = None


class Part(sk.Item):
    name: str
    at: Annotated[datetime, sk.stored_as(datetime, also=Offset)] | None = None


class Visit(sk.Item, table="stored-forms-visits"):
    id: str
    name: str
    at: Annotated[datetime, sk.stored_as(datetime, also=Offset)]
    note: str | None = None
    tags: set[str] = msgspec.field(default_factory=set)
    amount: Decimal = Decimal(0)
    weight: Annotated[float, sk.inexact] = 0.0
    anything: Any = None
    address: Address | None = None
    parts: list[Part] = msgspec.field(default_factory=list)

    key = sk.Key("VISIT#{id}")


NOON = datetime(2026, 1, 4, 12, tzinfo=UTC)
STORED: dict[str, Any] = {
    "pk": {"S": "VISIT#1"},
    "id": {"S": "1"},
    "name": {"S": "a"},
    "at": {"S": "2026-01-04T12:00:00.000000+0000"},
    "note": {"NULL": True},
    "tags": {"NULL": True},
    "amount": {"N": "1.5"},
    "weight": {"N": "2"},
    "anything": {"L": [{"NULL": True}, {"N": "7"}]},
    "address": {
        "M": {
            "city": {"S": "Bonn"},
            "zip": {"NULL": True},
            "since": {"S": "2025-01-04T12:00:00.000000+0000"},
            "theirs": {"S": "x"},
        }
    },
    "parts": {
        "L": [
            {"M": {"name": {"S": "one"}, "at": {"S": "2025-01-04T12:00:00.000000+0000"}, "more": {"N": "1"}}},
            {"M": {"name": {"S": "two"}, "at": {"NULL": True}}},
        ]
    },
}
PATH = Visit.key(id="1")


@pytest.fixture
def visits(db: sk.Session) -> sk.Session:
    db.create_tables(Visit)
    db.client.put_item(TableName="stored-forms-visits", Item=STORED)
    return db


def stored(db: sk.Session) -> dict[str, Any]:
    (row,) = db.scan_rows(Visit.__table__)
    return dict(row)


def read(db: sk.Session) -> Visit:
    item = db.get(PATH)
    assert item is not None
    return item


def test_a_put_of_a_read_item_changes_nothing(visits: sk.Session) -> None:
    visits.put(read(visits))
    assert stored(visits) == STORED


@pytest.mark.parametrize(
    "reading",
    [
        lambda db: db.page(Visit.key(id="1"), first=5).items[0],
        lambda db: db.lookup(Visit.key, [{"id": "1"}])[0],
        lambda db: next(iter(db.scan(Visit))),
        lambda db: db.get_many([PATH])[0],
        lambda db: db.update(PATH, {"name": "a"}),
    ],
    ids=["page", "lookup", "scan", "get_many", "update"],
)
def test_every_read_keeps_the_forms(visits: sk.Session, reading: Any) -> None:
    visits.batch(put=[reading(visits)])
    assert stored(visits) == STORED


def test_a_row_with_an_undeclared_attribute_keeps_the_forms(visits: sk.Session) -> None:
    visits.client.put_item(TableName="stored-forms-visits", Item=STORED | {"theirs": {"N": "1"}})
    visits.put(read(visits))
    assert stored(visits) == STORED | {"theirs": {"N": "1"}}


def test_a_changed_field_gets_its_own_form_and_no_other_does(visits: sk.Session) -> None:
    item = read(visits)
    item.name = "b"
    item.at = NOON.replace(hour=13)
    visits.put(item)
    assert stored(visits) == STORED | {"name": {"S": "b"}, "at": {"S": "2026-01-04T13:00:00.000000Z"}}
    item.at, item.note, item.tags = NOON, "n", {"t"}
    visits.put(item)
    assert stored(visits) == STORED | {"name": {"S": "b"}, "note": {"S": "n"}, "tags": {"SS": ["t"]}}
    item.note, item.tags = None, set()
    visits.put(item)
    assert stored(visits) == STORED | {"name": {"S": "b"}}


def test_a_change_inside_of_a_map_or_a_list_leaves_the_rest_of_it(visits: sk.Session) -> None:
    item = read(visits)
    assert item.address is not None
    item.address.city = "Rome"
    item.parts[1].name = "zwei"
    visits.put(item)
    row = stored(visits)
    assert row["address"]["M"] == STORED["address"]["M"] | {"city": {"S": "Rome"}, "country": {"S": "DE"}}
    assert row["parts"]["L"][0] == STORED["parts"]["L"][0]
    del item.parts[1]
    item.parts.insert(0, Part(name="zero"))
    visits.put(item)
    assert stored(visits)["parts"]["L"] == [{"M": {"name": {"S": "zero"}}}, STORED["parts"]["L"][0]]


def test_none_in_place_of_a_value_is_left_out(visits: sk.Session) -> None:
    visits.put(sk.replace(read(visits), address=None))
    assert stored(visits) == {name: value for name, value in STORED.items() if name != "address"}


@pytest.mark.parametrize(
    "copied",
    [
        lambda item: sk.replace(item, name="b"),
        lambda item: sk.replace(copy.copy(item), name="b"),
        lambda item: sk.replace(copy.deepcopy(item), name="b"),
        lambda item: sk.replace(pickle.loads(pickle.dumps(item)), name="b"),
    ],
    ids=["replace", "copy", "deepcopy", "pickle"],
)
def test_copies_keep_the_forms(visits: sk.Session, copied: Any) -> None:
    visits.put(copied(read(visits)))
    assert stored(visits) == STORED | {"name": {"S": "b"}}


def test_an_item_that_was_made_is_written_in_the_forms_of_its_fields(visits: sk.Session) -> None:
    item = read(visits)
    visits.put(Visit(**{name: getattr(item, name) for name in Visit.__struct_fields__}))
    row = stored(visits)
    assert row["at"] == {"S": "2026-01-04T12:00:00.000000Z"}
    assert row.keys().isdisjoint({"note", "tags"})


# What conditional writes, transactions and stamps write is the same item.
def test_other_puts_keep_the_forms(visits: sk.Session) -> None:
    item = sk.replace(read(visits), name="b")
    assert visits.put(item, where={"name": "a"})
    assert stored(visits) == STORED | {"name": {"S": "b"}}
    transaction = sk.Transaction()
    transaction.put(sk.replace(item, name="c"))
    visits.transact(transaction)
    assert stored(visits) == STORED | {"name": {"S": "c"}}


# DynamoDB and Sortkey's engine write a number in one spelling. Other stores return what was sent.
def test_a_number_keeps_its_spelling() -> None:
    schema = schema_of(Visit)
    row = STORED | {"amount": {"N": "1.50"}, "weight": {"N": "2.0"}, "anything": {"NS": ["1.0", "02"]}}
    item = decode_item(schema, Unparsed(msgspec.json.encode(row), False, is_foreign=True))
    assert item is not None
    assert schema.encode(item) == row
    item.weight = 2.5
    assert schema.encode(item) == row | {"weight": {"N": "2.5"}}


class Plain(sk.Item, table="stored-forms-plain"):
    id: str
    note: str | None = None
    other: str | None = "x"

    key = sk.Key("PLAIN#{id}")


def test_an_item_of_a_row_in_its_own_forms_keeps_nothing(db: sk.Session) -> None:
    db.create_tables(Plain)
    db.batch(put=[Plain(id="1"), Plain(id="2", other=None), Plain(id="3", note="n")])
    for item in db.scan(Plain):
        assert vars(item) == {}


# The key says what the field is; an attribute that says something else is nobody's to change here.
def test_an_attribute_that_disagrees_with_the_key_stays(db: sk.Session) -> None:
    db.create_tables(Plain)
    row = {"pk": {"S": "PLAIN#1"}, "id": {"S": "one"}, "other": {"S": "x"}}
    db.client.put_item(TableName="stored-forms-plain", Item=row)
    item = db.get(Plain.key(id="1"))
    assert item is not None
    db.put(sk.replace(item, note="n"))
    assert list(db.scan_rows(Plain.__table__)) == [row | {"note": {"S": "n"}}]


# Whoever puts items that it did not read should know before.
def test_an_audit_says_what_a_put_would_rewrite(visits: sk.Session) -> None:
    report = visits.audit(Visit)
    assert report.is_clean
    assert [(each.kind.value, each.subject, each.repairable) for each in report.findings] == [
        ("put-rewrites", name, 0) for name in ("at", "note", "tags", "address", "parts")
    ]
    assert report.findings[0].examples[0].detail == (
        "{'S': '2026-01-04T12:00:00.000000+0000'} would be {'S': '2026-01-04T12:00:00.000000Z'}; declare the stored "
        "form first, in sk.stored_as, to write it"
    )
    assert visits.audit(Visit, repair=True).write_units == 0
    assert stored(visits) == STORED


def test_a_repair_rewrites_it_only_if_told_so(visits: sk.Session) -> None:
    before = read(visits)
    report = visits.audit(Visit, repair=True, rewrite=True)
    assert [each.repaired for each in report.findings] == [1] * 5
    row = stored(visits)
    assert row["at"] == {"S": "2026-01-04T12:00:00.000000Z"}
    assert row["address"]["M"]["theirs"] == {"S": "x"}
    assert row.keys().isdisjoint({"note", "tags"})
    assert read(visits) == before
    assert visits.audit(Visit).fine == 1
