"""The state of compiling one expression: what it has read so far, and the checks that each request must pass.

An expression is compiled once per text and serves all requests with that text, so closures take the request's bindings
along with the item. Errors that depend on the request become checks, in the order in which DynamoDB looks for them, so
that a request gets the same error whether its text was cached or not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Final, TypeVar

from sortkey import limits
from sortkey.expressions import errors
from sortkey.expressions.bindings import Bindings
from sortkey.expressions.errors import InvalidExpression
from sortkey.expressions.paths import spell
from sortkey.expressions.tree import Path, Value
from sortkey.values.attribute import type_of

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
    def __init__(self) -> None:
        self._operators = 0
        self.evaluations = 0
        """How much there is to do for each item."""
        self._seen: set[Path | Value] = set()
        self._paths: list[Path] = []
        self.checks: list[Check] = []

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
