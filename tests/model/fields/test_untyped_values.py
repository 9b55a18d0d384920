"""Values without declared types, as upgrade functions return them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any

import msgspec
import pytest

import sortkey as sk
from sortkey.model.fields.untyped_values import from_untyped
from sortkey.model.items.item import schema_of
from tests.model.typed_values import Money, Price


# What a function computes is read by fields: an int field reads no point, and the store would drop it as well.
@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Decimal("2.5") * 1000, "2500"),
        (Decimal("-0.0"), "0"),
        (Decimal("2.50"), "2.50"),
        (Decimal("1E+2"), "100"),
        (Decimal("1E+100"), "1E+100"),
        (7, "7"),
    ],
)
def test_whole_numbers_have_no_point(number: Decimal | int, text: str) -> None:
    assert from_untyped(number) == {"N": text}


class Point(msgspec.Struct):
    x: int


class Run(sk.Item, table="upgraded-runs", version=2):
    id: str
    took: timedelta = timedelta()
    laps: list[timedelta] = sk.field(default_factory=list)
    pair: tuple[int, str] = (0, "")
    seen: Annotated[datetime, sk.epoch_ms] | None = None
    ends: Annotated[datetime, sk.epoch] | None = None
    starts: set[Annotated[datetime, sk.seconds]] = sk.field(default_factory=set)
    price: Price | None = sk.field(default=None, name="p")
    secret: Annotated[str, sk.stored_as(str, encode=lambda text: text[::-1], decode=lambda text: text[::-1])] = ""
    rough: Annotated[float, sk.inexact] = 0.0
    point: Point | None = None
    label: str = ""

    key = sk.Key("RUN#{id}")


UPGRADED: dict[str, Any] = {}


@Run.upgrade(1)
def to_values(old: dict[str, Any]) -> dict[str, Any]:
    return {**old, **UPGRADED}


def upgraded(monkeypatch: pytest.MonkeyPatch, **values: Any) -> Run:
    monkeypatch.setattr(f"{__name__}.UPGRADED", values)
    return schema_of(Run).decode({"pk": {"S": "RUN#1"}, "id": {"S": "1"}, "secret": {"S": "olleh"}})


AT = datetime(2026, 8, 24, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("attribute", "field", "value"),
    [
        ("took", "took", timedelta(seconds=90)),
        ("laps", "laps", [timedelta(seconds=1), timedelta(microseconds=1)]),
        ("pair", "pair", (1, "a")),
        ("seen", "seen", AT),
        ("ends", "ends", AT),
        ("starts", "starts", {AT}),
        ("p", "price", Money(Decimal("9.90"), "EUR")),
        ("rough", "rough", 0.5),
        ("point", "point", Point(3)),
    ],
)
def test_an_upgrade_returns_values_of_the_fields(
    monkeypatch: pytest.MonkeyPatch, attribute: str, field: str, value: Any
) -> None:
    assert getattr(upgraded(monkeypatch, **{attribute: value}), field) == value


# What an upgrade gets is as it is stored, also if the type of the field is the same.
def test_an_upgrade_returns_stored_values(monkeypatch: pytest.MonkeyPatch) -> None:
    run = upgraded(monkeypatch, took=Decimal("1.5"), pair=[1, "a"], p="EUR 9.90", point={"x": Decimal(3)}, label=AT)
    assert (run.took, run.pair, run.price) == (timedelta(seconds=1.5), (1, "a"), Money(Decimal("9.90"), "EUR"))
    assert (run.secret, run.point, run.label) == ("hello", Point(3), "2026-08-24T12:30:00.000000Z")


# An attribute that no field has is stored by the type of the value.
def test_an_upgrade_returns_values_that_no_field_has(monkeypatch: pytest.MonkeyPatch) -> None:
    extra = sk.extra(upgraded(monkeypatch, lasted=timedelta(seconds=90), parts=(1, "a")))
    assert extra == {"lasted": {"N": "90"}, "parts": {"L": [{"N": "1"}, {"S": "a"}]}}


def test_a_value_that_nothing_can_store_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(sk.EncodeError, match="is not a type that an item can hold"):
        upgraded(monkeypatch, took=object())
