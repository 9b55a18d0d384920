"""Update expressions, compiled once per text, bound to a request: a function from the item before to the item after.

Every right-hand side sees the item as it was before, and every list index means the list as it was before. What is
not touched is shared between the two items; nothing is changed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from sortkey.errors import ValidationException
from sortkey.expressions.assignments import Compute, compile_assigned, wrong_type
from sortkey.expressions.bindings import Bindings, DocumentPath
from sortkey.expressions.compilation import CACHED_TEXTS, Check, Compilation, roots
from sortkey.expressions.document_changes import Change, check_parent, rewrite
from sortkey.expressions.errors import InvalidExpression
from sortkey.expressions.operands import find
from sortkey.expressions.parser import parse_update
from sortkey.expressions.paths import branches, pick, resolve
from sortkey.expressions.tree import Add, Delete, Path, Remove, Set
from sortkey.values import number
from sortkey.values.attribute import AttributeValue, Item, normalise_value, type_of

TYPE_NAMES: Final = {
    "S": "STRING",
    "N": "NUMBER",
    "B": "BINARY",
    "BOOL": "BOOLEAN",
    "NULL": "NULL",
    "L": "LIST",
    "M": "MAP",
    "SS": "STRING_SET",
    "NS": "NUMBER_SET",
    "BS": "BINARY_SET",
}
_SETS: Final = frozenset({"SS", "NS", "BS"})
_ADDED: Final = _SETS | {"N"}

Merge = Callable[[AttributeValue | None, AttributeValue], AttributeValue | None]
"""From what stands at a path and an operand to what shall stand there; None: nothing."""


class Program(NamedTuple):
    """What an update does, for every request that asks for it; its paths are meant by their positions."""

    paths: tuple[Path, ...]
    assignments: tuple[tuple[int, Compute], ...]
    merges: tuple[tuple[int, Merge, str], ...]
    """With the placeholder of the operand."""
    removals: tuple[int, ...]
    checks: tuple[Check, ...] = ()
    nested: frozenset[str] = frozenset()

    def bind(self, bindings: Bindings) -> Update:
        paths = resolve(self.paths, bindings)
        for check in self.checks:
            check(bindings)
        return Update(self, paths, bindings)


class Update:
    __slots__ = ("_bindings", "_names", "_paths", "_program", "attributes", "shallow")

    def __init__(self, program: Program, paths: Sequence[DocumentPath], bindings: Bindings) -> None:
        self._program = program
        self._paths = paths
        self._bindings = bindings
        self._names = [str(path[0]) for path in paths]
        self.attributes = frozenset(self._names)
        """The top-level attributes that it writes to."""
        self.shallow = sum(map(len, paths)) == len(paths)
        """Whether it writes whole attributes only."""

    @property
    def nested(self) -> frozenset[str]:
        """The top-level attributes that it looks into or writes into, by a longer path."""
        return self._bindings.attributes(self._program.nested)

    def apply(self, item: Item) -> Item:
        """The item after; of several things wrong with the item the service reports them in this order."""
        program, paths, bindings = self._program, self._paths, self._bindings
        if self.shallow:
            return self._apply_shallow(item)
        changes = [
            Change(paths[index], merge(find(item, paths[index]), bindings.values[operand]))
            for index, merge, operand in program.merges
        ]
        for path in paths:
            check_parent(item, path)
        changes += [Change(paths[index], compute(item, bindings)) for index, compute in program.assignments]
        changes += [Change(paths[index], None) for index in program.removals]
        return rewrite(item, changes)

    def _apply_shallow(self, item: Item) -> Item:
        """The same for most updates, without looking for ways into documents."""
        program, names, bindings = self._program, self._names, self._bindings
        after = dict(item)
        for index, merge, operand in program.merges:
            merged = merge(item.get(names[index]), bindings.values[operand])
            if merged is None:
                after.pop(names[index], None)
            else:
                after[names[index]] = merged
        for index, compute in program.assignments:
            after[names[index]] = compute(item, bindings)
        for index in program.removals:
            after.pop(names[index], None)
        return after

    def updated(self, before_or_after: Item) -> Item:
        """Of the item before or after, only what stands at the paths that the update names."""
        return pick(before_or_after, branches(self._paths))


def update(text: str, bindings: Bindings) -> Update:
    try:
        return _program(text).bind(bindings)
    except InvalidExpression as error:
        raise ValidationException(f"Invalid UpdateExpression: {error}") from None


@lru_cache(maxsize=CACHED_TEXTS)
def _program(text: str) -> Program:
    actions = parse_update(text)
    compilation = Compilation()
    assignments: list[tuple[int, Compute]] = []
    merges: list[tuple[int, Merge, str]] = []
    removals: list[int] = []
    try:
        # From the last to the first, as the service does: of several errors it reports the last one's.
        for index, action in reversed(list(enumerate(actions))):
            match action:
                case Set():
                    assignments.append((index, compile_assigned(action.value, compilation).compute))
                case Remove():
                    removals.append(index)
                case Add():
                    merges.append((index, add_to, _operand(action, compilation, _ADDED)))
                case Delete():
                    merges.append((index, take_from, _operand(action, compilation, _SETS)))
    except InvalidExpression as error:
        compilation.reject(error)
    paths = tuple(action.path for action in actions)
    nested = compilation.nested | roots([path for path in paths if len(path.parts) > 1])
    return Program(paths, tuple(assignments), tuple(merges), tuple(removals), tuple(compilation.checks), nested)


def _operand(action: Add | Delete, compilation: Compilation, allowed: frozenset[str]) -> str:
    compilation.value(action.value)
    compilation.count_operator()
    operator, placeholder = type(action).__name__.upper(), action.value.placeholder

    def check(bindings: Bindings) -> None:
        tag = type_of(bindings.values[placeholder])
        if tag not in allowed:
            raise InvalidExpression(
                f"Incorrect operand type for operator or function; operator: {operator}, "
                f"operand type: {TYPE_NAMES[tag]}, typeSet: ALLOWED_FOR_{operator}_OPERAND"
            )

    compilation.checks.append(check)
    return placeholder


def add_to(existing: AttributeValue | None, operand: AttributeValue) -> AttributeValue:
    if existing is None:
        return operand
    tag = _same_type(existing, operand)
    if tag == "N":
        return {"N": number.add(existing["N"], operand["N"])}
    return normalise_value({tag: list({*existing[tag], *operand[tag]})})


def take_from(existing: AttributeValue | None, operand: AttributeValue) -> AttributeValue | None:
    if existing is None:
        return None
    tag = _same_type(existing, operand)
    taken = set(operand[tag])
    left = [element for element in existing[tag] if element not in taken]
    return {tag: left} if left else None


def _same_type(existing: AttributeValue, operand: AttributeValue) -> str:
    tag = type_of(operand)
    if tag not in existing:
        raise wrong_type()
    return tag
