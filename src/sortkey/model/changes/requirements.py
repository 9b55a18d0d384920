"""What `where=` requires, as a tree: conditions of fields, joined by and and or.

A mapping requires all of its conditions. `sk.any_of`, `sk.all_of` and `sk.none_of` join mappings; what they negate is
negated at the leaves, so that a test that only errs on one side keeps its side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sortkey.model.changes import placeholders
from sortkey.model.changes.condition import Condition
from sortkey.model.changes.conditions import attribute_of, condition_of, holds_on, result_if_absent
from sortkey.model.items.schema import Schema


class Combination:
    """Several requirements joined; see `any_of`, `all_of` and `none_of`."""

    def __init__(self, name: str, parts: tuple[Where, ...]) -> None:
        if not parts or not all(parts):
            raise ValueError(f"sk.{name} needs conditions")
        self.name = name
        self.parts = parts

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(repr, self.parts))})"


Where = Mapping[str, Any] | Combination


def any_of(*parts: Where) -> Combination:
    """At least one of these: `where=sk.any_of({"status": "OPEN"}, {"owner": None})`."""
    return Combination("any_of", parts)


def all_of(*parts: Where) -> Combination:
    """All of these."""
    return Combination("all_of", parts)


def none_of(*parts: Where) -> Combination:
    """None of these."""
    return Combination("none_of", parts)


@dataclass(frozen=True, slots=True)
class Leaf:
    field: str
    condition: Condition
    if_absent: bool | None
    """The result for a row without the attribute; None if only the row's keys tell."""


@dataclass(frozen=True, slots=True)
class Branch:
    """All, or any, of several nodes."""

    every: bool
    nodes: tuple[Node, ...]


Node = Leaf | Branch


class Requirement:
    """`where=` for the items of one class. Raises for fields that a condition cannot use."""

    def __init__(self, schema: Schema[Any], where: Where | None, given: Mapping[str, Any]) -> None:
        """`given` has the fields of the path."""
        self._schema = schema
        self._given = given
        self.root = self._parse(where or {}, negated=False)
        self.leaves: tuple[Leaf, ...] = tuple(_leaves(self.root))

    def _parse(self, where: Where, negated: bool) -> Node:
        if isinstance(where, Combination):
            inner = negated != (where.name == "none_of")
            parts = tuple(self._parse(part, inner) for part in where.parts)
            # "Not all" is "any not", and "none" is "all not".
            return Branch(not inner if where.name == "all_of" else inner, parts)
        leaves = (self._leaf(field, condition_of(wanted), negated) for field, wanted in where.items())
        return Branch(not negated, tuple(leaves))

    def _leaf(self, field: str, condition: Condition, negated: bool) -> Leaf:
        attribute_of(self._schema, field)
        wanted = ~condition if negated else condition
        return Leaf(field, wanted, result_if_absent(self._schema, field, wanted, self._given))

    def accepts(self, item: Any) -> bool:
        """Whether an item meets it."""
        return self.holds(lambda leaf: holds_on(self._schema, leaf.field, leaf.condition, getattr(item, leaf.field)))

    def holds(self, leaf_holds: Callable[[Leaf], bool]) -> bool:
        return _holds(self.root, leaf_holds)

    def render(self, leaf_text: Callable[[Leaf], str]) -> str:
        """The requirement in DynamoDB's syntax."""
        return _render(self.root, leaf_text)


def _leaves(node: Node) -> Iterator[Leaf]:
    if isinstance(node, Leaf):
        yield node
    else:
        for each in node.nodes:
            yield from _leaves(each)


def _holds(node: Node, leaf_holds: Callable[[Leaf], bool]) -> bool:
    if isinstance(node, Leaf):
        return leaf_holds(node)
    results = (_holds(each, leaf_holds) for each in node.nodes)
    return all(results) if node.every else any(results)


def _render(node: Node, leaf_text: Callable[[Leaf], str]) -> str:
    if isinstance(node, Leaf):
        return leaf_text(node)
    texts = [_render(each, leaf_text) for each in node.nodes]
    return placeholders.all_of(texts) if node.every else placeholders.any_of(*texts)
