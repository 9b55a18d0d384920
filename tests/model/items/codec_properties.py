"""Items of every type come back as they were, through rows that DynamoDB would take."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sortkey.model.items.item import schema_of
from sortkey.values.attribute import normalise_item
from tests.model.declared import Address, Colour, Everything, Point
from tests.model.strategies import instants, texts

numbers = st.decimals(-(10**6), 10**6, places=4)
points = st.builds(Point, numbers, numbers)
# Numbers that DynamoDB holds: neither too small nor with too many digits.
rough = st.floats(1e-100, 1e100) | st.floats(-1e100, -1e-100) | st.just(0.0)

items = st.builds(
    Everything,
    id=st.uuids(),
    text=texts,
    whole=st.integers(-(10**37), 10**37),
    exact=numbers,
    rough=rough,
    flag=st.booleans(),
    raw=st.binary(max_size=5),
    moment=st.none() | instants,
    day=st.none() | st.dates(),
    colour=st.sampled_from(Colour),
    size=st.sampled_from(["S", "L"]),
    level=st.sampled_from([1, 2]),
    home=st.none() | st.builds(Address, street=texts, number=st.integers(0, 99)),
    points=st.lists(points, max_size=3),
    counts=st.dictionaries(texts.filter(bool), st.integers(-9, 9), max_size=3),
    holes=st.lists(st.none() | texts, max_size=3),
    tags=st.sets(texts, max_size=3),
    primes=st.frozensets(st.integers(-99, 99), max_size=3),
    amounts=st.sets(numbers, max_size=3),
    blobs=st.sets(st.binary(max_size=3), max_size=3),
    groups=st.dictionaries(texts.filter(bool), st.sets(texts, max_size=2), max_size=2),
    nickname=st.none() | texts,
    needed=st.none() | texts,
    labels=st.sets(texts, max_size=2),
)

SCHEMA = schema_of(Everything)


@given(items)
def test_items_come_back(item: Everything) -> None:
    assert SCHEMA.decode_own(SCHEMA.encode(item)) == item


# What the engine makes of a row is what a reader gets: canonical numbers, sorted sets.
@given(items)
def test_rows_are_valid_and_mean_the_same_when_canonical(item: Everything) -> None:
    stored = normalise_item(wire(SCHEMA.encode(item))).item
    assert SCHEMA.decode(native(stored)) == item


def wire(value: Any) -> Any:
    """As it travels: binary as base64."""
    if isinstance(value, dict):
        return {name: wire(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [wire(inner) for inner in value]
    return b64encode(value).decode() if isinstance(value, bytes) else value


def native(row: dict[str, Any]) -> dict[str, Any]:
    """Back again; only two attributes of the class are binary."""
    made = dict(row)
    if "raw" in row:
        made["raw"] = {"B": b64decode(row["raw"]["B"])}
    if "blobs" in row:
        made["blobs"] = {"BS": [b64decode(each) for each in row["blobs"]["BS"]]}
    return made
