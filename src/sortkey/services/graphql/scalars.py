"""Scalars of money and time: amounts are texts with two decimals, instants are ISO 8601 with an offset."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal as PythonDecimal
from decimal import InvalidOperation
from typing import Any, Final, NewType

import strawberry
from graphql import GraphQLError, ValueNode
from graphql.language import FloatValueNode, IntValueNode, StringValueNode, print_ast
from strawberry.schema.config import StrawberryConfig
from strawberry.types.scalar import ScalarDefinition

MAX_DIGITS: Final = 64
"""Of an amount as it is written: an exponent could make any number of them."""

_LARGE: Final = 10**18

Decimal = NewType("Decimal", PythonDecimal)
DateTime = NewType("DateTime", datetime)


def amount_text(amount: PythonDecimal) -> str:
    """With two decimals. Amounts of the store have them already."""
    text = str(amount)
    return text if text[-3:-2] == "." else f"{amount:.2f}"


def instant_text(instant: datetime) -> str:
    """As msgspec writes instants in REST's answers."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _amount(value: Any) -> PythonDecimal:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        text = value if isinstance(value, str) else repr(value) if -_LARGE < value < _LARGE else ""
        try:
            if 0 < len(text) <= MAX_DIGITS:
                return PythonDecimal(text)
        except InvalidOperation:
            pass
    raise GraphQLError(f'Decimal must be a number, or one as text such as "4.50", not {_shown(value)}.')


def _amount_literal(node: ValueNode, _variables: Any = None) -> PythonDecimal:
    if isinstance(node, StringValueNode | IntValueNode | FloatValueNode):
        return _amount(node.value)
    raise GraphQLError(f'Decimal must be a number, or one as text such as "4.50", not {print_ast(node)}.')


def _instant(value: Any) -> datetime:
    if isinstance(value, str):
        try:
            instant = datetime.fromisoformat(value)
            if instant.tzinfo is not None:
                return instant.astimezone(UTC)
        except (ValueError, OverflowError):
            pass
    raise GraphQLError(
        f'DateTime must be an instant with an offset, such as "2026-08-24T12:30:00+02:00", not {_shown(value)}.'
    )


def _instant_literal(node: ValueNode, _variables: Any = None) -> datetime:
    return _instant(node.value if isinstance(node, StringValueNode) else print_ast(node))


def _shown(value: Any) -> str:
    if isinstance(value, int) and not -_LARGE < value < _LARGE:
        return "one so large"
    text = repr(value)
    return text if len(text) <= MAX_DIGITS else f"{text[:MAX_DIGITS]}…"


SCALARS: Final[dict[object, ScalarDefinition]] = {
    Decimal: strawberry.scalar(
        name="Decimal",
        description="A number with two decimals, as text.",
        serialize=amount_text,
        parse_value=_amount,
        parse_literal=_amount_literal,
    ),
    DateTime: strawberry.scalar(
        name="DateTime",
        description="An instant in ISO 8601, with an offset.",
        serialize=instant_text,
        parse_value=_instant,
        parse_literal=_instant_literal,
    ),
}

CONFIG: Final = StrawberryConfig(scalar_map=SCALARS)
