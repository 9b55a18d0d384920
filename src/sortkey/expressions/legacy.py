"""The parameters that expressions replaced: Expected, AttributeUpdates, KeyConditions, QueryFilter, ScanFilter,
AttributesToGet. They compile to the same conditions, projections and updates; only their messages differ.

Each condition has an attribute's name (never a path), one of thirteen comparison operators and its arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from sortkey.errors import ValidationException
from sortkey.expressions.bindings import Bindings, name_error
from sortkey.expressions.condition import Condition, compile_condition
from sortkey.expressions.errors import InvalidExpression
from sortkey.expressions.key_condition import KeyCondition, KeyTerm
from sortkey.expressions.projection import Projection
from sortkey.expressions.tree import Between, Call, Comparator, Comparison, Junction, Membership, Not, Path, Value
from sortkey.expressions.tree import Condition as Tree
from sortkey.expressions.update import (
    TYPE_NAMES,
    CompiledUpdate,
    Compute,
    Merge,
    Update,
    add_to,
    compute_value,
    take_from,
)
from sortkey.values.attribute import (
    ORDERED_TYPES,
    PREFIX_TYPES,
    SET_TYPES,
    AttributeValue,
    compare,
    normalise_value,
    type_of,
)

Arguments = tuple[AttributeValue, ...]

_COMPARATORS: Final[dict[str, Comparator]] = {"EQ": "=", "NE": "<>", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
_KEY_OPERATORS: Final = {
    **_COMPARATORS,
    "BETWEEN": "BETWEEN",
    "BEGINS_WITH": "begins_with",
}
_COUNTS: Final = {"NULL": 0, "NOT_NULL": 0, "BETWEEN": 2}
"""How many arguments an operator takes: one if it is not listed, except that IN takes one or more."""

_ALLOWED: Final = {
    **dict.fromkeys(("LT", "LE", "GT", "GE", "BETWEEN", "IN"), ORDERED_TYPES),
    **dict.fromkeys(("CONTAINS", "NOT_CONTAINS"), ORDERED_TYPES | {"BOOL", "NULL"}),
    "BEGINS_WITH": PREFIX_TYPES,
}
"""The types of an operator's arguments; all types if it is not listed."""

_OPERATORS: Final = frozenset({*_KEY_OPERATORS, "NULL", "NOT_NULL", "CONTAINS", "NOT_CONTAINS", "IN"})
_ADD_TYPES: Final = SET_TYPES | {"N", "L"}


def expected(conditions: Mapping[str, Mapping[str, Any]], conditional_operator: str | None) -> Condition:
    """The condition of a write: for each attribute Value and Exists, or ComparisonOperator and AttributeValueList."""
    return _condition({name: _expectation(name, given) for name, given in conditions.items()}, conditional_operator)


def filters(conditions: Mapping[str, Mapping[str, Any]], conditional_operator: str | None) -> Condition:
    """QueryFilter or ScanFilter: which of the items read are returned."""
    return _condition({name: _compared(given) for name, given in conditions.items()}, conditional_operator)


def key_conditions(conditions: Mapping[str, Mapping[str, Any]]) -> KeyCondition:
    compared = {name: _compared(given) for name, given in conditions.items()}
    terms = {
        name: KeyTerm(name, _KEY_OPERATORS.get(operator, operator), arguments)
        for name, (operator, arguments) in compared.items()
    }
    return KeyCondition(lambda: terms)


def attributes_to_get(names: Sequence[str]) -> Projection:
    if not names:
        raise ValidationException("AttributesToGet cannot be empty")
    for position, name in enumerate(names):
        _check_name(name)
        if name in names[:position]:
            raise _invalid(f"Duplicate value in attribute name: {name}")
    return Projection([(name,) for name in names])


def attribute_updates(updates: Mapping[str, Mapping[str, Any]]) -> Update:
    assignments: list[tuple[int, Compute]] = []
    merges: list[tuple[int, Merge, str]] = []
    removals: list[int] = []
    values: dict[str, AttributeValue] = {}
    for index, (name, given) in enumerate(updates.items()):
        _check_name(name)
        action = given.get("Action") or "PUT"
        if given.get("Value") is None:
            if action != "DELETE":
                raise _invalid("Only DELETE action is allowed when no attribute value is specified")
            removals.append(index)
            continue
        placeholder = f":{index}"
        value = values[placeholder] = normalise_value(given["Value"])
        if action == "PUT":
            assignments.append((index, compute_value(placeholder)))
        else:
            merges.append((index, _merge(action, type_of(value)), placeholder))
    program = CompiledUpdate((), tuple(assignments), tuple(merges), tuple(removals))
    return Update(program, [(name,) for name in updates], Bindings(None, values or None))


def _merge(action: str, tag: str) -> Merge:
    allowed, rule = (_ADD_TYPES, "ADD action") if action == "ADD" else (SET_TYPES, "DELETE action with value")
    if tag not in allowed:
        raise _invalid(f"{rule} is not supported for the type {TYPE_NAMES[tag]}")
    merge: Merge = take_from
    if action == "ADD":
        merge = _extend if tag == "L" else add_to

    def merged(existing: AttributeValue | None, operand: AttributeValue) -> AttributeValue | None:
        if existing is not None and tag not in existing:
            raise ValidationException("Type mismatch for attribute to update")
        return merge(existing, operand)

    return merged


