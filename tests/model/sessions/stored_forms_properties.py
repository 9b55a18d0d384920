"""For any row in any form that its class reads: a put of the item leaves every attribute as it is, and a put after one
change leaves every other one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from sortkey.client.boto3_shapes import Unparsed
from sortkey.model.calls.item_decoder import decode_item
from sortkey.model.fields.stored_forms import is_same
from sortkey.model.items.item import schema_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Line(msgspec.Struct):
    sku: str
    count: int = 0
    note: str | None = None


class Part(sk.Item):
    name: str
    at: Annotated[datetime, sk.stored_as(datetime, also=[sk.seconds, sk.epoch])] | None = None


class Parcel(sk.Item, table="any-forms-parcels"):
    id: str
    city: Annotated[str, sk.in_key]
    shelf: Annotated[int | None, sk.in_key] = None
    at: Annotated[datetime, sk.stored_as(datetime, also=[sk.seconds, sk.epoch])]
    amount: Decimal
    weight: Annotated[float, sk.inexact] = 0.0
    took: timedelta = timedelta()
    note: str | None = None
    tags: set[str] = msgspec.field(default_factory=set)
    sizes: frozenset[int] = frozenset()
    anything: Any = None
    lines: list[Line] = msgspec.field(default_factory=list)
    parts: dict[str, Part] = msgspec.field(default_factory=dict)

    key = sk.Key("PARCEL#{id}")
    by_city = sk.Index("gsi1", "CITY#{city}", "{id}")
    by_shelf = sk.Index("gsi2", "{id}", "{shelf}")


def text(value: str) -> dict[str, Any]:
    return {"S": value}


NULL = {"NULL": True}
WORDS = st.sampled_from(["a", "b", "Ä c"])
SECONDS = st.integers(0, 4_000_000_000)
TIMES = SECONDS.flatmap(
    lambda number: st.sampled_from(
        [
            {"N": str(number)},
            text((EPOCH + timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%SZ")),
            text((EPOCH + timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")),
        ]
    )
)
NUMBERS = st.sampled_from(["0", "1", "1.0", "1.50", "-3", "0.25", "1E2", "007", "12345678901234567890"])
INTEGERS = st.sampled_from(["0", "1", "-3", "007", "12"]).map(lambda number: {"N": number})
UNDECLARED = st.fixed_dictionaries({}, optional={"x": st.sampled_from([NULL, text("x"), {"N": "1.0"}])})
LINES = st.builds(
    lambda own, extra: {"M": own | extra},
    st.fixed_dictionaries(
        {"sku": WORDS.map(text)}, optional={"count": INTEGERS, "note": WORDS.map(text) | st.just(NULL)}
    ),
    UNDECLARED,
)
PARTS = st.builds(
    lambda own, extra: {"M": own | extra},
    st.fixed_dictionaries({"name": WORDS.map(text)}, optional={"at": TIMES | st.just(NULL)}),
    UNDECLARED,
)
ATTRIBUTES = st.fixed_dictionaries(
    {"at": TIMES, "amount": NUMBERS.map(lambda number: {"N": number})},
    optional={
        "weight": st.sampled_from(["0", "1.0", "2.5", "1E2"]).map(lambda number: {"N": number}),
        "took": st.sampled_from(["1", "1.0", "0.25"]).map(lambda number: {"N": number}),
        "note": WORDS.map(text) | st.just(NULL),
        "tags": st.lists(WORDS, min_size=1, unique=True).map(lambda words: {"SS": words}) | st.just(NULL),
        "sizes": st.just({"NS": ["3", "1.0".removesuffix(".0"), "02"]}) | st.just(NULL),
        "anything": st.sampled_from([NULL, {"N": "1.0"}, {"L": [NULL, {"N": "01"}]}, {"M": {"a": NULL}}]),
        "lines": st.lists(LINES, max_size=3).map(lambda lines: {"L": lines}),
        "parts": st.dictionaries(WORDS, PARTS, max_size=2).map(lambda parts: {"M": parts}),
        "city": WORDS.map(text),
        "theirs": WORDS.map(text),
    },
)
ROWS = st.builds(
    lambda attributes, city, shelf: {
        "pk": text("PARCEL#1"),
        "id": text("1"),
        "gsi1pk": text(f"CITY#{city}"),
        "gsi1sk": text("1"),
        **({} if shelf is None else {"gsi2pk": text("1"), "gsi2sk": {"N": shelf}}),
        **attributes,
    },
    ATTRIBUTES,
    st.sampled_from(["Rome", "Bonn"]),
    st.none() | st.sampled_from(["1", "-2"]),
)
CHANGES: st.SearchStrategy[tuple[str, Any, set[str]]] = st.sampled_from(
    [
        ("city", "Oslo", {"gsi1pk"}),
        ("shelf", 9, {"gsi2pk", "gsi2sk"}),
        ("at", EPOCH - timedelta(days=1), {"at"}),
        ("amount", Decimal("77.7"), {"amount"}),
        ("weight", 77.5, {"weight"}),
        ("note", "changed", {"note"}),
        ("tags", {"changed"}, {"tags"}),
        ("anything", [7, 7], {"anything"}),
        ("lines", [Line("changed")], {"lines"}),
    ]
)


def read(row: dict[str, Any]) -> Parcel:
    item = decode_item(schema_of(Parcel), Unparsed(msgspec.json.encode(row), False, is_foreign=True))
    assert item is not None
    return item


def same_attributes(row: dict[str, Any], written: dict[str, Any], but: set[str]) -> bool:
    """Whether the row has all attributes as they were; a set has no order. One that it lacked may have its default."""
    return all(name in written and is_same(value, written[name]) for name, value in row.items() if name not in but)


@given(ROWS)
def test_a_put_of_a_read_item_leaves_every_attribute(row: dict[str, Any]) -> None:
    schema = schema_of(Parcel)
    item = read(row)
    assert same_attributes(row, schema.encode(item), set())
    assert schema.decode(row) == item
    assert same_attributes(row, schema.encode(schema.decode(row)), set())


@given(ROWS, CHANGES)
def test_a_put_after_one_change_leaves_every_other_attribute(
    row: dict[str, Any], change: tuple[str, Any, set[str]]
) -> None:
    name, value, changed = change
    item = read(row)
    setattr(item, name, value)
    written = schema_of(Parcel).encode(item)
    assert same_attributes(row, written, changed)
    assert getattr(read(written), name) == value
