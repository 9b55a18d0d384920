"""Rules that a tree must obey in every request: no reserved names, list indexes in range, functions where allowed.

Trees are walked in the order of their text, a function before its arguments, so that the first error found is the one
that DynamoDB reports.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sortkey.expressions.errors import InvalidExpression
from sortkey.expressions.reserved_words import is_reserved
from sortkey.expressions.tree import (
    Action,
    Arithmetic,
    Call,
    Condition,
    Junction,
    Not,
    Operand,
    Path,
    Set,
)

PREDICATES: Final = frozenset({"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains"})
UPDATE_FUNCTIONS: Final = frozenset({"if_not_exists", "list_append"})
_FUNCTIONS: Final = PREDICATES | UPDATE_FUNCTIONS | {"size"}
_LARGEST_INDEX: Final = 2**31 - 1


def check_path(path: Path) -> None:
    for part in path.parts:
        if isinstance(part, int):
            if part > _LARGEST_INDEX:
                raise InvalidExpression(f"List index is not within the allowable range; index: [{part}]")
        elif is_reserved(part):
            raise InvalidExpression(f"Attribute name is a reserved keyword; reserved keyword: {part}")


def check_condition(condition: Condition) -> None:
    match condition:
        case Junction():
            for part in condition.conditions:
                check_condition(part)
        case Not():
            check_condition(condition.condition)
        case Call():
            _check_condition_function(condition.function)
            if condition.function not in PREDICATES:
                raise _misplaced(condition.function)
            _check_operands(condition.arguments)
        case _:
            _check_operands(condition.operands)


def _check_operands(operands: Iterable[Operand]) -> None:
    for operand in operands:
        if isinstance(operand, Path):
            check_path(operand)
        elif isinstance(operand, Call):
            _check_condition_function(operand.function)
            if operand.function in PREDICATES:
                raise _misplaced(operand.function)
            _check_operands(operand.arguments)


def _check_condition_function(function: str) -> None:
    _check_known(function)
    if function in UPDATE_FUNCTIONS:
        raise InvalidExpression(f"The function is not allowed in a condition expression; function: {function}")


def check_update(actions: Iterable[Action]) -> None:
    for action in actions:
        check_path(action.path)
        if isinstance(action, Set):
            _check_assigned(action.value)


def _check_assigned(value: Operand | Arithmetic) -> None:
    if isinstance(value, Arithmetic):
        _check_update_operand(value.left)
        _check_update_operand(value.right)
    else:
        _check_update_operand(value, whole=True)


def _check_update_operand(operand: Operand, *, whole: bool = False) -> None:
    """`whole`: the operand is the whole assigned value, the only place where `list_append` is allowed."""
    if isinstance(operand, Path):
        check_path(operand)
    elif isinstance(operand, Call):
        _check_known(operand.function)
        if operand.function not in UPDATE_FUNCTIONS:
            raise InvalidExpression(
                f"The function is not allowed in an update expression; function: {operand.function}"
            )
        if operand.function == "list_append" and not whole:
            raise _misplaced(operand.function)
        for argument in operand.arguments:
            _check_update_operand(argument)


def _check_known(function: str) -> None:
    if function not in _FUNCTIONS:
        raise InvalidExpression(f"Invalid function name; function: {function}")


def _misplaced(function: str) -> InvalidExpression:
    return InvalidExpression(f"The function is not allowed to be used this way in an expression; function: {function}")
