"""Compiles the operands of expressions to closures: the value of a path, a placeholder or `size(…)`, for an item and
its bindings.

An expression is compiled once per text and serves all requests with that text, so closures take the request's bindings
along with the item. Errors that depend on the request become checks, in the order in which DynamoDB looks for them, so
that a request gets the same error whether its text was cached or not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from itertools import repeat
from typing import Final, NamedTuple, TypeVar

from sortkey import limits
from sortkey.expressions import errors
from sortkey.expressions.bindings import Bindings
from sortkey.expressions.errors import InvalidExpression
from sortkey.expressions.paths import find, spell
from sortkey.expressions.tree import Call, Operand, Path, Value
from sortkey.values.attribute import AttributeValue, Item, type_of
from sortkey.values.size import base64_size

CACHED_TEXTS: Final = 512
"""How many compiled texts are kept, for each type of expression."""
CACHED_LONG_TEXTS: Final = 48
"""How many of them may be long. What is compiled from a text takes up to 150 times its size."""
LONG_TEXT: Final = 256

Check = Callable[[Bindings], object]
"""Raises InvalidExpression."""
Compiled = TypeVar("Compiled")


def cached_by_text(compile_text: Callable[[str], Compiled]) -> Callable[[str], Compiled]:
    """The function with a cache that is bounded in memory, too: texts can be chosen so that each costs 300 KB."""
    short = lru_cache(maxsize=CACHED_TEXTS)(compile_text)
    long = lru_cache(maxsize=CACHED_LONG_TEXTS)(compile_text)

    @wraps(compile_text)
    def compiled(text: str) -> Compiled:
        return short(text) if len(text) <= LONG_TEXT else long(text)

    return compiled


class Compilation:
    """The state of compiling one expression: what it has read so far, and the checks that each request must pass."""

    def __init__(self) -> None:
        self._operators = 0
        self.evaluations = 0
        """How much there is to do for each item."""
        self._seen: set[Path | Value] = set()
        self._paths: list[Path] = []
        self.checks: list[Check] = []
        self.checks_content = False
        """Whether a check looks at what a value contains; the others look at its type."""

    def check_content(self, check: Check) -> None:
        self.checks.append(check)
        self.checks_content = True

    def count_operator(self) -> None:
        self._operators += 1
        self.evaluations += 1
        if self._operators > limits.EXPRESSION_OPERATORS:
            raise errors.too_many_operators()

    def path(self, path: Path) -> None:
        if path not in self._seen:
            self._seen.add(path)
            self._paths.append(path)
            self.checks.append(lambda bindings: bindings.path(path))

    def value(self, value: Value) -> None:
        if value not in self._seen:
            self._seen.add(value)
            self.checks.append(lambda bindings: bindings.value(value))

    def require_type(self, value: Value, allowed: frozenset[str], operator: str) -> None:
        placeholder = value.placeholder

        def check(bindings: Bindings) -> None:
            tag = type_of(bindings.values[placeholder])
            if tag not in allowed:
                raise errors.operand_type(operator, tag)

        self.checks.append(check)

    def require_distinct(self, path: Path, others: Sequence[Path], operator: str) -> None:
        def check(bindings: Bindings) -> None:
            found = bindings.path(path)
            if any(bindings.path(other) == found for other in others):
                raise errors.not_distinct(operator, spell(found))

        self.checks.append(check)

    def reject(self, error: InvalidExpression) -> None:
        """Raise this error for every request that passes the checks so far."""
        message = str(error)

        def check(_bindings: Bindings) -> None:
            raise InvalidExpression(message)

        self.checks.append(check)

    @property
    def roots(self) -> frozenset[str]:
        """The top-level attributes that are read, as the text names them."""
        return roots(self._paths)

    @property
    def nested(self) -> frozenset[str]:
        """The top-level attributes that are read in part, by a longer path."""
        return roots([path for path in self._paths if len(path.parts) > 1])


def roots(paths: list[Path]) -> frozenset[str]:
    return frozenset(str(path.parts[0]) for path in paths)


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
