"""`where=`: a mapping of conditions, all of which must hold, or a `Combination` of several.

`sk.any_of`, `sk.all_of` and `sk.none_of` make combinations of mappings; so do `&`, `|` and `~`, and the comparisons of
`sk.F`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn


class Combination:
    """Several requirements joined; see `any_of`, `all_of` and `none_of`."""

    def __init__(self, name: str, parts: tuple[Where, ...]) -> None:
        if not parts or any(map(requires_nothing, parts)):
            raise ValueError(f"sk.{name} needs conditions")
        self.name = name
        self.parts = parts

    def __repr__(self) -> str:
        if self.name == "all_of" and len(self.parts) == 1:
            return repr(self.parts[0])
        return f"{self.name}({', '.join(map(repr, self.parts))})"

    def __and__(self, other: Where) -> Combination:
        return Combination("all_of", (self, other))

    def __rand__(self, other: Mapping[str, Any]) -> Combination:
        return Combination("all_of", (other, self))

    def __or__(self, other: Where) -> Combination:
        return Combination("any_of", (self, other))

    def __ror__(self, other: Mapping[str, Any]) -> Combination:
        return Combination("any_of", (other, self))

    def __invert__(self) -> Combination:
        return Combination("none_of", (self,))

    def __bool__(self) -> NoReturn:
        # `a and b` would be b alone, and `1 <= a <= 5` would be `a <= 5`.
        raise TypeError(NOT_A_BOOL)


Where = Mapping[str, Any] | Combination
"""Conditions on an item: a mapping from fields, or places in them, to values or conditions, all of which must hold; or
several joined, by `sk.any_of` and the like, or made with `sk.F`."""
NOT_A_BOOL = "a condition is neither true nor false before the store tests it: use &, | and ~, not and, or, not, in, if"


def requires_nothing(where: Where | None) -> bool:
    """Raises TypeError for what is not a condition, such as `sk.above(1)`, which needs a field."""
    given: Any = where
    if given is None or isinstance(given, Combination):
        return given is None
    if not isinstance(given, Mapping):
        raise TypeError(f"where= takes {{'stock': 3}}, sk.F(Product.stock) == 3, or the like; not {given!r}")
    return not given


def any_of(*parts: Where) -> Combination:
    """At least one of these: `where=sk.any_of({"status": "OPEN"}, {"owner": None})`."""
    return Combination("any_of", parts)


def all_of(*parts: Where) -> Combination:
    """All of these, for example inside `sk.any_of`."""
    return Combination("all_of", parts)


def none_of(*parts: Where) -> Combination:
    """None of these: `where=sk.none_of({"status": "DONE"}, {"owner": "ada"})`."""
    return Combination("none_of", parts)