def _extend(existing: AttributeValue | None, operand: AttributeValue) -> AttributeValue:
    return operand if existing is None else {"L": [*existing["L"], *operand["L"]]}


# conditions


def _expectation(name: str, given: Mapping[str, Any]) -> tuple[str, Arguments]:
    """Translates the older form, Exists and Value, to an operator and its arguments."""
    value, listed, exists = given.get("Value"), given.get("AttributeValueList"), given.get("Exists")
    if value is not None and listed is not None:
        raise _invalid(f"Value and AttributeValueList cannot be used together for Attribute: {name}")
    operator = given.get("ComparisonOperator")
    if operator is None:
        if listed is not None:
            raise _invalid(f"AttributeValueList can only be used with a ComparisonOperator for Attribute: {name}")
        return _presence(name, exists, value)
    if exists is not None:
        raise _invalid(f"Exists and ComparisonOperator cannot be used together for Attribute: {name}")
    if value is None and listed is None and _COUNTS.get(operator) != 0:
        raise _invalid(
            f"Value or AttributeValueList must be used with ComparisonOperator: {operator} for Attribute: {name}"
        )
    return _compared({"ComparisonOperator": operator, "AttributeValueList": listed if value is None else [value]})


def _presence(name: str, exists: bool | None, value: AttributeValue | None) -> tuple[str, Arguments]:
    if exists is False:
        if value is not None:
            raise _invalid(f"Value cannot be used when Exists is false for Attribute: {name}")
        return "NULL", ()
    if value is None:
        given = "null" if exists is None else "true"
        raise _invalid(f"Value must be provided when Exists is {given} for Attribute: {name}")
    return "EQ", (normalise_value(value),)


def _compared(given: Mapping[str, Any]) -> tuple[str, Arguments]:
    operator = given.get("ComparisonOperator")
    if operator not in _OPERATORS:
        raise ValidationException("Comparison type does not exist in DynamoDB")
    arguments = tuple(normalise_value(value) for value in given.get("AttributeValueList") or ())
    count = _COUNTS.get(operator, 1)
    if len(arguments) != count and not (operator == "IN" and arguments):
        raise _invalid(f"Invalid number of argument(s) for the {operator} ComparisonOperator")
    _check_types(operator, arguments)
    return operator, arguments


def _check_types(operator: str, arguments: Arguments) -> None:
    types = [type_of(argument) for argument in arguments]
    for tag in types:
        if operator in _ALLOWED and tag not in _ALLOWED[operator]:
            raise _invalid(f"ComparisonOperator {operator} is not valid for {tag} AttributeValue type")
    if len(set(types)) > 1:
        raise _invalid("AttributeValues inside AttributeValueList must be of same type")
    if operator == "BETWEEN" and (compare(*arguments) or 0) > 0:
        raise ValidationException(
            "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
        )


def _condition(compared: Mapping[str, tuple[str, Arguments]], conditional_operator: str | None) -> Condition:
    for name in compared:
        _check_name(name)
    if conditional_operator is not None and len(compared) < 2:
        raise ValidationException(
            "ConditionalOperator can only be used when Filter or Expected has two or more elements"
        )
    names: dict[str, str] = {}
    values: dict[str, AttributeValue] = {}
    trees: list[Tree] = []
    for name, (operator, arguments) in compared.items():
        path = Path((f"#{len(names)}",))
        names[f"#{len(names)}"] = name
        bound = [Value(f":{len(values) + offset}") for offset in range(len(arguments))]
        values.update({value.placeholder: argument for value, argument in zip(bound, arguments, strict=True)})
        trees.append(_tree(operator, path, bound))
    junction: Literal["AND", "OR"] = "OR" if conditional_operator == "OR" else "AND"
    try:
        return compile_condition(Junction(junction, tuple(trees))).bind(Bindings(names or None, values or None))
    except InvalidExpression as error:
        # There is no expression to be named: the parameter alone may have too many conditions.
        raise ValidationException(str(error)) from error


def _tree(operator: str, path: Path, arguments: Sequence[Value]) -> Tree:
    match operator:
        case "NULL":
            return Call("attribute_not_exists", (path,))
        case "NOT_NULL":
            return Call("attribute_exists", (path,))
        case "CONTAINS":
            return Call("contains", (path, *arguments))
        case "NOT_CONTAINS":
            # Unlike a negated `contains`, it is false for a missing attribute.
            absent = Not(Call("contains", (path, *arguments)))
            return Junction("AND", (Call("attribute_exists", (path,)), absent))
        case "BEGINS_WITH":
            return Call("begins_with", (path, *arguments))
        case "IN":
            return Membership(path, tuple(arguments))
        case "BETWEEN":
            return Between(path, arguments[0], arguments[1])
        case _:
            return Comparison(_COMPARATORS[operator], path, arguments[0])


def _check_name(name: str) -> None:
    if error := name_error(name):
        raise ValidationException(error)


def _invalid(error: str) -> ValidationException:
    return ValidationException(f"One or more parameter values were invalid: {error}")
