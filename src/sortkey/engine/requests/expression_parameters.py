"""A request's expression parameters, and the legacy parameters that they replaced.

A request uses either expressions or legacy parameters. Both compile to the same condition, projection, update or key
condition, so the operations do not see the difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sortkey.engine.requests.shapes import Shape, member_name
from sortkey.errors import ValidationException
from sortkey.expressions import Bindings, Condition, Projection, condition, legacy, projection
from sortkey.values.errors import InvalidRequest

VALUED: Final = (
    "update_expression",
    "filter_expression",
    "key_condition_expression",
    "condition_expression",
    "search_condition_expression",
)
"""Expressions that may hold values, in AWS's order."""


def bindings_of(request: Any, expressions: tuple[str, ...], legacy_fields: tuple[str, ...] = ()) -> Bindings | None:
    """The request's placeholders. None if it has no expressions; then it must not have placeholders either."""
    names = request.expression_attribute_names
    values = getattr(request, "expression_attribute_values", None)
    for field in expressions:
        if getattr(request, field) is not None:
            break
    else:
        if names is not None or values is not None:
            raise _no_expressions(names, expressions)
        return None
    legacy_used = [field for field in legacy_fields if getattr(request, field) is not None]
    if legacy_used:
        used = [field for field in expressions if getattr(request, field) is not None]
        raise InvalidRequest(
            "Can not use both expression and non-expression parameters in the same request: "
            f"Non-expression parameters: {{{_listed(legacy_used)}}} Expression parameters: {{{_listed(used)}}}"
        )
    return Bindings(names, values)


def bindings_of_part(request: Any, expressions: tuple[str, ...]) -> Bindings | None:
    """As `bindings_of`, of a part of a transaction. If it has no expressions, AWS ignores its placeholders."""
    if all(getattr(request, field) is None for field in expressions):
        return None
    return bindings_of(request, expressions)


def _no_expressions(names: object, expressions: tuple[str, ...]) -> InvalidRequest:
    if names is not None:
        return InvalidRequest("ExpressionAttributeNames can only be specified when using expressions")
    missing = [member_name(field) for field in VALUED if field in expressions]
    verb = "is" if len(missing) == 1 else "are"
    return InvalidRequest(
        f"ExpressionAttributeValues can only be specified when using expressions: {' and '.join(missing)} {verb} null"
    )


def _listed(fields: list[str]) -> str:
    return ", ".join(member_name(field) for field in fields)


def condition_of(request: Any, bindings: Bindings | None) -> Condition | None:
    """The condition of a put, update or delete: ConditionExpression, or Expected."""
    if request.condition_expression is not None and bindings is not None:
        return condition(request.condition_expression, bindings, "ConditionExpression")
    expected = getattr(request, "expected", None)
    operator = getattr(request, "conditional_operator", None)
    if expected:
        return legacy.expected(to_members(expected), operator)
    _check_no_operator(operator)
    return None


def only_condition(request: Any) -> Condition | None:
    """The condition of a request that has no other expression."""
    bindings = bindings_of(request, ("condition_expression",), ("expected", "conditional_operator"))
    compiled = condition_of(request, bindings)
    if bindings is not None:
        bindings.check_all_used()
    return compiled


def filter_of(request: Any, bindings: Bindings | None, legacy_field: str) -> Condition | None:
    """The filter of a Query or Scan: FilterExpression, or QueryFilter and ScanFilter."""
    if request.filter_expression is not None and bindings is not None:
        return condition(request.filter_expression, bindings, "FilterExpression")
    conditions = getattr(request, legacy_field)
    if conditions:
        return legacy.filters(to_members(conditions), request.conditional_operator)
    _check_no_operator(request.conditional_operator)
    return None


def projection_of(request: Any, bindings: Bindings | None) -> Projection | None:
    """The attributes to return: ProjectionExpression, or AttributesToGet."""
    if request.projection_expression is not None and bindings is not None:
        return projection(request.projection_expression, bindings)
    names = getattr(request, "attributes_to_get", None)
    return None if names is None else legacy.attributes_to_get(names)


def only_projection(request: Any, legacy_fields: tuple[str, ...] = ("attributes_to_get",)) -> Projection | None:
    """The projection of a request that has no other expression."""
    bindings = bindings_of(request, ("projection_expression",), legacy_fields)
    compiled = projection_of(request, bindings)
    if bindings is not None:
        bindings.check_all_used()
    return compiled


def _check_no_operator(operator: str | None) -> None:
    if operator is not None:
        raise ValidationException("ConditionalOperator cannot be used without Filter or Expected")


def to_members(shapes: Mapping[str, Shape]) -> dict[str, dict[str, Any]]:
    """Request structures as dictionaries of AWS's members, without those that are absent."""
    return {
        name: {
            member: value
            for field, member in zip(shape.__struct_fields__, shape.__struct_encode_fields__, strict=True)
            if (value := getattr(shape, field)) is not None
        }
        for name, shape in shapes.items()
    }
