"""The right-hand side of SET: values, other attributes, `if_not_exists`, `list_append`, sums and differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from sortkey.errors import ValidationException
from sortkey.expressions import faults
from sortkey.expressions.bindings import DocumentPath
from sortkey.expressions.operands import Scope, find
from sortkey.expressions.paths import spell
from sortkey.expressions.tree import Arithmetic, Call, Operand, Path, Value
from sortkey.values import number
from sortkey.values.attribute import AttributeValue, Item, type_of

Compute = Callable[[Item], AttributeValue]

_ARITHMETIC: Final = {"+": number.add, "-": number.subtract}


class Assigned(NamedTuple):
    """A right-hand side, with what is known of it before any item is seen."""

    compute: Compute
    type: str | None = None
    path: DocumentPath | None = None


def wrong_type() -> ValidationException:
    return ValidationException("An operand in the update expression has an incorrect data type")


def compile_assigned(value: Operand | Arithmetic, scope: Scope) -> Assigned:
    match value:
        case Path():
            path = scope.path(value)
            return Assigned(lambda item: _existing(item, path), path=path)
        case Value():
            constant = scope.value(value)
            return Assigned(lambda _item: constant, type_of(constant))
        case Arithmetic():
            return _compile_arithmetic(value, scope)
        case Call():
            arguments = [compile_assigned(argument, scope) for argument in value.arguments]
            scope.count_operator()
            if len(arguments) != 2:
                raise faults.operand_count(value.function, len(arguments))
            compile_call = _compile_append if value.function == "list_append" else _compile_default
            return compile_call(*arguments)


def _existing(item: Item, path: DocumentPath) -> AttributeValue:
    value = find(item, path)
    if value is None:
        raise ValidationException("The provided expression refers to an attribute that does not exist in the item")
    return value


def _content(operand: Assigned, item: Item, tag: str) -> Any:
    value = operand.compute(item)
    if tag not in value:
        raise wrong_type()
    return value[tag]


def _compile_arithmetic(tree: Arithmetic, scope: Scope) -> Assigned:
    left, right = compile_assigned(tree.left, scope), compile_assigned(tree.right, scope)
    scope.count_operator()
    _check_types(tree.operator, "N", left, right)
    apply = _ARITHMETIC[tree.operator]

    return Assigned(lambda item: {"N": apply(_content(left, item, "N"), _content(right, item, "N"))})


def _compile_append(first: Assigned, second: Assigned) -> Assigned:
    _check_types("list_append", "L", first, second)

    return Assigned(lambda item: {"L": [*_content(first, item, "L"), *_content(second, item, "L")]})


def _compile_default(attribute: Assigned, default: Assigned) -> Assigned:
    path = attribute.path
    if path is None:
        raise faults.not_a_path("if_not_exists")
    if default.path == path:
        raise faults.not_distinct("if_not_exists", spell(path))

    def compute(item: Item) -> AttributeValue:
        # The default is looked at even where it is not needed: a missing one fails the update all the same.
        otherwise = default.compute(item)
        value = find(item, path)
        return otherwise if value is None else value

    return Assigned(compute)


def _check_types(operator: str, tag: str, *operands: Assigned) -> None:
    for operand in operands:
        if operand.type is not None and operand.type != tag:
            raise faults.operand_type(operator, operand.type)
