"""The types beyond the plain ones: how they are stored, and what is rejected."""

from __future__ import annotations

import json
import types
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, NewType
from uuid import UUID

import msgspec
import pytest

import sortkey as sk
from sortkey.model.fields.codec import codec_of
from sortkey.model.items.item import schema_of
from tests.model.typed_values import Circle, Money, Price, Rank, Size, Square, Thing

SCHEMA = schema_of(Thing)
NOON = datetime(2026, 8, 24, 12, 30, 15, 250_999, tzinfo=UTC)
AT = datetime(2026, 8, 24, 12, 30, tzinfo=UTC)


def stored(**values: Any) -> dict[str, Any]:
    """The attributes of a thing with these values, without its key."""
    return {name: SCHEMA.encode(Thing(owner="ada", id=1, **values)).get(name) for name in values}


def decoded(**attributes: Any) -> Thing:
    return SCHEMA.decode({**SCHEMA.encode(Thing(owner="ada", id=1)), **attributes})


@pytest.mark.parametrize(
    ("name", "value", "attribute"),
    [
        ("payload", {"a": [1, Decimal("1.5"), None, True, b"x", {"b"}]}, {"M": {"a": {"L": [
            {"N": "1"}, {"N": "1.5"}, {"NULL": True}, {"BOOL": True}, {"B": b"x"}, {"SS": ["b"]}]}}}),
        ("payload", "text", {"S": "text"}),
        ("payload", None, None),
        ("settings", {"depth": 3}, {"M": {"depth": {"N": "3"}}}),
        ("rough", [0.5, 2], {"L": [{"N": "0.5"}, {"N": "2"}]}),
        ("code", 7, {"N": "7"}),
        ("code", "7", {"S": "7"}),
        ("code", None, None),
        ("shape", Circle(2), {"M": {"type": {"S": "Circle"}, "radius": {"N": "2"}}}),
        ("shape", Square(Decimal("1.5")), {"M": {"type": {"S": "Square"}, "side": {"N": "1.5"}}}),
        ("figures", ["none", Circle(1)], {"L": [
            {"S": "none"}, {"M": {"type": {"S": "Circle"}, "radius": {"N": "1"}}}]}),
        ("pair", (1, "a"), {"L": [{"N": "1"}, {"S": "a"}]}),
        ("path", ("a", "b", "c"), {"L": [{"S": "a"}, {"S": "b"}, {"S": "c"}]}),
        ("took", timedelta(days=1, microseconds=-1), {"N": "86399.999999"}),
        ("size", Size(2, 3), {"M": {"width": {"N": "2"}, "height": {"N": "3"}, "notes": {"L": []}}}),
        ("price", Money(Decimal("9.90"), "EUR"), {"S": "EUR 9.90"}),
        ("prices", [Money(Decimal(1), "USD")], {"L": [{"S": "USD 1"}]}),
        ("rank", Rank(3), {"N": "3"}),
        ("seen", NOON.replace(microsecond=250_000), {"N": "1787574615250"}),
        ("at", NOON.replace(microsecond=0), {"S": "2026-08-24T12:30:15Z"}),
    ],
)  # fmt: skip
def test_a_value_is_stored_and_comes_back(name: str, value: Any, attribute: Any) -> None:
    assert stored(**{name: value}) == {name: attribute}
    assert getattr(SCHEMA.decode(SCHEMA.encode(Thing(owner="ada", id=1, **{name: value}))), name) == value


# What a format has no room for is dropped, as sk.epoch does.
def test_times_lose_what_their_form_cannot_hold() -> None:
    row = SCHEMA.encode(Thing(owner="ada", id=1, seen=NOON, at=NOON))
    assert SCHEMA.decode(row).seen == NOON.replace(microsecond=250_000)
    assert SCHEMA.decode(row).at == NOON.replace(microsecond=0)


def test_whole_numbers_of_any_are_int() -> None:
    found = decoded(payload={"L": [{"N": "7"}, {"N": "-7"}, {"N": "7.5"}, {"N": "1E+40"}]}).payload
    assert [type(each) for each in found] == [int, int, Decimal, Decimal]


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("payload", 0.5, r"Thing.payload: 0.5 would not come back as it is; use Decimal, or Annotated\[Any"),
        ("payload", {"a": (1,)}, "use a list"),
        ("payload", {1: 2}, "keys of a dict must be str, not 1"),
        ("payload", set(), "an empty set has no type"),
        ("payload", NOON, "Any holds str, int"),
        ("payload", Colour.RED, "would come back as its value; store 'red'"),
        ("code", 1.5, r"Thing.code: expected str or int, got float 1.5"),
        ("code", True, "expected str or int, got bool True"),
        ("shape", Size(1), "expected Circle or Square, got Size"),
        ("pair", (1,), "expected tuple with 2 elements"),
        ("pair", [1, "a"], "expected tuple with 2 elements, got list"),
        ("path", ["a"], "expected tuple, got list"),
        ("took", 5, "expected timedelta, got int 5"),
        ("size", {"width": 1}, "expected Size, got dict"),
        ("price", "EUR 1", r"Thing.price: expected Money, got str 'EUR 1'"),
        ("seen", datetime(2026, 1, 1), r"cannot encode .*: KeyPartError: .* has no time zone"),  # noqa: DTZ001
    ],
)  # fmt: skip
def test_other_values_are_rejected(name: str, value: Any, message: str) -> None:
    with pytest.raises(sk.EncodeError, match=message):
        stored(**{name: value})


