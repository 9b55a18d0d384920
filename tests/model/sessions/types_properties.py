"""Conditions on and changes of the types beyond the plain ones: of what items show, also on rows that lack fields."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from sortkey.model.changes.operators import Add, Append, FieldChange
from sortkey.model.changes.requirements import Requirement
from sortkey.model.changes.typed_field import field_of
from sortkey.model.items.item import schema_of
from tests.model.typed_values import THINGS, Circle, Money, Rank, Size, Square, Thing

ONE = Thing.key(owner="ada", id=1)
SCHEMA = schema_of(Thing)

# Few values, so that conditions often hold.
words = st.sampled_from(["", "a", "ab"])
small = st.integers(0, 2)
untyped = st.none() | words | small | st.booleans() | st.lists(small, max_size=2) | st.dictionaries(st.just("k"), small)
values: dict[str, st.SearchStrategy[Any]] = {
    "payload": untyped,
    "settings": st.dictionaries(st.just("k"), untyped),
    "code": st.none() | words | small,
    "shape": st.none() | st.builds(Circle, small) | st.builds(Square, small.map(Decimal)),
    "pair": st.tuples(small, words),
    "path": st.lists(words, max_size=2).map(tuple),
    "took": small.map(lambda hours: timedelta(hours=hours)),
    "size": st.none() | st.builds(Size, small, small),
    "price": st.none() | st.builds(Money, small.map(Decimal), st.just("EUR")),
    "rank": small.map(Rank),
}
things = st.fixed_dictionaries(values)
places: dict[str, st.SearchStrategy[Any]] = {
    **values,
    # What has fields with defaults is not compared whole.
    "size": st.none(),
    "shape": st.none() | st.builds(Circle, small),
    "payload.k": untyped,
    "payload[0]": untyped,
    "settings.k": untyped,
    "settings.k.k": untyped,
    "pair[0]": small,
    "path[1]": words,
    "size.width": small,
}
equalities = st.sampled_from([operator.ne, lambda field, value: field.is_in(value)])
# Only texts and numbers have an order, to the store too.
comparisons = st.sampled_from([operator.gt, operator.lt, operator.ge, operator.le]) | equalities


def has_order(value: Any) -> bool:
    return isinstance(value, str | int | timedelta | Money | Rank) and not isinstance(value, bool)


@st.composite
def wheres(draw: st.DrawFn) -> Any:
    name = draw(st.sampled_from(sorted(places)))
    kind = draw(st.sampled_from(["equal", "compared", "absent", "contains", "negated"]))
    value, field = draw(places[name]), field_of(Thing, name)
    if kind == "absent" or value is None:
        return draw(st.sampled_from([field.not_exists(), field.exists()]))
    if kind == "contains" and name in ("path", "payload", "settings.k"):
        return field.contains(draw(words if name == "path" else words.filter(bool) | small))
    if kind == "equal":
        return {name: value}
    condition = draw(comparisons if has_order(value) else equalities)(field, value)
    return ~condition if kind == "negated" else condition


@pytest.fixture(scope="module")
def db() -> Iterator[sk.Session]:
    with sk.connect("memory:", tables=[THINGS]) as session:
        session.create_tables()
        yield session


@given(things, st.sets(st.sampled_from(sorted(values))), wheres())
def test_the_store_finds_what_the_item_shows(
    db: sk.Session, fields: dict[str, Any], lacking: set[str], where: Any
) -> None:
    row = SCHEMA.encode(Thing(owner="ada", id=1, **fields))
    db.client.put_item(TableName="typed-things", Item={name: row[name] for name in row if name not in lacking})
    item = db.get(ONE)
    assert item is not None
    accepted = Requirement(SCHEMA, where, {"owner": "ada", "id": 1}).accepts(item)
    assert db.count(ONE, where=where) == accepted
    try:
        db.update(ONE, {"at": None}, where=where)
    except sk.ConditionFailed:
        assert not accepted
    else:
        assert accepted


CHANGES: dict[str, tuple[Any, Any]] = {
    "took": (Add(timedelta(hours=1)), lambda thing: {"took": thing.took + timedelta(hours=1)}),
    "rank": (Rank(7), lambda _: {"rank": Rank(7)}),
    "pair[0]": (Add(1), lambda thing: {"pair": (thing.pair[0] + 1, thing.pair[1])}),
    "path": (Append(("x",)), lambda thing: {"path": (*thing.path, "x")}),
    "payload": ({"k": [1]}, lambda _: {"payload": {"k": [1]}}),
    "settings.k": ("new", lambda thing: {"settings": {**thing.settings, "k": "new"}}),
    "size.width": (Add(2), lambda thing: {"size": Size(thing.size.width + 2, thing.size.height)}),
    "code": (None, lambda _: {"code": None}),
    "shape": (Circle(9), lambda _: {"shape": Circle(9)}),
    "price": (Money(Decimal(5), "USD"), lambda _: {"price": Money(Decimal(5), "USD")}),
}
"""Changes, and what they make of an item."""


@given(things, st.sets(st.sampled_from(sorted(values))), st.sets(st.sampled_from(sorted(CHANGES)), min_size=1))
def test_updates_change_what_the_item_shows(
    db: sk.Session, fields: dict[str, Any], lacking: set[str], changed: set[str]
) -> None:
    row = SCHEMA.encode(Thing(owner="ada", id=1, **fields))
    db.client.put_item(TableName="typed-things", Item={name: row[name] for name in row if name not in lacking})
    before = db.get(ONE)
    assert before is not None
    changes = [FieldChange(name, CHANGES[name][0]) for name in sorted(changed)]
    if "size.width" in changed and before.size is None:
        with pytest.raises(sk.ConditionFailed, match=r"has no size\.width"):
            db.update(ONE, changes)
        assert db.get(ONE) == before
        return
    expected = before
    for name in changed:
        expected = sk.replace(expected, **CHANGES[name][1](before))
    assert db.update(ONE, changes) == expected
    assert db.get(ONE) == expected
    # The keys of the indexes are those of the item.
    stored = db.client.get_item(TableName="typed-things", Key=ONE.key())["Item"]
    keys = {name: value for name, value in SCHEMA.encode(expected).items() if name in SCHEMA.key_names}
    written = {"took": "gsi1sk", "rank": "gsi2sk", "price": "gsi3sk"}
    for name, attribute in written.items():
        if name in changed:
            assert stored[attribute] == keys[attribute]
