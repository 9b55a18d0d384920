"""Parts of rows read from text are what the codec makes of them, for indexes with partial projections and `only=`; and
rows that are counted are those of which there are items."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import msgspec
import orjson
from hypothesis import assume, given
from hypothesis import strategies as st

import sortkey as sk
from sortkey.client.boto3_shapes import Unparsed
from sortkey.model.calls.item_decoder import (
    Decoded,
    count_path_items,
    decode_path_items,
    decode_path_parts,
    decode_rows,
)
from sortkey.model.calls.only_fields import OnlyFields
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.item import schema_of
from sortkey.model.items.partial_item import decode_partial, partial_reader
from tests.model.items.row_reader_properties import odd_values, rows, text_of
from tests.model.strategies import instants, texts


class Trip(sk.Item, table="partial-reader"):
    line: str
    number: int
    day: date
    driver: Annotated[str, sk.in_key]
    left: datetime
    seats: int = 4
    fare: Decimal | None = None
    stops: list[str] = sk.field(default_factory=list)
    tags: set[str] = sk.field(default_factory=set)
    vehicle: UUID
    note: str | None = None
    mail: str = "a@b"

    key = sk.Key("LINE#{line}", "{driver}#{number}")
    by_day = sk.Index("gsi1", "DAY#{day}", "{left}#{line}", projection="KEYS_ONLY")
    by_vehicle = sk.Index("gsi2", "{vehicle}", "{seats}", names=("g2", "seats"), projection=["fare", "stops", "tags"])
    by_note = sk.Index("gsi3", "NOTE#{note}", "TO#{mail:lower}", projection=["day", "number"])
    by_mail = sk.Index("gsi4", "MAIL#{mail}", "{left}")


trips = st.builds(
    Trip,
    line=texts,
    number=st.integers(-99, 10**9),
    day=st.dates(),
    driver=texts,
    left=instants,
    seats=st.integers(0, 99),
    fare=st.none() | st.integers(-99, 99).map(Decimal),
    stops=st.lists(texts, max_size=2),
    tags=st.sets(texts, max_size=2),
    vehicle=st.uuids(),
    note=st.none() | texts,
    mail=texts,
)
INDEXES = (Trip.by_day, Trip.by_vehicle, Trip.by_note)
choices = st.lists(st.sampled_from(sorted(schema_of(Trip).codec.by_name)), unique=True)


def found(read: Any) -> Any:
    """The items, and the keys of the rows of other classes; or the words of the error."""
    try:
        decoded: Decoded = read()
    except (sk.DecodeError, ValueError) as error:
        return type(error), str(error)
    return (
        [(type(item), msgspec.structs.asdict(item)) for item in decoded.items],
        [{name: row[name] for name in ("pk", "sk")} for row in decoded.others],
    )


def text(row: dict[str, Any]) -> Unparsed:
    written = text_of(row)
    return Unparsed(b"[%b]" % written, b'"B"' in written or b'"BS"' in written)


def path_of(index: Any, item: Trip) -> AccessPath[Any]:
    path: AccessPath[Any] = index(**{name: getattr(item, name) for name in index.layout.partition_fields})
    return path


@given(st.data(), trips, st.sampled_from(INDEXES))
def test_rows_of_an_index(data: st.DataObject, item: Trip, index: Any) -> None:
    schema = schema_of(Trip)
    attributes = {"pk", "sk", *(part.name for part in index.layout.attributes)}
    if isinstance(index.layout.projection, tuple):
        attributes.update(index.layout.projection)
    drawn = data.draw(rows(st.just(item)))
    row = {name: drawn[name] for name in drawn if name in attributes}
    row |= data.draw(st.dictionaries(st.sampled_from(["unknown", "_v", "mail", "gsi1pk"]), odd_values, max_size=1))
    assume(index is not Trip.by_note or item.note is not None)
    path = path_of(index, item)

    def decode(row: dict[str, Any]) -> Any:
        return decode_partial(schema, str(index.layout.index), row) if schema.recognises(row) else None

    codec = found(lambda: decode_rows(schema, [row], decode, "raise"))
    assert found(lambda: decode_path_items(path, text(row), None, "raise")) == codec
    counted = count_path_items(path, text(row))
    assert counted is None or (counted == 1 and len(codec[0]) == 1)


@given(trips, st.sampled_from(INDEXES))
def test_the_reader_takes_what_the_index_has(item: Trip, index: Any) -> None:
    assume(index is not Trip.by_note or item.note is not None)
    schema = schema_of(Trip)
    reader = partial_reader(schema, str(index.layout.index))
    assert reader is not None
    attributes = {"pk", "sk", *(part.name for part in index.layout.attributes)}
    if isinstance(index.layout.projection, tuple):
        attributes.update(index.layout.projection)
    row = {name: value for name, value in schema.encode(item).items() if name in attributes}
    assert reader.item(reader.row(text_of(row))) == decode_partial(schema, str(index.layout.index), row)
    assert count_path_items(path_of(index, item), text(row)) == 1


@given(st.data(), trips, choices)
def test_only_some_fields(data: st.DataObject, item: Trip, fields: list[str]) -> None:
    path = path_of(Trip.key, item)
    only = OnlyFields(path, fields)
    drawn = {**data.draw(rows(st.just(item))), "pk": item.key.key()["pk"]}
    asked = only.added_to({})["ExpressionAttributeNames"].values()
    row = {name: drawn[name] for name in asked if name in drawn}
    codec = found(lambda: decode_rows(path.schema, [row], only.decode, "raise"))
    assert found(lambda: decode_path_parts(path, text(row), only.reader, only.decode, "raise")) == codec


@given(trips, choices)
def test_the_reader_takes_only_some_fields(item: Trip, fields: list[str]) -> None:
    only = OnlyFields(Trip.by_mail(mail=item.mail), fields)
    asked = only.added_to({})["ExpressionAttributeNames"].values()
    row = {name: value for name, value in schema_of(Trip).encode(item).items() if name in asked}
    assert only.reader is not None
    assert only.reader.item(only.reader.row(text_of(row))) == only.decode(row)


@given(st.data(), trips)
def test_whole_rows_are_counted_if_there_are_items_of_them(data: st.DataObject, item: Trip) -> None:
    path = path_of(Trip.key, item)
    row = {**data.draw(rows(st.just(item))), "pk": item.key.key()["pk"]}
    counted = count_path_items(path, text(row))
    codec = found(lambda: decode_rows(path.schema, [row], path.decode, "raise"))
    assert counted is None or (counted == 1 and len(codec[0]) == 1)


def test_all_written_rows_are_counted_without_items() -> None:
    item = Trip(
        line="L", number=1, day=date(2026, 1, 1), driver="d", left=datetime(2026, 1, 1, tzinfo=UTC), vehicle=UUID(int=1)
    )
    row = schema_of(Trip).encode(item)
    assert count_path_items(path_of(Trip.key, item), Unparsed(orjson.dumps([row, row]), False)) == 2


class Seat(sk.Item, table="partial-reader-seats"):
    hall: str
    number: int
    rank: int
    price: int = 1

    key = sk.Key("HALL#{hall}", "SEAT#{number}")
    by_rank = sk.Index("lsi1", "HALL#{hall}", "RANK#{rank}#{number}", local=True, projection="KEYS_ONLY")
    by_hall = sk.Index("gsi1", "HALL#{hall}", "{price}#{hall}", projection="KEYS_ONLY")


def test_a_local_index_has_a_reader_and_a_key_with_a_field_twice_has_none() -> None:
    schema = schema_of(Seat)
    assert partial_reader(schema, "lsi1") is not None
    assert partial_reader(schema, "gsi1") is None