# Rows that another program, or an older version of this one, wrote in another form.
@pytest.mark.parametrize(
    ("name", "attribute", "message"),
    [
        ("code", {"BOOL": True}, r"Thing.code: .*expected S or N"),
        ("shape", {"M": {"radius": {"N": "1"}}}, r"Thing.shape: .*type is None, not that of Circle or Square"),
        ("shape", {"M": {"type": {"S": "Star"}}}, r"type is \{'S': 'Star'\}"),
        ("pair", {"L": [{"N": "1"}]}, r"Thing.pair: .*expected 2 elements, found 1"),
        ("took", {"S": "5"}, r"Thing.took: expected N, found \{'S': '5'\}"),
        ("took", {"N": "1e30"}, "too many for a timedelta"),
        ("took", {"N": "1.0000009"}, "not whole microseconds"),
        ("took", {"N": "-1.00000000000000000000000000000000001"}, "not whole microseconds"),
        ("size", {"M": {"height": {"N": "1"}}}, r"Thing.size: .*missing .* 'width'"),
        ("price", {"S": "EUR x"}, r"Thing.price: .*cannot decode 'EUR x': InvalidOperation"),
        ("price", {"N": "5"}, r"Thing.price: expected S, found \{'N': '5'\}"),
        ("rank", {"N": "1.5"}, r"Thing.rank: "),
    ],
)  # fmt: skip
def test_rows_of_another_form_raise_with_the_field(name: str, attribute: Any, message: str) -> None:
    with pytest.raises(sk.DecodeError, match=message):
        decoded(**{name: attribute})


class Tagged(msgspec.Struct, tag="t", tag_field="kind"):
    x: int


class Holder(sk.Item, table="typed-holders"):
    id: str
    inner: Tagged
    key = sk.Key("{id}", names=("id",))


def test_a_map_without_a_tag_is_older_than_the_tag() -> None:
    schema = schema_of(Holder)
    assert schema.encode(Holder(id="1", inner=Tagged(1)))["inner"] == {"M": {"kind": {"S": "t"}, "x": {"N": "1"}}}
    assert schema.decode({"id": {"S": "1"}, "inner": {"M": {"x": {"N": "1"}}}}).inner == Tagged(1)
    with pytest.raises(sk.DecodeError, match=r"Holder.inner: .*kind is \{'S': 'other'\}, not \{'S': 't'\}"):
        schema.decode({"id": {"S": "1"}, "inner": {"M": {"kind": {"S": "other"}, "x": {"N": "1"}}}})


class Untagged(msgspec.Struct):
    x: int


class Same(msgspec.Struct, tag="Circle"):
    x: int


class Elsewhere(msgspec.Struct, tag_field="kind"):
    x: int


class Unknown:
    pass


@dataclass
class Weighed:
    weight: float


def unknown_as(stored: Any) -> Any:
    return Annotated[Unknown, sk.stored_as(stored, encode=str, decode=str)]


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (int | Decimal, "int and Decimal are all stored as N"),
        (str | UUID, "str and UUID are all stored as S"),
        (Circle | Untagged, "Circle and Untagged are all stored as M"),
        (Circle | Same, "must have different tags in one tag_field"),
        (Circle | Elsewhere, "must have different tags in one tag_field"),
        (str | set[int], "cannot be in a union: an empty set is stored as NULL"),
        (str | Any, "cannot be in a union: it can hold what the others are stored as"),
        (Weighed, r"Weighed.weight: float cannot hold"),
        (tuple[int, Unknown], "is not a type that an item can hold; sk.stored_as"),
        (unknown_as(Unknown), "is not a type that an item can hold"),
        (unknown_as(set[str]), "an empty set would be stored as NULL"),
        (unknown_as(str | None), "None has no codec"),
        (Annotated[str | int, msgspec.Meta(max_length=3)], r"Meta\(max_length=3\) cannot apply"),
    ],
)  # fmt: skip
def test_types_that_a_row_could_not_tell_are_rejected_at_import(annotation: Any, message: str) -> None:
    with pytest.raises(sk.DeclarationError, match=message):
        types.new_class("Made", (sk.Item,), exec_body=lambda body: body.update(__annotations__={"it": annotation}))


