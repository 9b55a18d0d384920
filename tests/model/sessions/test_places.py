"""Places inside fields: of nested items, dicts and lists; changed alone, and on rows that lack what contains them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import sortkey as sk
from sortkey.model.changes.typed_field import field_of
from sortkey.model.items.item import schema_of
from tests.model.sessions.old_rows import put_row, row_of

BASKETS = sk.Table("place-baskets")


class Address(sk.Item):
    city: str = "Berlin"
    zip_code: str | None = sk.field(default=None, name="zip")
    visits: int = 10


class Line(msgspec.Struct):
    product: str
    quantity: int = 1
    labels: set[str] = sk.field(default_factory=set)


class Basket(sk.Item, table=BASKETS):
    id: str
    status: str = "OPEN"
    address: Address = sk.field(default_factory=Address)
    billing: Address | None = None
    shop: Address = sk.field(default_factory=lambda: Address(city="Paris"))
    lines: list[Line] = sk.field(default_factory=list)
    counts: dict[str, int] = sk.field(default_factory=dict)
    notes: dict[str, str | None] = sk.field(default_factory=dict)
    marks: list[str] = sk.field(default_factory=list)

    key = sk.Key("BASKET#{id}")
    by_status = sk.Index("gsi1", "STATUS#{status}", "{id}")


ONE = Basket.key(id="1")


@pytest.fixture
def baskets(db: sk.Session) -> sk.Session:
    db.create_tables(BASKETS)
    return db


def full() -> Basket:
    return Basket(
        id="1",
        address=Address(city="Rome"),
        lines=[Line(product="a"), Line(product="b", quantity=4, labels={"x"})],
        counts={"mon": 1},
        marks=["m", "n"],
    )


def test_places_change_alone(baskets: sk.Session) -> None:
    row = {**schema_of(Basket).encode(full()), "legacy": {"S": "kept"}}
    row["address"]["M"]["floor"] = {"N": "3"}
    put_row(baskets, row, "place-baskets")
    changed = baskets.update(
        ONE,
        [
            sk.F(Basket.lines)[1].at(Line.quantity).add(2),
            sk.F(Basket.lines)[0].at(Line.labels).add({"new"}),
            sk.F(Basket.counts)["mon"].add(1),
            sk.F(Basket.counts)["tue"].add(5),
            sk.F(Basket.counts)["a.b"].set(7),
            {
                "address.city": "Bern",
                "address.zip_code": "3000",
                "notes.x": None,
                "marks[1]": "changed",
                "status": "DONE",
            },
        ],
    )
    expected = full()
    expected.address = Address(city="Bern", zip_code="3000")
    expected.lines[1].quantity, expected.lines[0].labels = 6, {"new"}
    expected.counts = {"mon": 2, "tue": 5, "a.b": 7}
    expected.notes, expected.marks, expected.status = {"x": None}, ["m", "changed"], "DONE"
    assert changed == expected
    assert baskets.get(ONE, consistent=True) == expected
    stored = row_of(baskets, ONE)
    assert stored["address"]["M"]["floor"] == {"N": "3"}
    assert stored["address"]["M"]["zip"] == {"S": "3000"}
    assert stored["legacy"] == {"S": "kept"}
    assert baskets.count(Basket.by_status(status="DONE")) == 1
    assert baskets.update(ONE, {"address.zip_code": None}).address == Address(city="Bern")


# Nobody else's change of another part is overwritten, or makes the update fail.
def test_a_change_of_a_place_needs_one_request(baskets: sk.Session) -> None:
    baskets.put(full())
    before = baskets.meter.reading("update Basket").calls
    baskets.update(ONE, [sk.F(Basket.counts)["mon"].add(1), {"address.city": "Bern"}])
    assert baskets.meter.reading("update Basket").calls == before + 1


# The row has none of these attributes; the item shows their defaults, and the defaults of what is inside.
def test_places_in_what_a_row_lacks(baskets: sk.Session) -> None:
    put_row(baskets, {"pk": {"S": "BASKET#1"}, "id": {"S": "1"}}, "place-baskets")
    changed = baskets.update(ONE, [sk.F(Basket.address).at(Address.visits).add(1), sk.F(Basket.counts)["mon"].add(1)])
    assert changed == Basket(id="1", address=Address(visits=11), counts={"mon": 1})
    put_row(baskets, {"pk": {"S": "BASKET#1"}, "id": {"S": "1"}, "address": {"M": {}}}, "place-baskets")
    assert baskets.update(ONE, [sk.F(Basket.address).at(Address.visits).add(1)]).address == Address(visits=11)


@pytest.mark.parametrize("place", ["lines[2].quantity", "marks[2]", "billing.visits"])
def test_a_place_that_the_item_does_not_have(baskets: sk.Session, place: str) -> None:
    baskets.put(full())
    with pytest.raises(sk.ConditionFailed, match="has no ") as error:
        baskets.update(ONE, field_of(Basket, place).set("x") if place == "marks[2]" else field_of(Basket, place).add(1))
    assert error.value.item == full()
    assert baskets.get(ONE, consistent=True) == full()


def test_transactions_and_upserts_change_places(baskets: sk.Session) -> None:
    assert baskets.upsert(ONE, [sk.F(Basket.counts)["mon"].add(1)]) == Basket(id="1", counts={"mon": 1})
    assert baskets.upsert(ONE, [sk.F(Basket.counts)["mon"].add(1)]).counts == {"mon": 2}
    sale = sk.Transaction()
    sale.update(ONE, [sk.F(Basket.counts)["mon"].add(1), {"address.city": "Bern"}])
    baskets.transact(sale)
    assert baskets.get(ONE, consistent=True) == Basket(id="1", counts={"mon": 3}, address=Address(city="Bern"))
    with pytest.raises(sk.EncodeError, match=r"a new item would have no lines\[0\]\.quantity"):
        baskets.upsert(Basket.key(id="2"), {"lines[0].quantity": 1})


@pytest.mark.parametrize(
    ("changes", "kind", "said"),
    [
        ({"address.cty": "x"}, sk.UnknownField, "Address has no field 'cty'; did you mean 'city'"),
        ({"adress.city": "x"}, sk.UnknownField, "did you mean 'address'"),
        ({"status.city": "x"}, sk.UnknownField, r"Basket\.status is str, so it has no \.city"),
        ({"counts[0]": 1}, sk.UnknownField, r"Basket\.counts is dict.*, so it has no \[0\]"),
        ({"lines.0": 1}, sk.UnknownField, r"Basket\.lines is list.*, so it has no \.0"),
        ({"address..city": 1}, sk.UnknownField, "neither a field nor a place in one"),
        ({"address.city": 5}, sk.EncodeError, "Address.city: expected str, got int 5"),
        ({"counts.mon": "x"}, sk.EncodeError, "expected int"),
        ({"address": Address(), "address.city": "x"}, ValueError, "address and a place inside it both change"),
        ({"lines[0]": Line(product="x"), "lines[0].quantity": 1}, ValueError, "a place inside it both change"),
    ],
)
def test_impossible_places(db: sk.Session, changes: dict[str, Any], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        db.update(ONE, changes)


PLACES_ON_FULL = [
    ({"address.city": "Rome"}, True),
    (sk.F(Basket.address).at(Address.city).begins_with("R") & (sk.F(Basket.address).at(Address.city) != "Rom"), True),
    (sk.F(Basket.address).at(Address.visits) >= 10, True),
    ({"address.zip_code": None}, True),
    ({"billing.city": "Berlin"}, False),
    ({"billing.city": None}, True),
    ((sk.F(Basket.lines)[1].at(Line.quantity) > 3) & (sk.F(Basket.lines)[1].at(Line.quantity) < 5), True),
    (sk.F(Basket.lines)[2].at(Line.quantity) > 0, False),
    (sk.F(Basket.lines)[2].at(Line.quantity).not_exists(), True),
    (sk.F(Basket.lines)[1].at(Line.labels).contains("x"), True),
    (sk.F(Basket.lines)[0].at(Line.labels).not_exists(), True),
    ({"counts.mon": 1}, True),
    ({"counts.tue": None}, True),
    (sk.F(Basket.counts)["tue"] != 1, True),
    (sk.F(Basket.counts)["mon"] > 1, False),
    (~sk.F(Basket.marks)[1].is_in("m") & {"marks[0]": "m"}, True),
    (~(sk.F(Basket.counts)["mon"] == 1), False),
]
PLACES_ON_EMPTY = [
    ({"address.city": "Berlin"}, True),
    (sk.F(Basket.address).at(Address.city) != "Berlin", False),
    (sk.F(Basket.address).at(Address.visits) < 10, False),
    (sk.F(Basket.address).at(Address.zip_code).exists(), False),
    ({"billing.visits": 10}, False),
    (sk.F(Basket.billing).at(Address.visits).not_exists(), True),
    ({"lines[0].quantity": 1}, False),
    (sk.F(Basket.counts)["mon"].not_exists(), True),
    (~(sk.F(Basket.address).at(Address.city) == "Berlin"), False),
]


def check_where(baskets: sk.Session, where: Any, matches: bool) -> None:
    assert baskets.count(ONE, where=where) == matches
    assert len(list(baskets.iterate(ONE, where=where))) == matches
    if matches:
        assert baskets.update(ONE, {"status": "OPEN"}, where=where).status == "OPEN"
        assert baskets.delete(ONE, where=where) is not None
        return
    with pytest.raises(sk.ConditionFailed):
        baskets.update(ONE, {"status": "OPEN"}, where=where)
    with pytest.raises(sk.ConditionFailed):
        baskets.delete(ONE, where=where)


@pytest.mark.parametrize(("where", "matches"), PLACES_ON_FULL)
def test_conditions_on_places(baskets: sk.Session, where: Any, matches: bool) -> None:
    baskets.put(full())
    check_where(baskets, where, matches)


# Nothing of this is stored; the item shows defaults, of fields and of what is inside them.
@pytest.mark.parametrize("stored", [{}, {"address": {"M": {}}, "billing": {"NULL": True}}])
@pytest.mark.parametrize(("where", "matches"), PLACES_ON_EMPTY)
def test_conditions_on_places_that_a_row_lacks(
    baskets: sk.Session, stored: dict[str, Any], where: Any, matches: bool
) -> None:
    put_row(baskets, {"pk": {"S": "BASKET#1"}, "id": {"S": "1"}, **stored}, "place-baskets")
    check_where(baskets, where, matches)


# Only the row tells which default it is, so the store cannot decide.
@pytest.mark.parametrize(("stored", "city"), [({}, "Paris"), ({"shop": {"M": {}}}, "Berlin")])
def test_conditions_on_places_with_two_defaults(baskets: sk.Session, stored: dict[str, Any], city: str) -> None:
    for wanted in ("Paris", "Berlin", "Rome"):
        put_row(baskets, {"pk": {"S": "BASKET#1"}, "id": {"S": "1"}, **stored}, "place-baskets")
        check_where(baskets, {"shop.city": wanted}, wanted == city)


def test_conditions_on_impossible_places(memory: sk.Session) -> None:
    for where, said in (({"address.cty": "x"}, "did you mean 'city'"), ({"status[0]": "x"}, "has no .0.")):
        with pytest.raises(sk.UnknownField, match=said):
            memory.count(ONE, where=where)
