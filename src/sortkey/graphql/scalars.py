"""Scalars of money and time: amounts are texts with two decimals, instants are ISO 8601 with an offset.

What a client sends is only checked for its type. A text that is no amount or no instant goes to the service as it is:
its words are those of REST, and it names all mistakes of a list, where GraphQL would stop at the first ones.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal as PythonDecimal
from typing import Any, Final, NewType

import strawberry
from graphql import GraphQLError, ValueNode
from graphql.language import FloatValueNode, IntValueNode, StringValueNode
from strawberry.schema.config import StrawberryConfig
from strawberry.types.scalar import ScalarDefinition

MAX_DIGITS: Final = 18
"""Of a number as it is written: longer ones take Python long to read."""
_INSTANT: Final = 'a text such as "2026-08-24T12:30:00+02:00"'

Decimal = NewType("Decimal", PythonDecimal)
DateTime = NewType("DateTime", datetime)


def amount_text(amount: PythonDecimal) -> str:
    """With two decimals. Amounts of the store have them already."""
    text = str(amount)
    return text if text[-3:-2] == "." else f"{amount:.2f}"


def instant_text(instant: datetime) -> str:
    """As msgspec writes instants in REST's answers."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _amount(value: Any) -> str | int | float:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return value
    raise GraphQLError('Decimal must be a number, or one as text such as "4.50".')


def _amount_literal(node: ValueNode, _variables: Any = None) -> str | int | float:
    match node:
        case StringValueNode():
            return node.value
        case IntValueNode() if len(node.value) <= MAX_DIGITS:
            return int(node.value)
        case FloatValueNode():
            return float(node.value)
    raise GraphQLError('Decimal must be a number, or one as text such as "4.50".', node)


def _instant(value: Any) -> datetime | str:
    if not isinstance(value, str):
        raise GraphQLError(f"DateTime must be {_INSTANT}.")
    try:
        instant = datetime.fromisoformat(value)
    except ValueError:
        return value
    return value if instant.tzinfo is None else instant


def _instant_literal(node: ValueNode, _variables: Any = None) -> datetime | str:
    if not isinstance(node, StringValueNode):
        raise GraphQLError(f"DateTime must be {_INSTANT}.", node)
    return _instant(node.value)


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
