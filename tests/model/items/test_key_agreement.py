"""The reader takes a row only if its attributes say what its key says, whatever the types and formats in the key."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal
from uuid import UUID

import orjson
import pytest

import sortkey as sk
from sortkey.model.fields.codec import Row
from sortkey.model.items.item import schema_of
from sortkey.model.items.row_reader import NEEDS_CODEC

NOON = datetime(2026, 8, 24, 12, tzinfo=UTC)
ADA, BOB = UUID(int=2**100 + 7), UUID(int=2**101 + 8)


class Color(Enum):
    RED = "red"
    SKY = "sky blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 12


class Point:
    def __init__(self, x: int) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and other.x == self.x


POINT = sk.stored_as(str, encode=lambda point: f"x{point.x}", decode=lambda text: Point(int(text[1:])))
_numbers = iter(range(1000))


def declare(annotation: Any, template: str) -> type[Any]:
    """A class with a field of this type at the end of its sort key, after a text."""
    number = next(_numbers)
    space = {
        "__annotations__": {"city": str, "field": annotation, "other": str},
        "__module__": __name__,
        "other": "",
        "key": sk.Key("P#{city}", f"S#{{city}}#{template}"),
    }
    make: Any = type(sk.Item)
    made: type[Any] = make(f"Agreeing{number}", (sk.Item,), space, table=f"key-agreement-{number}")
    return made


CASES: list[tuple[Any, str, Any, Any]] = [
    (str, "{field}", "rome", "oslo"),
    (str, "{field}", "New $York#1", "New York"),
    (str, "{field:raw}", "New $York", "New York"),
    (int, "{field}", 7, 8),
    (int, "{field}", -42, 42),
    (int, "{field}", 10**30, 10**29),
    (int, "{field:d}", 42, 43),
    (int, "{field:d}", -42, 42),
    (int, "{field:06}", 42, 420),
    (Decimal, "{field}", Decimal("1.50"), Decimal("1.05")),
    (datetime, "{field}", NOON, NOON + timedelta(microseconds=1)),
    (datetime, "{field:%Y-%m-%dT%H:%M:%SZ}", NOON, NOON + timedelta(hours=1)),
    (datetime, "{field:%d.%m.%Y}", datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)),
    (datetime, "{field:%Y%m%d%S}", datetime(2026, 1, 2, 0, 0, 5, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)),
    (datetime, "{field:%s%L}", NOON, NOON + timedelta(milliseconds=1)),
    (Annotated[datetime, sk.epoch], "{field}", NOON, NOON + timedelta(seconds=1)),
    (Annotated[datetime, sk.seconds], "{field}", NOON, NOON + timedelta(seconds=1)),
    (Annotated[datetime, sk.epoch_ms], "{field}", NOON, NOON + timedelta(seconds=1)),
    (date, "{field}", date(2026, 1, 2), date(2026, 2, 1)),
    (date, "{field:%d.%m.%Y}", date(2026, 1, 2), date(2026, 2, 1)),
    (timedelta, "{field}", timedelta(seconds=90), timedelta(seconds=9)),
    (UUID, "{field}", ADA, BOB),
    (UUID, "{field:upper}", ADA, BOB),
    (UUID, "{field:hex}", ADA, BOB),
    (UUID, "{field:HEX}", ADA, BOB),
    (bool, "{field}", True, False),
    (bytes, "{field}", b"\x00\xff", b"\xff"),
    (Color, "{field}", Color.SKY, Color.RED),
    (Level, "{field}", Level.HIGH, Level.LOW),
    (Literal["a", "b"], "{field}", "a", "b"),
    (Annotated[Point, POINT], "{field}", Point(7), Point(8)),
]


def read(cls: type[Any], *rows: Row) -> list[Any]:
    """The items of the rows; both functions of the reader agree."""
    reader = schema_of(cls).reader
    text = orjson.dumps(rows, default=_base64)
    found = reader.rows(text)
    items = reader.items(found, text)
    assert items == reader.partition_items(found, text) == [reader.item(row) for row in found]
    return items


def _base64(value: bytes) -> str:
    return b64encode(value).decode()


@pytest.mark.parametrize(("annotation", "template", "value", "other"), CASES)
@pytest.mark.parametrize("city", ["rome", "New York", "a#b$c"])
def test_a_row_that_agrees_is_read_and_others_are_left_to_the_codec(
    annotation: Any, template: str, value: Any, other: Any, city: str
) -> None:
    cls = declare(annotation, template)
    schema = schema_of(cls)
    item, another = cls(city=city, field=value), cls(city=city, field=other)
    row, wrong = schema.encode(item), schema.encode(another)
    assert read(cls, row, wrong) == [item, another]
    for key, attributes in ((row, wrong), (wrong, row)):
        mixed = attributes | {"sk": key["sk"]}
        text = orjson.dumps([mixed], default=_base64)
        for function in (schema.reader.items, schema.reader.partition_items):
            with pytest.raises(NEEDS_CODEC):
                function(schema.reader.rows(text), text)
        assert schema.decode(mixed).field == schema.decode(key).field
        assert schema.decode(mixed).key == schema.decode(key).key


def test_the_partition_key_must_agree_too() -> None:
    cls = declare(int, "{field}")
    row = schema_of(cls).encode(cls(city="rome", field=1)) | {"pk": {"S": "P#oslo"}}
    with pytest.raises(NEEDS_CODEC):
        read(cls, row)


# A path of a partition finds rows of any form; the reader of their class must not take them.
@pytest.mark.parametrize("given", [0, 1])
@pytest.mark.parametrize("sort", ["S#rome#07", "S#rome#7#1", "T#rome#7", "S#rome#"])
def test_a_sort_key_of_another_form_is_not_taken(sort: str, given: int) -> None:
    cls = declare(int, "{field:d}")
    row = schema_of(cls).encode(cls(city="rome", field=7)) | {"sk": {"S": sort}}
    reader, text = schema_of(cls).reader, orjson.dumps([row])
    with pytest.raises(NEEDS_CODEC):
        reader.partition_items(reader.rows(text), text, given)


# An attribute that is the text of the key, unescaped, has another value than the key; or the key has another form.
@pytest.mark.parametrize("given", [0, 1])
@pytest.mark.parametrize("name", ["a$Tb", "$S", "a#b"])
def test_a_text_that_needs_escapes_is_not_compared_as_it_is(name: str, given: int) -> None:
    cls = declare(str, "{field}")
    row = schema_of(cls).encode(cls(city="rome", field=name)) | {"sk": {"S": f"S#rome#{name}"}}
    reader, text = schema_of(cls).reader, orjson.dumps([row])
    with pytest.raises(NEEDS_CODEC):
        reader.partition_items(reader.rows(text), text, given)


# JSON may write any character of a key as an escape of its own.
def test_a_key_that_json_escapes_is_not_compared_as_it_is() -> None:
    cls = declare(str, "{field}")
    row = schema_of(cls).encode(cls(city="rome", field="a$Tb")) | {"sk": {"S": "S#rome#a$Tb"}}
    reader, text = schema_of(cls).reader, orjson.dumps([row]).replace(b"$", rb"\u0024")
    for function in (reader.items, reader.partition_items):
        with pytest.raises(NEEDS_CODEC):
            function(reader.rows(text), text)


# A literal may contain what ends or fills in a text in Python's source.
def test_literals_with_quotes_and_braces() -> None:
    class Quoted(sk.Item, table="key-agreement-quoted"):
        name: str
        number: int

        key = sk.Key("it's#{name}", '"{{x}}\\#{number}')

    one = Quoted(name="a", number=7)
    assert read(Quoted, schema_of(Quoted).encode(one)) == [one]


# Equal values need not have equal texts.
def test_a_value_in_another_form_is_not_read() -> None:
    cls = declare(datetime, "{field}")
    row = schema_of(cls).encode(cls(city="rome", field=NOON)) | {"field": {"S": "2026-08-24T14:00:00+02:00"}}
    with pytest.raises(ValueError, match="is not in the form of the field"):
        read(cls, row)