def test_a_default_that_the_codec_cannot_encode_is_rejected_at_import() -> None:
    with pytest.raises(sk.DeclarationError, match=r"Sold.price: the default: expected Money, got int 5"):

        class Sold(sk.Item):
            price: Price = 5  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (Rank, "Rank has a codec already"),
        (str, "str is not a class of your own"),
        ("Rank", "'Rank' is not a class"),
    ],
)
def test_a_codec_is_registered_once_for_a_class_of_the_program(cls: Any, message: str) -> None:
    with pytest.raises(sk.DeclarationError, match=message):
        sk.codec(cls, int, encode=int, decode=Rank)


def times(factor: int) -> Any:
    return sk.stored_as(int, encode=lambda value: value * factor, decode=lambda value: value // factor)


Tens = Annotated[int, times(10)]
Named = NewType("Named", Tens)
Second = Annotated[datetime, sk.epoch]


# Python puts the marks of the alias first, but an alias inside an optional type or a NewType comes last.
@pytest.mark.parametrize(
    ("annotation", "value", "stored"),
    [
        (Tens, 7, {"N": "70"}),
        (Annotated[Tens, times(100)], 7, {"N": "700"}),
        (Annotated[Tens | None, times(100)], 7, {"N": "700"}),
        (Annotated[Named, times(100)], 7, {"N": "700"}),
        (list[Annotated[Tens, times(100)]], [7], {"L": [{"N": "700"}]}),
        (Annotated[Second, sk.seconds], AT, {"S": "2026-08-24T12:30:00Z"}),
        (Annotated[Second, sk.epoch_ms], AT, {"N": "1787574600000"}),
        (Annotated[Annotated[datetime, sk.seconds], sk.epoch], AT, {"N": "1787574600"}),
    ],
)
def test_the_codec_of_a_field_goes_before_that_of_its_alias(annotation: Any, value: Any, stored: Any) -> None:
    struct = msgspec.defstruct("Aliased", [("field", annotation)])
    assert codec_of(struct).by_name["field"].encode(value) == stored
    assert codec_of(struct).by_name["field"].decode(stored) == value


# `Any` is a class, but nothing is an instance of it.
@pytest.mark.parametrize("value", ["x", 1.5, [None], {"a": 1}])
def test_a_codec_may_be_of_any_value(value: Any) -> None:
    annotation = Annotated[Any, sk.stored_as(str, encode=json.dumps, decode=json.loads)]
    field = codec_of(msgspec.defstruct("Untyped", [("field", annotation)])).by_name["field"]
    assert field.decode(field.encode(value)) == value


# The store rejects a set that has an element twice.
@pytest.mark.parametrize(
    ("annotation", "values", "stored"),
    [
        (set[Second], {AT, AT + timedelta(microseconds=1)}, {"NS": ["1787574600"]}),
        (set[Annotated[datetime, sk.seconds]], {AT, AT.replace(microsecond=9)}, {"SS": ["2026-08-24T12:30:00Z"]}),
        (set[Annotated[str, sk.stored_as(Decimal, encode=Decimal, decode=str)]], {"1.0", "1"}, 1),
        (Any, {Decimal("1.50"), Decimal(1)}, {"NS": ["1", "1.50"]}),
    ],
)
def test_members_of_a_set_that_are_stored_alike_are_stored_once(annotation: Any, values: Any, stored: Any) -> None:
    made = codec_of(msgspec.defstruct("Collected", [("field", annotation)])).by_name["field"].encode(values)
    # Either text of one number may be stored.
    assert (len(made["NS"]) if stored == 1 else made) == stored


def test_a_codec_needs_functions() -> None:
    with pytest.raises(sk.DeclarationError, match="encode must be a function, not 1"):
        sk.stored_as(str, encode=1, decode=str)  # type: ignore[arg-type]


def test_constraints_are_of_the_declared_type() -> None:
    class Zipped(sk.Item):
        text: Annotated[str, msgspec.Meta(max_length=2), sk.stored_as(bytes, encode=str.encode, decode=bytes.decode)]

    assert codec_of(Zipped).encode(Zipped(text="ab")) == {"text": {"B": b"ab"}}
    with pytest.raises(sk.EncodeError, match=r"Zipped.text: must be of at most 2"):
        codec_of(Zipped).encode(Zipped(text="abc"))


@pytest.mark.parametrize("annotation", [Any, str | int, tuple[int, ...], Circle])
def test_keys_cannot_contain_them(annotation: Any) -> None:
    def body(names: dict[str, Any]) -> None:
        names.update(__annotations__={"a": str, "it": annotation}, key=sk.Key("{a}", "X#{it}"))

    with pytest.raises(sk.DeclarationError, match="a key cannot contain"):
        types.new_class("Made", (sk.Item,), {"table": "typed-made"}, body)


def test_a_day_is_not_a_time() -> None:
    with pytest.raises(sk.EncodeError, match=r"expected datetime, got date"):
        stored(at=date(2026, 1, 1))
