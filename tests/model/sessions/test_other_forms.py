"""A field has one stored form. A value in another one is an error that names the row and the remedy, `also=` reads
several, and an audit rewrites them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import msgspec
import pytest

import sortkey as sk
from sortkey.model.audit.finding import Kind

ADA = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
NOON = datetime(2026, 8, 24, 12, tzinfo=UTC)


def parse_price(text: str) -> Decimal:
    return Decimal(text.replace(",", "."))


class Stop(msgspec.Struct):
    at: datetime
    note: str = ""


class Imported(sk.Item, table="imported-rows"):
    id: str
    at: datetime | None = None
    whole: Annotated[datetime, sk.seconds] | None = None
    expires: Annotated[datetime, sk.epoch] | None = None
    millis: Annotated[datetime, sk.epoch_ms] | None = None
    day: date | None = None
    user: UUID | None = None
    ratio: Annotated[float, sk.inexact] | None = None
    anything: Annotated[Any, sk.inexact] = None
    price: Annotated[Decimal, sk.stored_as(str, encode=str, decode=parse_price)] | None = None
    count: int | None = None
    amount: Decimal | None = None
    stops: list[Stop] = sk.field(default_factory=list)
    users: set[UUID] = sk.field(default_factory=set)

    key = sk.Key("IMPORTED#{id}")
    by_day = sk.Index("gsi1", "DAYS", "{at}", names=("days", "at"))


ONE = Imported.key(id="1")
OTHER: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("at", {"S": "2026-08-24T12:00:00Z"}, {"S": "2026-08-24T12:00:00.000000Z"}),
    ("at", {"S": "2026-08-24 12:00:00.000000Z"}, {"S": "2026-08-24T12:00:00.000000Z"}),
    ("at", {"S": "2026-W35-1T12:00:00.000000Z"}, {"S": "2026-08-24T12:00:00.000000Z"}),
    ("at", {"S": "2026-08-24T14:00:00+02:00"}, {"S": "2026-08-24T12:00:00.000000Z"}),
    ("whole", {"S": "2026-08-24T12:00:00.000000Z"}, {"S": "2026-08-24T12:00:00Z"}),
    ("whole", {"S": "2026-08-24T12:00:00.5Z"}, {"S": "2026-08-24T12:00:00Z"}),
    ("expires", {"S": "2026-08-24T12:00:00Z"}, {"N": "1787572800"}),
    ("expires", {"N": "1787572800.5"}, {"N": "1787572800"}),
    ("day", {"S": "20260824"}, {"S": "2026-08-24"}),
    ("day", {"S": "2026-W35-1"}, {"S": "2026-08-24"}),
    ("user", {"S": ADA.upper()}, {"S": ADA}),
    ("user", {"S": f"{{{ADA}}}"}, {"S": ADA}),
    ("user", {"S": ADA.replace("-", "")}, {"S": ADA}),
    ("ratio", {"N": "0.1000000000000000055511151231257827"}, {"N": "0.1"}),
    ("anything", {"N": "0.1000000000000000055511151231257827"}, {"N": "0.1"}),
    ("price", {"S": "9,90"}, {"S": "9.90"}),
    ("users", {"SS": [ADA.upper()]}, {"SS": [ADA]}),
    (
        "stops",
        {"L": [{"M": {"at": {"S": "2026-08-24T12:00:00Z"}, "colour": {"S": "red"}}}]},
        {"L": [{"M": {"at": {"S": "2026-08-24T12:00:00.000000Z"}, "note": {"S": ""}, "colour": {"S": "red"}}}]},
    ),
]


def store(db: sk.Session, **attributes: Any) -> None:
    db.create_tables(Imported)
    db.client.put_item(TableName="imported-rows", Item={"pk": {"S": "IMPORTED#1"}, "id": {"S": "1"}, **attributes})


@pytest.mark.parametrize(("field", "stored", "own"), OTHER)
def test_a_value_in_another_form_is_an_error_that_an_audit_repairs(
    db: sk.Session, field: str, stored: dict[str, Any], own: dict[str, Any]
) -> None:
    store(db, **{field: stored}, days={"S": "DAYS"}) if field == "at" else store(db, **{field: stored})
    said = rf"Imported\.{field}.*not in the form of the field.*sortkey audit --repair.*pk='IMPORTED#1'"
    with pytest.raises(sk.DecodeError, match=said) as error:
        db.get(ONE)
    assert error.value.key == {"pk": {"S": "IMPORTED#1"}}
    with pytest.raises(sk.DecodeError):
        list(db.iterate(ONE))
    report = db.audit(Imported)
    assert (Kind.OTHER_FORM, field, 1) in [(each.kind, each.subject, each.repairable) for each in report.findings]
    db.audit(Imported, repair=True)
    (row,) = db.scan_rows(Imported.__table__)
    assert row[field] == own
    assert db.audit(Imported).fine == 1
    item = db.get(ONE)
    assert item is not None
    value = getattr(item, field)
    if field != "stops":
        assert db.count(ONE, where={field: value}) == 1


# One number has several texts, and to the store they are equal.
@pytest.mark.parametrize(
    ("field", "stored"),
    [
        ("amount", {"N": "1.50"}),
        ("ratio", {"N": "1.50"}),
        ("ratio", {"N": "1E+100"}),
        ("ratio", {"N": "0.30000000000000004"}),
        ("expires", {"N": "-1"}),
        ("millis", {"N": "1787572800123"}),
        ("price", {"S": "9.90"}),
    ],
)
def test_a_value_in_its_own_form_is_found(db: sk.Session, field: str, stored: dict[str, Any]) -> None:
    store(db, **{field: stored})
    item = db.get(ONE)
    assert item is not None
    assert db.count(ONE, where={field: getattr(item, field)}) == 1


def test_a_put_by_a_field_in_another_form_does_not_say_that_it_is_older(db: sk.Session) -> None:
    store(db, at={"S": "2026-08-24T14:00:00+02:00"}, days={"S": "DAYS"})
    with pytest.raises(sk.DecodeError, match=r"Imported\.at"):
        db.put(Imported(id="1", at=NOON), newer_by="at")


class Shared(sk.Item, table="shared-rows"):
    """Of a table that another program writes, too."""

    id: str
    at: Annotated[datetime, sk.stored_as(datetime, also=[sk.seconds, sk.epoch])] | None = None
    price: Annotated[Decimal, sk.stored_as(str, encode=str, decode=Decimal, also=Decimal)] | None = None

    key = sk.Key("SHARED#{id}")


FORMS: list[dict[str, Any]] = [
    {"S": "2026-08-24T12:00:00.000000Z"},
    {"S": "2026-08-24T12:00:00Z"},
    {"N": "1787572800"},
]


@pytest.mark.parametrize("stored", FORMS)
def test_a_field_with_several_forms_is_found_in_each(db: sk.Session, stored: dict[str, Any]) -> None:
    db.create_tables(Shared)
    path, at = Shared.key(id="1"), sk.F(Shared.at)
    db.client.put_item(TableName="shared-rows", Item={"pk": {"S": "SHARED#1"}, "id": {"S": "1"}, "at": stored})
    item = db.get(path)
    assert item == Shared(id="1", at=NOON)
    later = NOON.replace(hour=13)
    for where, matches in (
        ({"at": NOON}, 1),
        ({"at": later}, 0),
        (at != NOON, 0),
        (at != later, 1),
        (at.is_in(later, NOON), 1),
        (~at.is_in(NOON), 0),
        (at.exists(), 1),
    ):
        assert db.count(path, where=where) == matches, where
    assert db.update(path, {"price": Decimal(1)}, where={"at": NOON}).price == 1
    db.put(item)
    (row,) = db.scan_rows(Shared.__table__)
    assert row["at"] == stored
    db.put(sk.replace(item, at=later))
    (row,) = db.scan_rows(Shared.__table__)
    assert row["at"] == {"S": "2026-08-24T13:00:00.000000Z"}


# Half a second is in no whole number of seconds: the forms that cannot hold it are not asked for.
def test_a_form_that_does_not_hold_the_value_is_left_out(db: sk.Session) -> None:
    db.create_tables(Shared)
    db.client.put_item(TableName="shared-rows", Item={"pk": {"S": "SHARED#1"}, "id": {"S": "1"}, "at": FORMS[2]})
    assert db.count(Shared.key(id="1"), where={"at": NOON.replace(microsecond=500_000)}) == 0


def test_a_field_with_several_forms_has_no_order(memory: sk.Session) -> None:
    memory.create_tables(Shared)
    path, at = Shared.key(id="1"), sk.F(Shared.at)
    for where in (at < NOON, at >= NOON, at.between(NOON, NOON)):
        with pytest.raises(sk.Unsupported, match=r"Shared\.at: .* several forms, which have no common order"):
            memory.count(path, where=where)
    with pytest.raises(sk.Unsupported, match="newer_by"):
        memory.put(Shared(id="1", at=NOON), newer_by="at")
    with pytest.raises(sk.Unsupported, match="several forms; set it instead"):
        memory.update(path, [sk.F(Shared.price).add(1)])


def test_no_key_has_a_field_with_several_forms() -> None:
    with pytest.raises(sk.DeclarationError, match="several forms"):

        class Keyed(sk.Item, table="shared-keys"):
            at: Annotated[datetime, sk.stored_as(datetime, also=sk.epoch)]

            key = sk.Key("{at}")


def test_forms_are_declared_whole() -> None:
    with pytest.raises(sk.DeclarationError, match="give encode and decode, or neither"):
        sk.stored_as(str, encode=str)
    with pytest.raises(sk.DeclarationError, match="or other forms with also="):
        sk.stored_as(str)


class Address(msgspec.Struct):
    city: str
    country: str = "IT"


class Spot(msgspec.Struct):
    x: int
    y: int


class Route(sk.Item, table="routes"):
    id: str
    start: Spot | None = None
    home: Address = msgspec.field(default_factory=lambda: Address("Rome"))
    stops: list[Address] = msgspec.field(default_factory=list)
    spots: list[Spot] = msgspec.field(default_factory=list)

    key = sk.Key("ROUTE#{id}")


# A row that is older than Address.country would be missed.
def test_a_struct_with_defaults_is_not_compared_whole(memory: sk.Session) -> None:
    memory.create_tables(Route)
    path = Route.key(id="1")
    for where, place in (
        ({"home": Address("Rome")}, "home.country"),
        (sk.F(Route.home) != Address("Rome"), "home.country"),
        ({"stops": [Address("Rome")]}, r"stops\[0\].country"),
        (sk.F(Route.stops).contains(Address("Rome")), r"stops\[0\].country"),
        ({"stops[0]": Address("Rome")}, "element.country"),
    ):
        with pytest.raises(sk.Unsupported, match=rf"cannot be compared whole: .* without {place}"):
            memory.count(path, where=where)
    memory.client.put_item(
        TableName="routes",
        Item={"pk": {"S": "ROUTE#1"}, "id": {"S": "1"}, "home": {"M": {"city": {"S": "Oslo"}}}},
    )
    home = sk.F(Route.home)
    assert memory.count(path, where={"home.city": "Oslo", "home.country": "IT"}) == 1
    assert memory.count(path, where=home.at(Address.country) != "IT") == 0


def test_a_struct_without_defaults_is_compared_as_it_is_stored(db: sk.Session) -> None:
    db.create_tables(Route)
    db.put(Route(id="1", start=Spot(1, 2), spots=[Spot(3, 4)]))
    path, start = Route.key(id="1"), sk.F(Route.start)
    for where, matches in (
        ({"start": Spot(1, 2)}, 1),
        (start != Spot(1, 2), 0),
        (start.is_in(Spot(1, 2), Spot(3, 4)), 1),
        ({"spots": [Spot(3, 4)]}, 1),
        (sk.F(Route.spots).contains(Spot(3, 4)), 1),
        ({"spots[0]": Spot(1, 2)}, 0),
    ):
        assert db.count(path, where=where) == matches
