"""A row that is written with its size is the row of the codec, in canonical form and with the size that the store
computes; for other items, the codec decides."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import msgspec
from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from sortkey.errors import DynamoDBError
from sortkey.model.items.item import schema_of
from sortkey.values.attribute import Normalised, normalise_item
from tests.model.declared import Colour
from tests.model.items.codec_properties import numbers, rough
from tests.model.strategies import instants, texts


class Stop(msgspec.Struct, frozen=True, omit_defaults=True):
    at: int
    place: str | None = None
    seal: bytes | None = None


class Parcel(sk.Item, table="writer-parcels", version=2):
    depot: str
    number: int
    weight: Decimal
    route: Annotated[str, sk.in_key]
    rough: Annotated[float, sk.inexact] = 0.5
    fragile: bool = False
    colour: Colour = Colour.RED
    sent: datetime
    day: date | None = None
    owner: UUID | None = None
    rank: Annotated[int, msgspec.Meta(ge=-5)] = 0
    note: str | None = sk.field(default=None, name="ä note")
    reason: str | None = None
    remark: str | None = "none yet"
    total: int = 0
    stops: list[Stop] | None = None
    sizes: dict[str, int] = sk.field(default_factory=dict)
    last: Stop | None = None

    key = sk.Key("DEPOT#{depot}", "{route}#{number}")
    by_note = sk.Index("gsi1", "NOTE#{note}", "{sent}")
    by_day = sk.Index("gsi2", "{total}", "{day}#{depot}", names=("total", "gsi2sk"))
    by_reason = sk.Index("gsi3", "{reason}", names=("reason",))
    by_rank = sk.Index("gsi4", "RANK", "{rank}", names=("gsi4pk", "gsi4sk"))


stops = st.builds(
    Stop,
    at=st.integers(-(10**39), 10**39),
    place=st.none() | texts,
    seal=st.none() | st.just(b"") | st.just(b"seal"),
)
parcels = st.builds(
    Parcel,
    depot=texts,
    number=st.integers(-(10**39), 10**39),
    weight=numbers,
    route=texts,
    rough=rough,
    fragile=st.booleans(),
    colour=st.sampled_from(Colour),
    sent=instants,
    day=st.none() | st.dates(),
    owner=st.none() | st.uuids(),
    rank=st.integers(-10, 10),
    note=st.none() | texts,
    reason=st.none() | texts,
    remark=st.none() | texts,
    total=st.integers() | st.just("not a number"),
    stops=st.none() | st.lists(stops, max_size=5),
    sizes=st.dictionaries(texts, st.integers(-10, 10), max_size=4),
    last=st.none() | stops,
)


def written(item: Any) -> Any:
    """What the codec makes of it, and what the store computes; or the words of the error. Bytes, which the client
    encodes on their way, are an error, too; so is what the store rejects."""
    try:
        row = schema_of(type(item)).encode(item)
    except (sk.EncodeError, sk.KeyPartError) as error:
        return str(error)
    try:
        return row, normalise_item(row)
    except DynamoDBError as error:
        return row, str(error)


@given(parcels)
def test_rows_are_those_of_the_codec(item: Parcel) -> None:
    writer = schema_of(Parcel).writer
    assert writer is not None
    measured, expected = writer(item), written(item)
    if measured is not None:
        row, normalised = expected
        assert isinstance(normalised, Normalised)
        assert measured.row == row == normalised.item
        assert list(measured.row) == list(row)
        assert (measured.size, False) == (normalised.size, normalised.binary)


@given(st.integers(0, 10**38 - 1), texts, st.none() | texts, instants)
def test_most_items_are_measured(number: int, text: str, note: str | None, sent: datetime) -> None:
    writer = schema_of(Parcel).writer
    assert writer is not None
    item = Parcel(
        depot=f"d{text}",
        number=number,
        weight=Decimal(7),
        route="r",
        sent=sent,
        note=note,
        total=number,
        stops=[Stop(number, note), Stop(0)],
        sizes={f"s{text}": number},
        last=Stop(1),
    )
    measured = writer(item)
    assert measured is not None
    assert measured.size == normalise_item(schema_of(Parcel).encode(item)).size


def test_an_item_with_bytes_in_a_list_is_left_to_the_codec() -> None:
    writer = schema_of(Parcel).writer
    assert writer is not None
    item = Parcel(depot="d", number=1, weight=Decimal(7), route="r", sent=datetime.now(UTC), last=Stop(1, seal=b"1"))
    assert writer(item) is None


class Bag(sk.Item, table="writer-bags"):
    id: str
    tags: set[str] = sk.field(default_factory=set)

    key = sk.Key("BAG#{id}")


def test_a_class_with_a_set_has_no_writer() -> None:
    assert schema_of(Bag).writer is None


def test_an_item_that_keeps_what_its_class_does_not_declare_is_left_to_the_codec(memory: sk.Session) -> None:
    class Box(sk.Item, table="writer-boxes"):
        id: str
        key = sk.Key("BOX#{id}")

    memory.create_tables(Box)
    memory.client.put_item(TableName="writer-boxes", Item={**schema_of(Box).encode(Box(id="1")), "more": {"N": "1"}})
    found = memory.get(Box.key(id="1"))
    assert found is not None
    assert schema_of(Box).writer(Box(id="1")) is not None  # type: ignore[misc]
    assert schema_of(Box).writer(found) is None  # type: ignore[misc]
    memory.load([found])
    assert sk.extra(memory.get(found.key)) == {"more": {"N": "1"}}  # type: ignore[arg-type]
