"""What `where` compares agrees with what `get` shows, also for values of which several stored forms show one: structs,
containers, unions, sets, numbers that are shown rounded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import Enum
from typing import Annotated, Any
from uuid import UUID

import msgspec
import pytest

import sortkey as sk

ADA, BOB = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8"), UUID(int=7)
NOON = datetime(2026, 8, 24, 12, tzinfo=UTC)
EPOCH = int(NOON.timestamp())
ROME = {"M": {"city": {"S": "Rome"}}}


class Address(msgspec.Struct):
    city: str
    country: str = "IT"


@dataclass
class Size:
    width: int
    depth: int = 1


class Note(sk.Item):
    text: str
    stars: int = 0


class Holiday(Enum):
    FERRAGOSTO = date(2026, 8, 15)


class Shown(sk.Item, table="shown-values"):
    id: str
    address: Address | None = None
    size: Size | None = None
    note: Note | None = None
    stops: list[Address] = sk.field(default_factory=list)
    route: tuple[Address, ...] = ()
    places: dict[str, Address] = sk.field(default_factory=dict)
    moment: datetime | int | None = None
    owner: UUID | bool | None = None
    user: UUID | None = None
    moments: list[datetime] = sk.field(default_factory=list)
    users: set[UUID] = sk.field(default_factory=set)
    holiday: Holiday | None = None
    expires: Annotated[datetime, sk.epoch] | None = None
    renewed: Annotated[datetime, sk.epoch] | None = None
    ratio: Annotated[float, sk.inexact] | None = None
    anything: Annotated[Any, sk.inexact] = None
    billing: Address | None = None
    revision: int = 0

    key = sk.Key("SHOWN#{id}")


ONE = Shown.key(id="1")
STORED: dict[str, Any] = {
    "address": ROME,
    "size": {"M": {"width": {"N": "3"}, "colour": {"S": "red"}}},
    "note": {"M": {"text": {"S": "hi"}, "colour": {"S": "red"}}},
    "stops": {"L": [ROME]},
    "route": {"L": [ROME]},
    "places": {"M": {"home": ROME}},
    "moment": {"S": "2026-08-24T14:00:00+02:00"},
    "owner": {"S": str(ADA).upper()},
    "user": {"S": str(ADA).upper()},
    "moments": {"L": [{"S": "2026-08-24T14:00:00+02:00"}]},
    "users": {"SS": [str(ADA).upper(), str(ADA)]},
    "holiday": {"S": "20260815"},
    "expires": {"N": f"{EPOCH}.5"},
    "ratio": {"N": "0.1000000000000000055511151231257827"},
    "anything": {"N": "0.1000000000000000055511151231257827"},
    "billing": {"M": {"city": {"S": "Rome"}, "country": {"S": "IT"}}},
}
AFTER_NOON = NOON.replace(second=1)
CASES: list[tuple[dict[str, Any], bool]] = [
    ({"address": Address("Rome")}, True),
    ({"address": Address("Oslo")}, False),
    ({"address": sk.other_than(Address("Rome"))}, False),
    ({"address": sk.other_than(Address("Oslo"))}, True),
    ({"address": sk.one_of(Address("Oslo"), Address("Rome"))}, True),
    ({"address": ~sk.one_of(Address("Rome"))}, False),
    ({"address": sk.value_of("billing")}, True),
    ({"address": sk.other_than(sk.value_of("billing"))}, False),
    ({"size": Size(3)}, True),
    ({"size": sk.other_than(Size(3))}, False),
    ({"note": Note(text="hi")}, True),
    ({"note": sk.other_than(Note(text="hi"))}, False),
    ({"stops": [Address("Rome")]}, True),
    ({"stops": sk.contains(Address("Rome"))}, True),
    ({"stops": ~sk.contains(Address("Rome"))}, False),
    ({"stops": sk.sized(at_most=1)}, True),
    ({"stops[0]": Address("Rome")}, True),
    ({"stops[1]": sk.other_than(Address("Rome"))}, True),
    ({"route": (Address("Rome"),)}, True),
    ({"places": {"home": Address("Rome")}}, True),
    ({"places.home": sk.other_than(Address("Rome"))}, False),
    ({"moment": NOON}, True),
    ({"moment": sk.above(NOON)}, False),
    ({"moment": sk.at_most(NOON)}, True),
    ({"moment": sk.other_than(7)}, True),
    ({"owner": ADA}, True),
    ({"owner": sk.other_than(ADA)}, False),
    ({"moments": [NOON]}, True),
    ({"moments": sk.contains(NOON)}, True),
    ({"moments": ~sk.contains(AFTER_NOON)}, True),
    ({"users": {ADA}}, True),
    ({"users": sk.contains(ADA)}, True),
    ({"users": sk.sized(at_most=1)}, True),
    ({"holiday": Holiday.FERRAGOSTO}, True),
    ({"expires": NOON}, True),
    ({"expires": sk.one_of(NOON)}, True),
    ({"expires": sk.other_than(NOON)}, False),
    ({"expires": sk.above(NOON)}, False),
    ({"expires": sk.at_most(NOON)}, True),
    ({"expires": sk.at_least(NOON)}, True),
    ({"expires": sk.below(AFTER_NOON)}, True),
    ({"expires": ~sk.above(NOON)}, True),
    ({"expires": ~sk.at_most(NOON)}, False),
    ({"expires": sk.at_least(sk.value_of("renewed"))}, False),
    ({"ratio": 0.1}, True),
    ({"ratio": sk.above(0.1)}, False),
    ({"ratio": sk.at_most(0.1)}, True),
    ({"ratio": ~sk.at_most(0.1)}, False),
    ({"ratio": sk.other_than(0.1)}, False),
    ({"ratio": sk.one_of(0.5, 0.1)}, True),
    ({"ratio": sk.above(0.0) & sk.below(0.2)}, True),
    ({"anything": 0.1}, True),
    ({"anything": sk.above(0.1)}, False),
]


@pytest.fixture
def stored(db: sk.Session) -> sk.Session:
    db.create_tables(Shown)
    store_row(db)
    return db


def store_row(db: sk.Session) -> None:
    db.client.put_item(TableName="shown-values", Item={"pk": {"S": "SHOWN#1"}, "id": {"S": "1"}, **STORED})


@pytest.mark.parametrize(("where", "matches"), CASES)
def test_reads_compare_what_the_item_shows(stored: sk.Session, where: dict[str, Any], matches: bool) -> None:
    assert len(list(stored.scan(Shown, where=where))) == matches
    assert len(list(stored.iterate(ONE, where=where))) == matches
    assert stored.count(ONE, where=where) == matches


def written(db: sk.Session, where: Any) -> list[bool]:
    """Which writes of the item `where` allows."""
    check = sk.Transaction()
    check.check(ONE, where=where)
    check.put(Shown(id="2"))
    item = db.get(ONE, consistent=True)
    assert item is not None
    results = []
    for write in (
        lambda: db.update(ONE, {"revision": 1}, where=where),
        lambda: db.transact(check),
        lambda: db.put(item, where=where),
        lambda: store_row(db),
        lambda: db.delete(ONE, where=where),
        lambda: store_row(db),
    ):
        try:
            write()
            results.append(True)
        except (sk.ConditionFailed, sk.TransactionFailed):
            results.append(False)
    del results[5], results[3]
    db.delete(Shown.key(id="2"))
    return [*results, db.delete_all(ONE, where=where).items == 1]


@pytest.mark.parametrize(("where", "matches"), CASES)
def test_writes_compare_what_the_item_shows(stored: sk.Session, where: dict[str, Any], matches: bool) -> None:
    assert written(stored, where) == [matches] * 5


# Each test of a form takes up to 16 of DynamoDB's 300 operators.
def test_many_conditions_on_values_with_forms_fit(stored: sk.Session) -> None:
    others = [UUID(int=number) for number in range(60)]
    ada = sk.any_of(*({"user": each} for each in others), {"user": ADA})
    nobody = sk.all_of(*({"user": sk.other_than(each)} for each in others))
    bounds = sk.all_of(*({"moments[0]": sk.above(NOON.replace(hour=1, minute=each))} for each in range(60)))
    late = sk.all_of(*({"moments[0]": sk.at_least(NOON.replace(minute=each))} for each in range(60)))
    times = {"expires": sk.one_of(*(NOON.replace(hour=each % 24, minute=each % 60) for each in range(100)))}
    for where, matches in ((ada, True), (nobody, True), (bounds, True), (late, False), (times, True)):
        assert len(list(stored.scan(Shown, where=where))) == matches
        assert stored.count(ONE, where=where) == matches
        assert written(stored, where) == [matches] * 5
        store_row(stored)


def test_an_item_that_does_not_exist_has_no_fields(stored: sk.Session) -> None:
    stored.delete(ONE)
    many = sk.all_of(*({"moments[0]": sk.below(NOON.replace(minute=each))} for each in range(60)))
    for where in ({"address": sk.other_than(Address("Rome"))}, {"users": {ADA}}, many):
        with pytest.raises(sk.ConditionFailed):
            stored.put(Shown(id="1"), where=where)
    assert stored.put(Shown(id="1"), where={"address": sk.absent})


# DELETE would leave the element in the form of another program.
def test_discard_removes_an_element_in_whatever_form(stored: sk.Session) -> None:
    assert stored.update(ONE, {"users": sk.add({BOB})}).users == {ADA, BOB}
    assert stored.update(ONE, {"users": sk.discard({ADA})}).users == {BOB}
    assert stored.update(ONE, {"users": sk.discard({BOB, ADA})}).users == set()


@pytest.mark.parametrize(
    ("field", "older", "same"), [("expires", NOON.replace(hour=11), NOON), ("ratio", 0.05, 0.1), ("moment", 3, NOON)]
)
def test_newer_by_compares_what_the_item_shows(stored: sk.Session, field: str, older: Any, same: Any) -> None:
    assert not stored.put(Shown(id="1", **{field: older}), newer_by=field)
    assert not stored.put(Shown(id="1", **{field: same}), newer_by=field)
    later: Any = 0.2 if field == "ratio" else NOON.replace(year=2027)
    assert stored.put(Shown(id="1", **{field: later}), newer_by=field)


class Parcel(sk.Item, table="shown-parcels"):
    id: str
    number: int
    address: Address = sk.field(default_factory=lambda: Address("Rome"))

    key = sk.Key("PARCELS#{id}", "{number:03}")


# The store cannot drop rows by a struct, nor by its absence. Asked for one row at a time, it would be asked 31 times.
def test_a_condition_that_only_the_session_can_judge_takes_few_requests(db: sk.Session) -> None:
    db.create_tables(Parcel)
    db.batch(put=[Parcel(id="a", number=number, address=Address("Oslo")) for number in range(30)])
    db.put(Parcel(id="a", number=99))
    path, rome = Parcel.key(id="a"), {"address": Address("Rome")}
    before = db.meter.reading(Parcel.key).calls
    first = db.first(path, where=rome)
    assert first is not None
    assert first.number == 99
    assert [each.number for each in db.page(path, first=1, where=rome)] == [99]
    assert db.meter.reading(Parcel.key).calls - before == 2
