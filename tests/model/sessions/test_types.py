"""Types beyond the plain ones in sessions: conditions, updates, places, indexes, and rows of another form."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

import sortkey as sk
from sortkey.model.changes.typed_field import field_of
from tests.model.typed_values import THINGS, Circle, Money, Rank, Size, Square, Thing

ONE = Thing.key(owner="ada", id=1)
NOON = datetime(2026, 8, 24, 12, 30, tzinfo=UTC)


@pytest.fixture
def things(store: str) -> Iterator[sk.Session]:
    with sk.connect(store, tables=[THINGS]) as session:
        session.create_tables()
        yield session


def put(things: sk.Session, **values: Any) -> Thing:
    thing = Thing(owner="ada", id=1, **values)
    things.put(thing)
    return thing


# Every call that reads, since a page and an exact key are decoded by different code.
def test_every_read_gives_the_values(things: sk.Session) -> None:
    thing = put(
        things,
        payload={"a": [1, {"b": None}], "raw": b"\0"},
        code=7,
        shape=Circle(2),
        figures=["x", Square(Decimal(1), label="s")],
        pair=(1, "a"),
        path=("a", "b"),
        took=timedelta(minutes=1.5),
        size=Size(2, 3),
        price=Money(Decimal("9.90"), "EUR"),
        rank=Rank(4),
        seen=NOON,
        at=NOON,
    )
    assert things.get(ONE) == thing
    assert things.page(ONE).items == [thing]
    assert list(things.iterate(Thing.key(owner="ada"))) == [thing]
    assert things.lookup(Thing.key, [{"owner": "ada", "id": 1}]) == [thing]


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ({"payload": {"a": [1]}}, 1),
        ({"payload.a[0]": 1}, 1),
        (sk.F(Thing.payload)["a"][0] > 1, 0),
        (sk.F(Thing.payload)["a"].contains(1), 1),
        ({"payload.missing.deeper": None}, 1),
        ({"code": 7}, 1),
        ({"code": "7"}, 0),
        (sk.F(Thing.code) > 5, 1),
        (sk.F(Thing.code) > "5", 0),
        (field_of(Thing, "pair[1]").begins_with("a"), 1),
        (sk.F(Thing.path).contains("b"), 1),
        (sk.F(Thing.took) >= timedelta(minutes=1), 1),
        (sk.F(Thing.took) < timedelta(minutes=1), 0),
        ({"size.height": 3}, 1),
        ({"price": Money(Decimal("9.90"), "EUR")}, 1),
        (sk.F(Thing.price) != Money(Decimal("9.90"), "EUR"), 0),
        (sk.F(Thing.rank).is_in(Rank(3), Rank(4)), 1),
        (sk.F(Thing.rank) > Rank(4), 0),
        (sk.F(Thing.seen) > NOON - timedelta(milliseconds=1), 1),
        (sk.F(Thing.at) <= NOON, 1),
    ],
)
def test_conditions_compare_what_is_stored(things: sk.Session, where: Any, count: int) -> None:
    put(
        things,
        payload={"a": [1]},
        code=7,
        shape=Circle(2),
        pair=(1, "abc"),
        path=("a", "b"),
        took=timedelta(minutes=1),
        size=Size(2, 3),
        price=Money(Decimal("9.90"), "EUR"),
        rank=Rank(4),
        seen=NOON,
        at=NOON,
    )
    assert things.count(ONE, where=where) == count


def test_updates_of_fields_and_of_places_in_them(things: sk.Session) -> None:
    put(things, payload={"a": [1], "n": 1}, pair=(1, "a"), path=("a",), size=Size(2, 3), took=timedelta(seconds=5))
    changes = [
        sk.F(Thing.payload)["n"].add(2),
        sk.F(Thing.path).append(("b",)),
        field_of(Thing, "size.width").add(1),
        sk.F(Thing.took).add(timedelta(seconds=1)),
        {
            "payload.a[0]": "one",
            "payload.new": {"deep": [True]},
            "pair[1]": "b",
            "rank": Rank(9),
            "shape": Square(Decimal(2)),
            "price": Money(Decimal(1), "USD"),
        },
    ]
    changed = things.update(ONE, changes)
    assert changed.payload == {"a": ["one"], "n": 3, "new": {"deep": [True]}}
    assert (changed.pair, changed.path, changed.size) == ((1, "b"), ("a", "b"), Size(3, 3))
    assert (changed.took, changed.rank) == (timedelta(seconds=6), Rank(9))
    assert (changed.shape, changed.price) == (Square(Decimal(2)), Money(Decimal(1), "USD"))
    assert things.get(ONE) == changed
    with pytest.raises(sk.ConditionFailed, match=r"has no payload\.n\.deeper"):
        things.update(ONE, {"payload.n.deeper": 1})
    with pytest.raises(sk.UnknownField, match=r"Thing.pair has 2 elements, so it has no \[2\]"):
        things.update(ONE, {"pair[2]": 1})
    with pytest.raises(sk.UnknownField, match=r"Thing.price is Money, stored_as\(str\), so it has no .amount"):
        things.update(ONE, {"price.amount": 1})


# A row may lack a field whose default is a tuple or a dataclass: the place is then changed in the program.
def test_places_in_defaults(things: sk.Session) -> None:
    put(things)
    key = things.client.get_item(TableName="typed-things", Key=ONE.key())["Item"]
    row = {name: value for name, value in key.items() if name not in ("pair", "path")}
    things.client.put_item(TableName="typed-things", Item=row)
    assert things.update(ONE, [field_of(Thing, "pair[0]").add(5), sk.F(Thing.path).append(("x",))]).pair == (5, "")
    assert things.get(ONE).path == ("x",)  # type: ignore[union-attr]


def test_index_keys_of_durations_and_of_types_with_codecs(things: sk.Session) -> None:
    for number, seconds in enumerate((600, 5, -1, 59.5)):
        things.put(
            Thing(
                owner="ada",
                id=number,
                took=timedelta(seconds=seconds),
                rank=Rank(-number),
                price=Money(Decimal(number), "EUR"),
            )
        )

    def ids(path: sk.AccessPath[Thing]) -> list[int]:
        return [each.id for each in things.iterate(path)]

    assert ids(Thing.by_took(owner="ada")) == [2, 1, 3, 0]
    assert ids(Thing.by_took(owner="ada").between(timedelta(0), timedelta(minutes=1))) == [1, 3]
    assert ids(Thing.by_rank(owner="ada")) == [3, 2, 1, 0]
    assert ids(Thing.by_rank(owner="ada").after(Rank(-2))) == [1, 0]
    assert ids(Thing.by_price(owner="ada", price=Money(Decimal(2), "EUR"))) == [2]
    things.update(Thing.key(owner="ada", id=2), {"price": Money(Decimal(7), "EUR")})
    assert ids(Thing.by_price(owner="ada", price=Money(Decimal(7), "EUR"))) == [2]
    with pytest.raises(sk.KeyPartError, match=r"the range from Rank\(5\) to Rank\(1\) is empty"):
        Thing.by_rank(owner="ada").between(Rank(5), Rank(1))
    with pytest.raises(sk.KeyPartError, match="expected Money, got str 'EUR 1'"):
        Thing.by_price(owner="ada", price="EUR 1")
    assert '"gsi1sk"' in str(things.explain(Thing.by_took(owner="ada").after(timedelta(1))))


def test_a_row_of_another_form_is_named_with_its_field(things: sk.Session) -> None:
    put(things)
    things.client.update_item(
        TableName="typed-things",
        Key=ONE.key(),
        UpdateExpression="SET price = :p",
        ExpressionAttributeValues={":p": {"S": "EUR"}},
    )
    with pytest.raises(sk.DecodeError, match=r"Thing.price: .*cannot decode 'EUR'.*pk='OWNER#ada', sk='THING#a1'"):
        things.page(Thing.key(owner="ada"))
    with pytest.raises(sk.DecodeError, match=r"Thing.price: .*cannot decode 'EUR'.*pk='OWNER#ada', sk='THING#a1'"):
        things.get(ONE)
    assert list(things.iterate(Thing.key(owner="ada"), undecodable="skip")) == []


# Both are stored as text, in forms that do not compare.
def test_fields_in_different_forms_do_not_compare(things: sk.Session) -> None:
    with pytest.raises(sk.EncodeError, match="stored as S and at as S, in different forms"):
        things.count(ONE, where=field_of(Thing, "owner") == field_of(Thing, "at"))
