"""Rows read from text are what the codec makes of them: it is the measure, for rows of every type, sound and not."""

from __future__ import annotations

from base64 import b64encode
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import orjson
from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from sortkey.client.boto3_shapes import Unparsed
from sortkey.model.calls.item_decoder import decode_item, decode_row
from sortkey.model.items.item import schema_of
from tests.model.declared import Colour, Everything
from tests.model.items.codec_properties import items as everything
from tests.model.items.codec_properties import numbers, rough
from tests.model.strategies import instants, texts


class Flat(sk.Item, table="reader-flat"):
    """Everything that has nothing inside, so that the reader takes it whatever it holds."""

    id: UUID
    rank: Decimal
    text: str = sk.field(name="a text")
    whole: int = 7
    exact: Decimal = Decimal("0.5")
    rough: Annotated[float, sk.inexact] = 0.5
    flag: bool = True
    raw: bytes = b"raw"
    moment: datetime
    day: date | None = None
    other: UUID | None = None
    colour: Colour = Colour.RED
    level: Literal[1, 2] = 1
    nickname: str | None = "none yet"
    needed: str | None
    tags: set[str] = sk.field(default_factory=lambda: {"new"})
    primes: frozenset[int]
    blobs: set[bytes] = sk.field(default_factory=set)

    key = sk.Key("{id}", "{rank}", names=("pk", "rank"))
    by_nickname = sk.Index("gsi1", "NAME#{nickname}", "{moment}")


class Held(sk.Item, table="reader-held"):
    """Its key holds what its attributes do not."""

    tenant: Annotated[str, sk.in_key]
    number: Annotated[int, sk.in_key] = 7
    moment: Annotated[datetime, sk.in_key]
    text: str = ""

    key = sk.Key("T#{tenant}", "{number:06}#{moment}")


held = st.builds(Held, tenant=texts, number=st.integers(0, 999_999), moment=instants, text=texts)
flat = st.builds(
    Flat,
    id=st.uuids(),
    rank=numbers,
    text=texts,
    whole=st.integers(-(10**37), 10**37),
    exact=numbers,
    rough=rough,
    flag=st.booleans(),
    raw=st.binary(max_size=5),
    moment=instants,
    day=st.none() | st.dates(),
    other=st.none() | st.uuids(),
    colour=st.sampled_from(Colour),
    level=st.sampled_from([1, 2]),
    nickname=st.none() | texts,
    needed=st.none() | texts,
    tags=st.sets(texts, max_size=3),
    primes=st.frozensets(st.integers(-99, 99), max_size=3),
    blobs=st.sets(st.binary(max_size=3), max_size=3),
)
odd_values: st.SearchStrategy[Any] = st.sampled_from(
    [
        {"S": "x"},
        {"S": ""},
        {"S": "2026-08-24T12:30:00.1234567Z"},
        {"S": "2026-08-24T12:30:00"},
        {"S": "20260824"},
        {"S": "12345678123456781234567812345678"},
        {"N": "1"},
        {"N": "1E+2"},
        {"N": "2.50"},
        {"NULL": True},
        {"BOOL": False},
        {"B": b"\x00"},
        {"SS": ["a", "b"]},
        {"NS": ["1", "2.5"]},
        {"BS": [b"x"]},
        {"L": [{"S": "x"}, {"B": b"y"}]},
        {"M": {"a": {"B": b"z"}}},
    ]
)


@st.composite
def rows(draw: st.DrawFn, items: st.SearchStrategy[Any]) -> dict[str, Any]:
    """What the class writes, with some attributes lost, some changed, some added."""
    item = draw(items)
    schema = schema_of(type(item))
    row = schema.encode(item)
    names = sorted(row)
    # A stored row has its key.
    losable = sorted(row.keys() - {part.name for part in schema.primary.attributes})
    for name in draw(st.lists(st.sampled_from(losable), max_size=2)):
        row.pop(name, None)
    return row | draw(st.dictionaries(st.sampled_from([*names, "unknown", "_v"]), odd_values, max_size=2))


def text_of(row: dict[str, Any]) -> bytes:
    return orjson.dumps(row, default=lambda binary: b64encode(binary).decode())


def outcome(read: Any) -> Any:
    """What comes of it: the item and what it keeps unseen, or the words of the error."""
    try:
        item = read()
    except (sk.DecodeError, ValueError) as error:
        return type(error), str(error)
    return item, sk.extra(item)


@given(flat)
def test_the_reader_takes_what_the_class_writes(item: Flat) -> None:
    reader = schema_of(Flat).reader
    assert reader.item(reader.row(text_of(schema_of(Flat).encode(item)))) == item


@given(rows(flat))
def test_rows_of_plain_values(row: dict[str, Any]) -> None:
    schema = schema_of(Flat)
    assert outcome(lambda: decode_item(schema, Unparsed(text_of(row), True))) == outcome(
        lambda: decode_row(schema, row)
    )


@given(held)
def test_the_reader_finds_in_the_key_what_is_only_there(item: Held) -> None:
    schema = schema_of(Held)
    row = schema.encode(item)
    assert row.keys() == {"pk", "sk", "text"}
    assert schema.decode(row) == item
    assert schema.reader.item(schema.reader.row(text_of(row))) == item


@given(rows(held), st.dictionaries(st.sampled_from(["tenant", "number"]), odd_values))
def test_rows_whose_key_holds_what_they_lack(row: dict[str, Any], stored: dict[str, Any]) -> None:
    schema, row = schema_of(Held), row | stored
    assert outcome(lambda: decode_item(schema, Unparsed(text_of(row), True))) == outcome(
        lambda: decode_row(schema, row)
    )


@given(rows(everything))
def test_rows_of_everything(row: dict[str, Any]) -> None:
    schema = schema_of(Everything)
    assert outcome(lambda: decode_item(schema, Unparsed(text_of(row), True))) == outcome(
        lambda: decode_row(schema, row)
    )
