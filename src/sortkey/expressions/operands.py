"""Operands compiled to closures: what a path, a value or `size(…)` yields for one item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from sortkey import limits
from sortkey.expressions import faults
from sortkey.expressions.bindings import Bindings, DocumentPath
from sortkey.expressions.tree import Call, Operand, Path, Value
from sortkey.values.attribute import AttributeValue, Item, type_of
from sortkey.values.size import base64_size

Getter = Callable[[Item], AttributeValue | None]

_SIZED: Final = frozenset({"S", "B", "SS", "NS", "BS", "L", "M"})


class Compiled(NamedTuple):
    """An operand; what is known of it before any item is seen lets a wrong request fail at once."""

    get: Getter
    type: str | None
    path: DocumentPath | None
    constant: AttributeValue | None


class Scope:
    """What one expression is compiled in: the request's bindings, and what has been seen of it so far."""

    def __init__(self, bindings: Bindings) -> None:
        self._bindings = bindings
        self._operators = 0
        self.attributes: set[str] = set()
        self.nested: set[str] = set()

    def count_operator(self) -> None:
        self._operators += 1
        if self._operators > limits.EXPRESSION_OPERATORS:
            raise faults.too_many_operators()

    def path(self, path: Path) -> DocumentPath:
        resolved = self._bindings.path(path)
        self.attributes.add(str(resolved[0]))
        if len(resolved) > 1:
            self.nested.add(str(resolved[0]))
        return resolved

    def value(self, value: Value) -> AttributeValue:
        return self._bindings.value(value)


def compile_operand(operand: Operand, scope: Scope) -> Compiled:
    match operand:
        case Path():
            path = scope.path(operand)
            return Compiled(getter(path), None, path, None)
        case Value():
            value = scope.value(operand)
            return Compiled(lambda _item: value, type_of(value), None, value)
        case Call():
            return _compile_size(operand, scope)


def _compile_size(call: Call, scope: Scope) -> Compiled:
    """`size` is the one function that is an operand of conditions."""
    arguments = [compile_operand(argument, scope) for argument in call.arguments]
    scope.count_operator()
    if len(arguments) != 1:
        raise faults.operand_count(call.function, len(arguments))
    known = arguments[0].type
    if known is not None and known not in _SIZED:
        raise faults.operand_type(call.function, known)
    get = arguments[0].get

    def size(item: Item) -> AttributeValue | None:
        value = get(item)
        return None if value is None else _size(value)

    return Compiled(size, "N", None, None)


def _size(value: AttributeValue) -> AttributeValue | None:
    tag = type_of(value)
    if tag not in _SIZED:
        return None
    content = value[tag]
    if tag == "S":
        # Characters beyond the basic plane count twice: the service measures strings in UTF-16.
        length = len(content) if content.isascii() else len(content.encode("utf-16-le")) // 2
    else:
        length = base64_size(content) if tag == "B" else len(content)
    return {"N": str(length)}


def getter(path: DocumentPath) -> Getter:
    """What stands at a path; None when any step of it is missing or of the wrong type."""
    if len(path) == 1:
        name = str(path[0])
        return lambda item: item.get(name)
    return lambda item: find(item, path)


def find(item: Item, path: DocumentPath) -> AttributeValue | None:
    value: AttributeValue = {"M": item}
    for part in path:
        found = step(value, part)
        if found is None:
            return None
        value = found
    return value


def step(value: AttributeValue, part: str | int) -> AttributeValue | None:
    """One step down a document; only maps have members and only lists have elements."""
    found: AttributeValue | None = None
    if isinstance(part, str):
        found = value["M"].get(part) if "M" in value else None
    elif "L" in value and part < len(value["L"]):
        found = value["L"][part]
    return found
