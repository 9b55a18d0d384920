"""Errors in an expression, before the name of its parameter is known."""

from __future__ import annotations

from sortkey import limits


class InvalidExpression(Exception):
    """Becomes `Invalid ConditionExpression: …`, by the name of the parameter that holds the expression."""


def too_many_operators() -> InvalidExpression:
    return InvalidExpression(
        f"The expression contains too many operators; operator count: {limits.EXPRESSION_OPERATORS + 1}"
    )


def operand_type(operator: str, found: str) -> InvalidExpression:
    return InvalidExpression(
        f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: {found}"
    )


def operand_count(function: str, count: int) -> InvalidExpression:
    return InvalidExpression(
        "Incorrect number of operands for operator or function; "
        f"operator or function: {function}, number of operands: {count}"
    )


def not_a_path(function: str) -> InvalidExpression:
    return InvalidExpression(f"Operator or function requires a document path; operator or function: {function}")


def not_distinct(operator: str, path: str) -> InvalidExpression:
    return InvalidExpression(
        "The first operand must be distinct from the remaining operands for this operator or function; "
        f"operator: {operator}, first operand: {path}"
    )
