"""Conditions on the types beyond the plain ones: the store finds what the item shows, also on rows that lack fields."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from sortkey.model.changes.requirements import Requirement
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
    "payload.k": untyped,
    "payload[0]": untyped,
    "settings.k": untyped,
    "settings.k.k": untyped,
    "pair[0]": small,
    "path[1]": words,
    "size.width": small,
}
equalities = st.sampled_from([sk.other_than, sk.one_of])
# Only texts and numbers have an order, to the store too.
comparisons = st.sampled_from([sk.above, sk.below, sk.at_least, sk.at_most]) | equalities


def has_order(value: Any) -> bool:
    return isinstance(value, str | int | timedelta | Money | Rank) and not isinstance(value, bool)


@st.composite
def wheres(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from(sorted(places)))
    kind = draw(st.sampled_from(["equal", "compared", "absent", "contains", "negated"]))
    value = draw(places[name])
    if kind == "absent" or value is None:
        return {name: draw(st.sampled_from([sk.absent, sk.present]))}
    if kind == "contains" and name in ("path", "payload", "settings.k"):
        return {name: sk.contains(draw(words if name == "path" else words.filter(bool) | small))}
    if kind == "equal":
        return {name: value}
    condition = draw(comparisons if has_order(value) else equalities)(value)
    return {name: ~condition if kind == "negated" else condition}


@pytest.fixture(scope="module")
def db() -> Iterator[sk.Session]:
    with sk.connect("memory:", tables=[THINGS]) as session:
        session.create_tables()
        yield session


@given(things, st.sets(st.sampled_from(sorted(values))), wheres())
def test_the_store_finds_what_the_item_shows(
    db: sk.Session, fields: dict[str, Any], lacking: set[str], where: dict[str, Any]
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
