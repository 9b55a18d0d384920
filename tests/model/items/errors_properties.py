"""Whatever is given to a field, a key or a declaration: it works, or it is a ModelError."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sortkey as sk
from sortkey.model.items.item import ItemMeta
from tests.model.typed_values import Money, Price, Rank, Size


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Doubtful:
    """As arrays of numpy are."""

    def __bool__(self) -> bool:
        raise ValueError("neither")


class Instant(datetime):
    """A subclass, such as pendulum's."""


class Part(msgspec.Struct):
    text: str
    numbers: list[int] = []


FAR = timezone(timedelta(hours=14))
TYPES: dict[str, Any] = {
    "text": str,
    "number": int,
    "decimal": Decimal,
    "flag": bool,
    "raw": bytes,
    "at": datetime,
    "epoch": Annotated[datetime, sk.epoch],
    "epoch_ms": Annotated[datetime, sk.epoch_ms],
    "seconds": Annotated[datetime, sk.seconds],
    "day": date,
    "clock": time,
    "id": UUID,
    "took": timedelta,
    "colour": Colour,
    "choice": Literal["a", "b"],
    "part": Part,
    "size": Size,
    "texts": list[str],
    "pair": tuple[int, str],
    "by_name": dict[str, int],
    "by_colour": dict[Colour, int],
    "either": str | int,
    "anything": Any,
    "rough": Annotated[float, sk.inexact],
    "price": Price,
    "rank": Rank,
    "limited": Annotated[int, msgspec.Meta(ge=0, multiple_of=7)],
    "fraction": Annotated[Decimal, msgspec.Meta(multiple_of=7)],
}
Row: Any = ItemMeta(
    "Row",
    (sk.Item,),
    {
        "__module__": __name__,
        "__annotations__": {"pk": str, "tags": set[str], **{name: each | None for name, each in TYPES.items()}},
        "tags": sk.field(default_factory=set),
        **dict.fromkeys(TYPES),
        "key": sk.Key("{pk}"),
    },
    table="error-rows",
)


class Keyed(sk.Item, table="error-keys"):
    text: str = ""
    number: int = 0
    decimal: Decimal = Decimal(0)
    flag: bool = False
    raw: bytes = b""
    at: datetime = datetime(2026, 8, 24, tzinfo=UTC)
    day: date = date(2026, 8, 24)
    clock: time = time()
    id: UUID = UUID(int=0)
    took: timedelta = timedelta()
    colour: Colour = Colour.RED

    key = sk.Key("{text}#{number}#{decimal}", "{flag}#{at:%Y-%m-%d}#{day}#{clock}#{id}#{took}#{colour}#{raw}")
    by_text = sk.Index("gsi1", "{text:raw}", "{number:04}", shards=sk.Shards(4, by="number"))


many = settings(max_examples=6 * settings().max_examples)
"""There are many ways to go wrong, and each example is quick."""

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(
        [10**4000, -(10**40), 10**38, float("nan"), float("inf"), 1e-200, Decimal("nan"), Decimal("1e999")]
    )
    | st.floats()
    | st.decimals()
    | st.text(max_size=5)
    | st.sampled_from(["\ud800", "a\udfff", "", "\U0010ffff", "#", "$", "x" * 3000, "red", "a"])
    | st.binary(max_size=3)
    | st.datetimes(timezones=st.sampled_from([UTC, FAR, None]))
    | st.sampled_from([datetime(1, 1, 1, tzinfo=FAR), datetime.max.replace(tzinfo=timezone(-timedelta(hours=1)))])
    | st.just(Instant(2026, 8, 24, tzinfo=UTC))
    | st.dates()
    | st.times()
    | st.times(timezones=st.just(UTC))
    | st.timedeltas()
    | st.uuids()
    | st.sampled_from([Colour.RED, Part("x"), Part(5), Size(1), Money(Decimal(1), "EUR"), Rank(1)])  # type: ignore[arg-type]
    | st.builds(object)
    | st.builds(Doubtful)
    | st.sampled_from([int, Colour, print]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.lists(inner, max_size=2).map(tuple)
        | st.dictionaries(st.text(max_size=2) | st.sampled_from([Colour.RED, 1, None, "\ud800"]), inner, max_size=2)
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def db() -> Iterator[sk.Session]:
    with sk.connect("memory:", tables=[Row, Keyed]) as session:
        session.create_tables()
        yield session


@many
@given(
    call=st.sampled_from(["put", "update", "where", "inside"]), name=st.sampled_from([*TYPES, "tags"]), value=anything
)
def test_any_value_in_any_field(db: sk.Session, call: str, name: str, value: Any) -> None:
    path = Row.key(pk="1")
    db.put(Row(pk="1"))
    try:
        match call:
            case "put":
                db.put(Row(**{"pk": "1", name: value}))
            case "update":
                db.update(path, {name: value})
            case "where":
                db.count(path, where={name: value})
            case "inside":
                db.update(path, {f"{name}.x": value})
    except sk.ModelError:
        return
    # What was written can be read.
    assert db.get(path) is not None


@many
@given(name=st.sampled_from(Keyed.__struct_fields__), value=anything)
def test_any_value_in_any_key(db: sk.Session, name: str, value: Any) -> None:
    with suppress(sk.ModelError):
        item = Keyed(**{name: value})
        db.put(item)
        assert db.get(item.key) is not None


texts = (
    st.text(max_size=8)
    | st.text(st.sampled_from("{}:!#ab%Ymd[]. \ud800"), max_size=8)
    | st.sampled_from([None, 5, b"x"])
)


@many
@given(table=texts, index=texts, partition=texts, sort=texts, names=texts | st.lists(texts, max_size=2))
def test_any_name_in_a_declaration(table: Any, index: Any, partition: Any, sort: Any, names: Any) -> None:
    with suppress(sk.ModelError):
        owner = sk.Table(table)

        class Declared(sk.Item, table=owner):
            a: str
            b: int = 0
            d: date = date(2026, 8, 24)

            key = sk.Key("A#{a}")
            by = sk.Index(index, partition, sort, names=names)

        with sk.connect("memory:", tables=[owner]) as session:
            session.create_tables()
            session.put(Declared(a="x"))


@many
@given(partition=texts, sort=texts)
def test_any_template_of_a_key(partition: Any, sort: Any) -> None:
    owner = sk.Table("error-templates")
    with suppress(sk.ModelError):

        class Declared(sk.Item, table=owner):
            a: str
            b: int = 0
            d: date = date(2026, 8, 24)

            key = sk.Key(partition, sort)

        with sk.connect("memory:", tables=[owner]) as session:
            session.create_tables()
            session.put(Declared(a="x"))
