"""Amounts and instants, as clients write and read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal as PythonDecimal
from typing import Any

import pytest
from graphql import GraphQLError, parse_value

from sortkey.graphql.schema import SCALARS, DateTime, Decimal, amount_text, instant_text

AMOUNT: Any = SCALARS[Decimal]
INSTANT: Any = SCALARS[DateTime]


@pytest.mark.parametrize(
    ("amount", "text"),
    [("4.50", "4.50"), ("0", "0.00"), ("5", "5.00"), ("1E+3", "1000.00"), ("-0.5", "-0.50"), ("1.234", "1.23")],
)
def test_amounts_have_two_decimals(amount: str, text: str) -> None:
    assert amount_text(PythonDecimal(amount)) == text


# The service says what is wrong with a text, as it does in REST, and lists all mistakes.
@pytest.mark.parametrize(
    ("given", "literal"), [("4.50", '"4.50"'), (4.5, "4.5"), (4, "4"), (100.0, "1e2"), (-3, "-3"), ("cheap", '"cheap"')]
)
def test_an_amount_goes_to_the_service_as_it_is(given: Any, literal: str) -> None:
    assert AMOUNT.parse_value(given) == AMOUNT.parse_literal(parse_value(literal)) == given


@pytest.mark.parametrize("given", [True, None, [], {}])
def test_other_types_are_no_amounts(given: Any) -> None:
    with pytest.raises(GraphQLError, match="Decimal must be a number"):
        AMOUNT.parse_value(given)


@pytest.mark.parametrize("literal", ["true", "null", "[1]", "{a: 1}", "EUR", "1" * 19, "1" * 5000])
def test_other_literals_are_no_amounts(literal: str) -> None:
    with pytest.raises(GraphQLError, match="Decimal must be a number"):
        AMOUNT.parse_literal(parse_value(literal))


def test_instants_are_written_in_utc() -> None:
    noon = datetime(2026, 8, 24, 12, 30, tzinfo=timezone(timedelta(hours=2)))
    assert instant_text(noon) == "2026-08-24T10:30:00Z"
    assert instant_text(noon.replace(microsecond=5)) == "2026-08-24T10:30:00.000005Z"


@pytest.mark.parametrize("text", ["2026-08-24T12:30:00+02:00", "2026-08-24T10:30:00Z", "20260824T103000Z"])
def test_an_instant_has_an_offset(text: str) -> None:
    expected = datetime(2026, 8, 24, 10, 30, tzinfo=UTC)
    assert INSTANT.parse_value(text) == INSTANT.parse_literal(parse_value(f'"{text}"')) == expected


@pytest.mark.parametrize("text", ["2026-08-24T12:30:00", "2026-08-24", "noon", ""])
def test_a_text_that_is_no_instant_goes_to_the_service(text: str) -> None:
    assert INSTANT.parse_value(text) == INSTANT.parse_literal(parse_value(f'"{text}"')) == text


@pytest.mark.parametrize("given", [5, None, True, []])
def test_other_types_are_no_instants(given: Any) -> None:
    with pytest.raises(GraphQLError, match="DateTime must be a text"):
        INSTANT.parse_value(given)
    with pytest.raises(GraphQLError, match="DateTime must be a text"):
        INSTANT.parse_literal(parse_value("5"))
