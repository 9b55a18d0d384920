"""The right-hand side of SET: values, other attributes, `if_not_exists`, `list_append`, sums and differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

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
    """A right-hand side; `compute` may be called for items that have all that is required."""

    compute: Compute
    required: tuple[DocumentPath, ...]
    type: str | None = None
    path: DocumentPath | None = None


def wrong_type() -> ValidationException:
    return ValidationException("An operand in the update expression has an incorrect data type")


def check_required(item: Item, assigned: Assigned) -> None:
    for path in assigned.required:
        if find(item, path) is None:
            raise ValidationException("The provided expression refers to an attribute that does not exist in the item")


def compile_assigned(value: Operand | Arithmetic, scope: Scope) -> Assigned:
    match value:
        case Path():
            path = scope.path(value)
            return Assigned(lambda item: _existing(item, path), (path,), path=path)
        case Value():
            constant = scope.value(value)
            return Assigned(lambda _item: constant, (), type_of(constant))
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
    assert value is not None, "check_required comes first"
    return value


def _compile_arithmetic(tree: Arithmetic, scope: Scope) -> Assigned:
    left, right = compile_assigned(tree.left, scope), compile_assigned(tree.right, scope)
    scope.count_operator()
    _check_types(tree.operator, "N", left, right)
    apply = _ARITHMETIC[tree.operator]

    def compute(item: Item) -> AttributeValue:
        a, b = left.compute(item), right.compute(item)
        if "N" not in a or "N" not in b:
            raise wrong_type()
        return {"N": apply(a["N"], b["N"])}

    return Assigned(compute, left.required + right.required)


def _compile_append(first: Assigned, second: Assigned) -> Assigned:
    _check_types("list_append", "L", first, second)

    def compute(item: Item) -> AttributeValue:
        a, b = first.compute(item), second.compute(item)
        if "L" not in a or "L" not in b:
            raise wrong_type()
        return {"L": [*a["L"], *b["L"]]}

    return Assigned(compute, first.required + second.required)


def _compile_default(attribute: Assigned, default: Assigned) -> Assigned:
    path = attribute.path
    if path is None:
        raise faults.not_a_path("if_not_exists")
    if default.path == path:
        raise faults.not_distinct("if_not_exists", spell(path))

    def compute(item: Item) -> AttributeValue:
        value = find(item, path)
        return default.compute(item) if value is None else value

    # The default is looked at even where it is not needed: a missing one fails the update all the same.
    return Assigned(compute, default.required)


def _check_types(operator: str, tag: str, *operands: Assigned) -> None:
    for operand in operands:
        if operand.type is not None and operand.type != tag:
            raise faults.operand_type(operator, operand.type)
