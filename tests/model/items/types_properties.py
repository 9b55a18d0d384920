"""Values of every type come back as they were, through the codec and through the reader of JSON."""

from __future__ import annotations

from datetime import timedelta

import orjson
from hypothesis import given
from hypothesis import strategies as st

from sortkey.client.boto3_shapes import Unparsed, to_dynamodb_json
from sortkey.model.calls.item_decoder import decode_item
from sortkey.model.items.item import schema_of
from sortkey.values.attribute import normalise_item
from tests.model.items.codec_properties import numbers
from tests.model.strategies import instants, milliseconds, texts
from tests.model.typed_values import Box, Circle, Colour, Day, Money, Point, Rank, Size, Square, Thing

names = texts.filter(bool)
single = st.none() | st.booleans() | texts | st.integers(-(10**30), 10**30) | numbers | st.binary(max_size=3)
sets = st.sets(texts, min_size=1, max_size=3) | st.sets(numbers | st.integers(-9, 9), min_size=1, max_size=3)
untyped = st.recursive(
    single | sets,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
circles = st.builds(Circle, st.integers(0, 99))
squares = st.builds(Square, side=numbers, label=st.none() | texts)
sizes = st.builds(Size, st.integers(0, 9), st.integers(0, 9), st.lists(texts, max_size=2))
money = st.builds(Money, numbers, st.sampled_from(["EUR", "USD"]))

points = st.builds(Point, st.integers(-9, 9), numbers, st.none() | texts)
addresses = st.fixed_dictionaries(
    {"street": texts}, optional={"number": st.integers(0, 9), "lines": st.lists(texts, max_size=2)}
)

things = st.builds(
    Thing,
    owner=st.just("ada"),
    id=st.integers(0, 99),
    payload=untyped,
    settings=st.dictionaries(names, untyped, max_size=3),
    # A whole number is int, and a larger float than this has an int of its own.
    rough=st.none() | st.floats(1e-50, 2.0**53),
    code=st.none() | texts | st.integers(-99, 99),
    shape=st.none() | circles | squares,
    figures=st.lists(circles | squares | texts, max_size=3),
    pair=st.tuples(st.integers(-9, 9), texts),
    path=st.lists(texts, max_size=3).map(tuple),
    took=st.timedeltas(timedelta(days=-9999), timedelta(days=9999)) | st.timedeltas(),
    size=st.none() | sizes,
    sizes=st.dictionaries(names, sizes, max_size=2),
    price=st.none() | money,
    prices=st.lists(money, max_size=2),
    rank=st.integers(-99, 99).map(Rank),
    seen=st.none() | milliseconds,
    at=st.none() | instants.map(lambda time: time.replace(microsecond=0)),
    opens=st.times(),
    hours=st.lists(st.times(), max_size=2),
    point=st.none() | points,
    points=st.dictionaries(names, points, max_size=2),
    address=st.none() | addresses,
    addresses=st.lists(addresses, max_size=2),
    colours=st.dictionaries(st.sampled_from(Colour), st.integers(-9, 9)),
    days=st.dictionaries(st.sampled_from(Day), st.lists(st.times(), max_size=2)),
    sides=st.dictionaries(st.sampled_from(["left", "right"]), points),
    box=st.none() | st.builds(Box, content=st.integers(-9, 9), others=st.lists(st.integers(-9, 9), max_size=2)),
    boxes=st.lists(st.builds(Box, content=points, others=st.lists(points, max_size=2)), max_size=2),
)

SCHEMA = schema_of(Thing)


@given(things)
def test_things_come_back(thing: Thing) -> None:
    assert SCHEMA.decode_own(SCHEMA.encode(thing)) == thing


# What the engine makes of a row is what a reader gets: canonical numbers, sorted sets, and JSON.
@given(things)
def test_things_come_back_from_the_store(thing: Thing) -> None:
    wire = to_dynamodb_json(SCHEMA.encode(thing))
    text = orjson.dumps(normalise_item(wire).item)
    assert decode_item(SCHEMA, Unparsed(text, binary=b'"B' in text)) == thing
