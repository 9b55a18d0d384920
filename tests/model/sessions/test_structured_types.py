"""TypedDict, NamedTuple, generic items, Enums as keys of dicts, times of day: stored, in conditions and in changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, time
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any, Generic, NamedTuple, NotRequired, TypedDict, TypeVar

import msgspec
import pytest

import sortkey as sk
from tests.model.typed_values import THINGS, Address, Box, Colour, Day, Point, Thing

ONE = Thing.key(owner="ada", id=1)
T = TypeVar("T")
BOX: Any = Box
CONTENT, OTHERS = BOX.content, BOX.others


@pytest.fixture
def db(store: str) -> Iterator[sk.Session]:
    with sk.connect(store, tables=[THINGS]) as session:
        session.create_tables()
        yield session


def put(db: sk.Session, **values: Any) -> Thing:
    thing = Thing(owner="ada", id=1, **values)
    db.put(thing)
    return thing


def row(db: sk.Session) -> dict[str, Any]:
    found: dict[str, Any] = db.client.get_item(TableName="typed-things", Key=ONE.key())["Item"]
    return found


def test_how_they_are_stored(db: sk.Session) -> None:
    thing = put(
        db,
        opens=time(8, 30),
        point=Point(1, label="home"),
        address={"street": "Kirchgasse", "number": 3},
        colours={Colour.RED: 2},
        days={Day.SUNDAY: [time(10)]},
        box=Box[int](content=7, others=[8]),
    )
    stored = row(db)
    assert stored["opens"] == {"S": "08:30:00.000000"}
    assert stored["point"] == {"M": {"x": {"N": "1"}, "y": {"N": "0"}, "label": {"S": "home"}}}
    assert stored["address"] == {"M": {"street": {"S": "Kirchgasse"}, "number": {"N": "3"}}}
    assert stored["colours"] == {"M": {"red": {"N": "2"}}}
    assert stored["days"] == {"M": {"sun": {"L": [{"S": "10:00:00.000000"}]}}}
    assert stored["box"] == {"M": {"content": {"N": "7"}, "others": {"L": [{"N": "8"}]}}}
    assert db.get(ONE) == thing
    assert list(db.iterate(Thing.key(owner="ada"))) == [thing]


def test_conditions(db: sk.Session) -> None:
    put(
        db,
        opens=time(8, 30),
        point=Point(1),
        address={"street": "Kirchgasse", "number": 3},
        colours={Colour.RED: 2},
        box=Box(content=7),
    )
    opens, point, colours = sk.F(Thing.opens), sk.F(Thing.point), sk.F(Thing.colours)
    holding: list[Any] = [
        opens < time(9),
        {"opens": time(8, 30)},
        opens.between(time(8), time(9)),
        point["x"] == 1,
        {"point.y": Decimal(0)},
        {"address": {"street": "Kirchgasse", "number": 3}},
        {"address.street": "Kirchgasse"},
        sk.F(Thing.address)["number"] > 2,
        colours[Colour.RED] >= 2,
        {"colours.red": 2},
        {"colours": {Colour.RED: 2}},
        colours[Colour.BLUE].not_exists(),
        {"box.content": 7},
        sk.F(Thing.box).at(CONTENT) == 7,
        colours.size == 1,
    ]
    failing: list[Any] = [
        opens > time(9),
        {"address": {"street": "Kirchgasse"}},
        {"colours.blue": 2},
        {"box.content": 8},
    ]
    assert [where for where in holding if db.count(ONE, where=where) != 1] == []
    assert [where for where in failing if db.count(ONE, where=where) != 0] == []


def test_changes(db: sk.Session) -> None:
    put(
        db,
        point=Point(1),
        address={"street": "Kirchgasse", "number": 3},
        colours={Colour.RED: 2},
        days={},
        box=Box(content=7),
    )
    changed = db.update(
        ONE,
        [
            sk.F(Thing.opens).set(time(9)),
            sk.F(Thing.point)["x"].add(4),
            {"address.street": "Markt"},
            sk.F(Thing.address)["number"].remove(),
            sk.F(Thing.colours)[Colour.RED].add(1),
            {"colours.blue": 5, "days.mon": [time(1)]},
            sk.F(Thing.box).at(OTHERS).append([1]),
        ],
    )
    assert changed.opens == time(9)
    assert changed.point == Point(5)
    assert changed.address == {"street": "Markt"}
    assert changed.colours == {Colour.RED: 3, Colour.BLUE: 5}
    assert changed.days == {Day.MONDAY: [time(1)]}
    assert changed.box == Box(content=7, others=[1])
    assert db.get(ONE) == changed


def test_times_of_day_in_an_index(db: sk.Session) -> None:
    for number, hour in enumerate((17, 8, 12)):
        db.put(Thing(owner="ada", id=number, opens=time(hour)))
    opening = Thing.by_opening(owner="ada")
    assert [each.opens.hour for each in db.iterate(opening)] == [8, 12, 17]
    assert [each.opens.hour for each in db.iterate(opening.after(time(8)))] == [12, 17]
    assert [each.opens.hour for each in db.iterate(Thing.by_opening(owner="ada", opens=time(12)))] == [12]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a time zone": ({"opens": time(8, tzinfo=UTC)}, "Thing.opens: .* has a time zone"),
    "a text": ({"opens": "08:30"}, "Thing.opens: expected time"),
    "a tuple": ({"point": (1, Decimal(0))}, "Thing.point: expected Point, got tuple"),
    "a missing key": ({"address": {"number": 3}}, "Thing.address: Address requires street"),
    "an unknown key": ({"address": {"street": "a", "town": "b"}}, "Thing.address: Address has no key 'town'"),
    "a wrong value": ({"address": {"street": 3}}, r"Thing.address: Address\['street'\]: expected str"),
    "another key": ({"colours": {"red": 2}}, "Thing.colours: expected one of the keys <Colour.RED"),
    "a key of another type": ({"colours": {1: 2}}, "Thing.colours: expected one of the keys"),
    "another type in a box": ({"box": Box(content="7")}, "Thing.box: Box.content: expected int"),
}


@pytest.mark.parametrize("name", WRONG)
def test_values_of_another_type(name: str) -> None:
    values, error = WRONG[name]
    with sk.connect("memory:", tables=[THINGS]) as db:
        db.create_tables()
        with pytest.raises(sk.EncodeError, match=error):
            put(db, **values)


def test_places_that_are_not_there(db: sk.Session) -> None:
    put(db, colours={Colour.RED: 1}, address={"street": "a"})
    with pytest.raises(sk.UnknownField, match="has the keys red, blue, and not 'green'"):
        db.update(ONE, {"colours.green": 1})
    with pytest.raises(sk.UnknownField, match="Address has no field 'town'"):
        db.update(ONE, {"address.town": "b"})
    with pytest.raises(sk.EncodeError, match="cannot be removed: its TypedDict requires it"):
        sk.F(Thing.address)["street"].remove()


# A row of another program, or one that is older than a key.
def test_rows_of_another_form(db: sk.Session) -> None:
    put(db)
    for attribute, value, error in (
        ("opens", {"S": "08:30"}, "is not in the form of the field, 12:30:00.000000"),
        ("address", {"M": {"number": {"N": "1"}}}, "Address requires street"),
        ("colours", {"M": {"green": {"N": "1"}}}, "'green' is none of 'red', 'blue'"),
        ("point", {"M": {}}, "x"),
    ):
        db.client.put_item(TableName="typed-things", Item={**row(db), attribute: value})
        with pytest.raises(sk.DecodeError, match=error):
            db.get(ONE)
        put(db)
    db.client.put_item(TableName="typed-things", Item={**row(db), "point": {"M": {"x": {"N": "1"}}}})
    found = db.get(ONE)
    assert found is not None
    assert found.point == Point(1)


class Pair(sk.Item, Generic[T]):
    first: T
    second: T | None = None


class Numbered(sk.Item, Generic[T]):
    id: str
    content: Pair[T]

    key = sk.Key("NUMBERED#{id}")


class Prices(Numbered[Decimal], table="generic-prices"):
    currency: str = "EUR"


class Tree(TypedDict):
    name: str
    parts: NotRequired[list[Tree]]


@dataclass
class Wrapped(Generic[T]):
    inner: T


class Forest(sk.Item, table="generic-forests"):
    id: str
    tree: Tree
    wrapped: Wrapped[list[int]]

    key = sk.Key("FOREST#{id}")


def test_a_class_that_derives_from_a_generic_one() -> None:
    with sk.connect("memory:", tables=[Prices]) as db:
        db.create_tables()
        prices = Prices(id="1", content=Pair(first=Decimal("1.5")))
        db.put(prices)
        assert db.get(prices.key) == prices
        changed = db.update(prices.key, {"content.second": Decimal(2)})
        assert changed.content == Pair(first=Decimal("1.5"), second=Decimal(2))
        wrong: Any = Pair(first="1.5")
        with pytest.raises(sk.EncodeError, match=r"Prices\.content: Pair\.first: expected Decimal"):
            db.put(Prices(id="1", content=wrong))


def test_a_typed_dict_that_contains_itself() -> None:
    with sk.connect("memory:", tables=[Forest]) as db:
        db.create_tables()
        tree: Tree = {"name": "oak", "parts": [{"name": "branch", "parts": []}, {"name": "leaf"}]}
        forest = Forest(id="1", tree=tree, wrapped=Wrapped([1]))
        db.put(forest)
        assert db.get(forest.key) == forest


class Unstorable(TypedDict):
    what: object


class Level(IntEnum):
    LOW = 1


def test_declarations_that_cannot_work() -> None:
    with pytest.raises(sk.DeclarationError, match=r"the type variable ~T stands for no type here; name one"):

        class Loose(sk.Item, Generic[T], table="generic-loose"):
            id: str
            content: T

            key = sk.Key("LOOSE#{id}")

    with pytest.raises(sk.DeclarationError, match=r"Bare\.box: .*Box\.content: the type variable ~T"):

        class Bare(sk.Item, table="generic-bare"):
            id: str
            box: Box  # type: ignore[type-arg]

            key = sk.Key("BARE#{id}")

    with pytest.raises(sk.DeclarationError, match="the keys of a dict must be str, or an Enum or a Literal of texts"):

        class Levels(sk.Item):
            by_level: dict[Level, int]

    with pytest.raises(sk.DeclarationError, match=r"Holder\.it: Unstorable\['what'\]: .* is not a type"):

        class Holder(sk.Item):
            it: Unstorable


class Kind(Enum):
    A = "a"


class Spot(NamedTuple):
    x: int


class Shown(sk.Item):
    at: time
    spot: Spot
    place: Address
    kinds: dict[Kind, int]
    box: Box[int]


# What FastAPI and pydantic show of an item, and take.
def test_json() -> None:
    shown = Shown(at=time(8), spot=Spot(1), place={"street": "a"}, kinds={Kind.A: 1}, box=Box(content=2))
    text = msgspec.json.encode(shown)
    assert msgspec.json.decode(text, type=Shown) == shown
    schema = Shown.__get_pydantic_json_schema__(None, None)
    assert schema["properties"]["at"]["type"] == "string"
    assert schema["properties"]["place"]["required"] == ["street"]
    assert schema["properties"]["kinds"]["type"] == "object"
    assert schema["properties"]["box"]["properties"]["content"] == {"type": "integer"}
