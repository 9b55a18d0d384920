"""Amounts and instants, as clients write and read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal as PythonDecimal
from typing import Any

import pytest
from graphql import GraphQLError, parse_value

from sortkey.services.graphql.scalars import SCALARS, DateTime, Decimal, amount_text, instant_text


@pytest.mark.parametrize(
    ("amount", "text"),
    [("4.50", "4.50"), ("0", "0.00"), ("5", "5.00"), ("1E+3", "1000.00"), ("-0.5", "-0.50"), ("1.234", "1.23")],
)
def test_amounts_have_two_decimals(amount: str, text: str) -> None:
    assert amount_text(PythonDecimal(amount)) == text


@pytest.mark.parametrize(
    ("given", "literal", "amount"),
    [("4.50", '"4.50"', "4.50"), (4.5, "4.5", "4.5"), (4, "4", "4"), ("1e2", "1e2", "1e2"), ("-3", "-3", "-3")],
)
def test_an_amount_may_be_a_number_or_a_text(given: Any, literal: str, amount: str) -> None:
    scalar: Any = SCALARS[Decimal]
    assert scalar.parse_value(given) == scalar.parse_literal(parse_value(literal)) == PythonDecimal(amount)


NO_AMOUNTS = ["", "four", "1" * 65, True, None, [], {}, 10**18, 10**5000, float("inf"), float("nan")]


@pytest.mark.parametrize("given", NO_AMOUNTS, ids=range(len(NO_AMOUNTS)))
def test_anything_else_is_no_amount(given: Any) -> None:
    scalar: Any = SCALARS[Decimal]
    with pytest.raises(GraphQLError, match="Decimal must be a number"):
        scalar.parse_value(given)


@pytest.mark.parametrize("literal", ["true", "null", "[1]", "{a: 1}", "EUR"])
def test_other_literals_are_no_amounts(literal: str) -> None:
    scalar: Any = SCALARS[Decimal]
    with pytest.raises(GraphQLError, match="Decimal must be a number"):
        scalar.parse_literal(parse_value(literal))


def test_instants_are_written_in_utc() -> None:
    noon = datetime(2026, 8, 24, 12, 30, tzinfo=timezone(timedelta(hours=2)))
    assert instant_text(noon) == "2026-08-24T10:30:00Z"
    assert instant_text(noon.replace(microsecond=5)) == "2026-08-24T10:30:00.000005Z"


@pytest.mark.parametrize("text", ["2026-08-24T12:30:00+02:00", "2026-08-24T10:30:00Z", "20260824T103000Z"])
def test_an_instant_has_an_offset(text: str) -> None:
    scalar: Any = SCALARS[DateTime]
    assert scalar.parse_value(text) == datetime(2026, 8, 24, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "given", ["2026-08-24T12:30:00", "2026-08-24", "noon", "", 5, None, "0001-01-01T00:00:00+14:00"]
)
def test_anything_else_is_no_instant(given: Any) -> None:
    scalar: Any = SCALARS[DateTime]
    with pytest.raises(GraphQLError, match="DateTime must be an instant with an offset"):
        scalar.parse_value(given)
