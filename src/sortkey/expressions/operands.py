"""Operands compiled to closures: the value of a path, a placeholder or `size(…)`, for an item and its bindings."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Final, NamedTuple

from sortkey.expressions import errors
from sortkey.expressions.bindings import Bindings
from sortkey.expressions.compilation import Compilation
from sortkey.expressions.paths import find
from sortkey.expressions.tree import Call, Operand, Path, Value
from sortkey.values.attribute import AttributeValue, Item, type_of
from sortkey.values.size import base64_size

Getter = Callable[[Item, Bindings], AttributeValue | None]

_SIZED: Final = frozenset({"S", "B", "SS", "NS", "BS", "L", "M"})


class CompiledOperand(NamedTuple):
    """A compiled operand. What is known of it before an item is read lets an invalid request fail at once."""

    get: Getter
    path: Path | None = None
    value: Value | None = None
    type: str | None = None
    """The type of a function's result."""

    def require_type(self, compilation: Compilation, allowed: frozenset[str], operator: str) -> None:
        if self.value is not None:
            compilation.require_type(self.value, allowed, operator)
        elif self.type is not None and self.type not in allowed:
            raise errors.operand_type(operator, self.type)


def compile_operand(operand: Operand, compilation: Compilation) -> CompiledOperand:
    match operand:
        case Path():
            compilation.path(operand)
            return CompiledOperand(getter(operand), path=operand)
        case Value():
            compilation.value(operand)
            placeholder = operand.placeholder
            return CompiledOperand(lambda _item, bindings: bindings.values[placeholder], value=operand)
        case Call():
            return _compile_size(operand, compilation)


def _compile_size(call: Call, compilation: Compilation) -> CompiledOperand:
    """`size` is the only function that a condition may have as an operand."""
    # `map`, because a comprehension would be another call for each level of nesting.
    arguments = list(map(compile_operand, call.arguments, repeat(compilation)))
    compilation.count_operator()
    if len(arguments) != 1:
        raise errors.operand_count(call.function, len(arguments))
    arguments[0].require_type(compilation, _SIZED, call.function)
    get = arguments[0].get

    def size(item: Item, bindings: Bindings) -> AttributeValue | None:
        value = get(item, bindings)
        return None if value is None else _size(value)

    return CompiledOperand(size, type="N")


def _size(value: AttributeValue) -> AttributeValue | None:
    tag = type_of(value)
    if tag not in _SIZED:
        return None
    content = value[tag]
    if tag == "S":
        # Characters beyond the basic plane count twice: DynamoDB measures strings in UTF-16.
        length = len(content) if content.isascii() else len(content.encode("utf-16-le")) // 2
    else:
        length = base64_size(content) if tag == "B" else len(content)
    return {"N": str(length)}


def getter(path: Path) -> Getter:
    """Reads the value at a path; None if a step of it is missing or has the wrong type."""
    if len(path.parts) > 1:
        return lambda item, bindings: find(item, bindings.path(path))
    name = str(path.parts[0])
    if name[0] == "#":
        return lambda item, bindings: item.get(bindings.names[name])
    return lambda item, _bindings: item.get(name)
