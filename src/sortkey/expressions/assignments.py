"""The right-hand side of SET: values, other attributes, `if_not_exists`, `list_append`, sums and differences."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any, Final, NamedTuple

from sortkey.errors import ValidationException
from sortkey.expressions import errors
from sortkey.expressions.bindings import Bindings
from sortkey.expressions.compilation import Compilation
from sortkey.expressions.operands import Getter, getter
from sortkey.expressions.tree import Arithmetic, Call, Operand, Path, Value
from sortkey.values import number
from sortkey.values.attribute import AttributeValue, Item

Compute = Callable[[Item, Bindings], AttributeValue]

_ARITHMETIC: Final = {"+": number.add, "-": number.subtract}
_NUMBER: Final = frozenset({"N"})
_LIST: Final = frozenset({"L"})


class Assigned(NamedTuple):
    """A compiled right-hand side; `path` or `value` is set if it is nothing else."""

    compute: Compute
    path: Path | None = None
    value: Value | None = None


def wrong_type() -> ValidationException:
    return ValidationException("An operand in the update expression has an incorrect data type")


def compile_assigned(value: Operand | Arithmetic, compilation: Compilation) -> Assigned:
    match value:
        case Path():
            compilation.path(value)
            return Assigned(_existing(getter(value)), path=value)
        case Value():
            compilation.value(value)
            return Assigned(compute_value(value.placeholder), value=value)
        case Arithmetic():
            return _compile_arithmetic(value, compilation)
        case Call():
            # `map`, because a comprehension would be another call for each level of nesting.
            arguments = list(map(compile_assigned, value.arguments, repeat(compilation)))
            compilation.count_operator()
            if len(arguments) != 2:
                raise errors.operand_count(value.function, len(arguments))
            compile_call = _compile_append if value.function == "list_append" else _compile_default
            return compile_call(compilation, *arguments)


def compute_value(placeholder: str) -> Compute:
    return lambda _item, bindings: bindings.values[placeholder]


def _existing(get: Getter) -> Compute:
    def existing(item: Item, bindings: Bindings) -> AttributeValue:
        value = get(item, bindings)
        if value is None:
            raise ValidationException("The provided expression refers to an attribute that does not exist in the item")
        return value

    return existing


def _content(value: AttributeValue, tag: str) -> Any:
    if tag not in value:
        raise wrong_type()
    return value[tag]


def _compile_arithmetic(tree: Arithmetic, compilation: Compilation) -> Assigned:
    left, right = compile_assigned(tree.left, compilation), compile_assigned(tree.right, compilation)
    compilation.count_operator()
    _require_types(compilation, tree.operator, _NUMBER, left, right)
    apply, a, b = _ARITHMETIC[tree.operator], left.compute, right.compute

    def compute(item: Item, bindings: Bindings) -> AttributeValue:
        return {"N": apply(_content(a(item, bindings), "N"), _content(b(item, bindings), "N"))}

    return Assigned(compute)


def _compile_append(compilation: Compilation, first: Assigned, second: Assigned) -> Assigned:
    _require_types(compilation, "list_append", _LIST, first, second)
    a, b = first.compute, second.compute

    def compute(item: Item, bindings: Bindings) -> AttributeValue:
        return {"L": [*_content(a(item, bindings), "L"), *_content(b(item, bindings), "L")]}

    return Assigned(compute)


def _compile_default(compilation: Compilation, attribute: Assigned, default: Assigned) -> Assigned:
    path = attribute.path
    if path is None:
        raise errors.not_a_path("if_not_exists")
    if default.path is not None:
        compilation.require_distinct(path, [default.path], "if_not_exists")
    get = getter(path)

    def compute(item: Item, bindings: Bindings) -> AttributeValue:
        # The default is evaluated even if it is not needed: a missing attribute in it fails the update all the same.
        otherwise = default.compute(item, bindings)
        value = get(item, bindings)
        return otherwise if value is None else value

    return Assigned(compute)


def _require_types(compilation: Compilation, operator: str, allowed: frozenset[str], *operands: Assigned) -> None:
    for operand in operands:
        if operand.value is not None:
            compilation.require_type(operand.value, allowed, operator)
