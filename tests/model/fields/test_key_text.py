"""The text of each type in a key, by example; the properties are in `template_properties`."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any, Literal
from uuid import UUID

import pytest

from sortkey.model.errors import DeclarationError, KeyPartError
from sortkey.model.fields.annotation import Annotation
from sortkey.model.fields.key_text import Encoding
from sortkey.model.keys.field_encoding import encoding_of


class Level(IntEnum):
    LOW = 1
    HIGH = 12


class Colour(StrEnum):
    RED = "red"


class Mixed(Enum):
    TEXT = "a"
    NUMBER = 1


def encoding(base: Any, spec: str = "", *, followed: bool = True) -> Encoding:
    return encoding_of(Annotation(base, optional=False, inexact=False), spec, followed=followed)


@pytest.mark.parametrize(
    ("base", "value", "text"),
    [
        (str, "plain", "plain"),
        (str, "", ""),
        (str, "a#b$c", "a$Sb$Tc"),
        (str, "a b", "a$Pb"),
        (str, "Zürich", "Zürich"),
        (int, 7, "a7"),
        (int, 0, "a0"),
        (int, 42, "b42"),
        (int, -7, "Z2"),
        (int, -42, "Y57"),
        (int, 10**25, "zb2610000000000000000000000000"),
        (int, -(10**25), "AY7389999999999999999999999999"),
        (Decimal, Decimal("1.50"), "Na015."),
        (Decimal, Decimal(0), "M"),
        (Decimal, Decimal("-0"), "M"),
        (Decimal, Decimal("-1.5"), "La084~"),
        (Decimal, Decimal("0.05"), "NZ75."),
        (datetime, datetime(2026, 8, 24, 12, 30, tzinfo=UTC), "2026-08-24T12:30:00.000000Z"),
        (datetime, datetime(2026, 8, 24, 1, tzinfo=timezone(timedelta(hours=2))), "2026-08-23T23:00:00.000000Z"),
        (date, date(2026, 8, 4), "2026-08-04"),
        (UUID, UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (bool, True, "1"),
        (bytes, b"\x00\xff", "00ff"),
        (Level, Level.HIGH, "b12"),
        (Colour, Colour.RED, "red"),
        (Literal["Base", "Swap"], "Swap", "Swap"),
    ],
)
def test_text_of_a_value(base: Any, value: Any, text: str) -> None:
    assert encoding(base).encode(value) == text
    assert encoding(base).decode(text) == value


# The end of a key sorts below everything, so blanks may stay readable there.
def test_text_at_the_end_keeps_what_sorts_anyway() -> None:
    assert encoding(str, followed=False).encode("a b#c") == "a b$Sc"


def test_padded_numbers_are_readable() -> None:
    padded = encoding(int, "06")
    assert padded.encode(42) == "000042"
    assert padded.decode("000042") == 42


@pytest.mark.parametrize("value", [-1, 1_000_000])
def test_padded_numbers_must_fit(value: int) -> None:
    with pytest.raises(KeyPartError, match=f"{value} does not fit in 6 digits"):
        encoding(int, "06").encode(value)


# A bool is an int, and a datetime a date, for Python; in a key they would sort among strangers.
@pytest.mark.parametrize(
    ("base", "value", "message"),
    [
        (str, 5, "expected str, got int 5"),
        (str, None, "expected str, got NoneType None"),
        (int, True, "expected int, got bool True"),
        (int, "5", "expected int, got str '5'"),
        (Decimal, 1.5, "expected Decimal, got float 1.5"),
        (Decimal, Decimal("NaN"), "NaN is not a number"),
        (date, datetime(2026, 1, 1, tzinfo=UTC), "expected date, got datetime"),
        (datetime, datetime(2026, 1, 1), "has no time zone"),  # noqa: DTZ001
        (Colour, "blue", "'blue' is not one of"),
        (str, "a\U0010ffff", "is not a character"),
    ],
)
def test_wrong_values_are_rejected(base: Any, value: Any, message: str) -> None:
    with pytest.raises(KeyPartError, match=message):
        encoding(base).encode(value)


def test_members_stand_for_their_values() -> None:
    assert encoding(str).encode(Colour.RED) == "red"
    assert encoding(int).encode(Level.HIGH) == "b12"
    assert encoding(Decimal).encode(5) == "Na05."


@pytest.mark.parametrize(
    ("base", "spec", "message"),
    [
        (float, "", "a key cannot contain"),
        (list[str], "", "a key cannot contain"),
        (str, "06", "the format '06' of a text is not raw"),
        (int, "6", "is not d or desc, nor 0 and a width"),
        (int, "x", "is not d or desc, nor 0 and a width"),
        (Mixed, "", "are not of one type"),
    ],
)
def test_types_without_an_encoding_are_rejected(base: Any, spec: str, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        encoding(base, spec)
