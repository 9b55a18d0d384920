"""Update expressions, compiled to a function from the item before to the item after.

Every right-hand side sees the item as it was before, and every list index means the list as it was before. What is
not touched is shared between the two items; nothing is changed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, TypeGuard

from sortkey import limits
from sortkey.errors import ValidationException
from sortkey.expressions.assignments import Assigned, compile_assigned, wrong_type
from sortkey.expressions.bindings import Bindings, DocumentPath
from sortkey.expressions.document import Change, check_parent, rewrite
from sortkey.expressions.faults import InvalidExpression
from sortkey.expressions.operands import Scope, find
from sortkey.expressions.parser import parse_update
from sortkey.expressions.paths import branches, pick, resolve
from sortkey.expressions.tree import Action, Add, Delete, Remove, Set, Value
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


class Update:
    __slots__ = ("_assignments", "_merges", "_paths", "_removals", "attributes", "nested", "shallow")

    def __init__(
        self,
        assignments: Sequence[tuple[DocumentPath, Assigned]],
        merges: Sequence[tuple[DocumentPath, Merge, AttributeValue]],
        removals: Sequence[DocumentPath],
        nested: frozenset[str],
    ) -> None:
        self._assignments = assignments
        self._merges = merges
        self._removals = removals
        self._paths = (*(path for path, _ in assignments), *removals, *(path for path, _, _ in merges))
        self.attributes = frozenset(str(path[0]) for path in self._paths)
        """The top-level attributes that it writes to."""
        self.nested = nested.union(str(path[0]) for path in self._paths if len(path) > 1)
        """The top-level attributes that it looks into or writes into, by a longer path."""
        self.shallow = len(self.attributes) == len(self._paths) == sum(map(len, self._paths))
        """Whether it writes whole attributes only."""

    def apply(self, item: Item) -> Item:
        """The item after; of several things wrong with the item the service reports them in this order."""
        if self.shallow:
            return self._apply_shallow(item)
        changes = [Change(path, merge(find(item, path), operand)) for path, merge, operand in self._merges]
        for path in self._paths:
            check_parent(item, path)
        changes += [Change(path, assigned.compute(item)) for path, assigned in self._assignments]
        changes += [Change(path, None) for path in self._removals]
        return rewrite(item, changes)

    def _apply_shallow(self, item: Item) -> Item:
        """The same for most updates, without looking for ways into documents."""
        after = dict(item)
        for path, merge, operand in self._merges:
            merged = merge(item.get(str(path[0])), operand)
            if merged is None:
                after.pop(str(path[0]), None)
            else:
                after[str(path[0])] = merged
        for path, assigned in self._assignments:
            after[str(path[0])] = assigned.compute(item)
        for path in self._removals:
            after.pop(str(path[0]), None)
        return after

    def updated(self, before_or_after: Item) -> Item:
        """Of the item before or after, only what stands at the paths that the update names."""
        return pick(before_or_after, branches(self._paths))


def update(text: str, bindings: Bindings) -> Update:
    try:
        return _usual(text, bindings) or compile_update(parse_update(text), bindings)
    except InvalidExpression as fault:
        raise ValidationException(f"Invalid UpdateExpression: {fault}") from None


def _usual(text: str, bindings: Bindings) -> Update | None:
    """The update when it only sets whole attributes to values, adds to them or removes them; None when it has to be
    looked at closely. Most are of this kind, and compiling one took a quarter of an UpdateItem's time.
    """
    assignments: list[tuple[DocumentPath, Assigned]] = []
    merges: list[tuple[DocumentPath, Merge, AttributeValue]] = []
    removals: list[DocumentPath] = []
    try:
        for action in _usual_form(text):
            path = bindings.path(action.path)
            if isinstance(action, Remove):
                removals.append(path)
            elif isinstance(action, Add):
                operand = bindings.value(action.value)
                if type_of(operand) not in _ADDED:
                    return None
                merges.append((path, add_to, operand))
            elif isinstance(action.value, Value):
                assignments.append((path, _constant(bindings.value(action.value))))
    except InvalidExpression:
        return None
    compiled = Update(assignments, merges, removals, frozenset())
    # With nothing in it, or one attribute twice, it is none of the usual ones.
    return compiled if compiled.shallow and compiled.attributes else None


@lru_cache(maxsize=1024)
def _usual_form(text: str) -> tuple[Set | Add | Remove, ...]:
    """Its actions; none when not all of them are of the usual kind."""
    try:
        actions = parse_update(text)
    except InvalidExpression:
        return ()
    usual = [action for action in actions if len(action.path.parts) == 1 and _has_plain_operand(action)]
    return tuple(usual) if len(usual) == len(actions) <= limits.EXPRESSION_OPERATORS else ()


def _has_plain_operand(action: Action) -> TypeGuard[Set | Add | Remove]:
    return isinstance(action, Add | Remove) or (isinstance(action, Set) and isinstance(action.value, Value))


def _constant(value: AttributeValue) -> Assigned:
    return Assigned(lambda _item: value, type_of(value))


def compile_update(actions: Sequence[Action], bindings: Bindings) -> Update:
    paths = resolve([action.path for action in actions], bindings)
    scope = Scope(bindings)
    assignments: list[tuple[DocumentPath, Assigned]] = []
    merges: list[tuple[DocumentPath, Merge, AttributeValue]] = []
    removals: list[DocumentPath] = []
    # From the last to the first, as the service does: of several faults it reports the last one's.
    for path, action in reversed(list(zip(paths, actions, strict=True))):
        match action:
            case Set():
                assignments.append((path, compile_assigned(action.value, scope)))
            case Remove():
                removals.append(path)
            case Add():
                merges.append((path, add_to, _operand(action, scope, _ADDED)))
            case Delete():
                merges.append((path, take_from, _operand(action, scope, _SETS)))
    return Update(assignments, merges, removals, frozenset(scope.nested))


def _operand(action: Add | Delete, scope: Scope, allowed: frozenset[str]) -> AttributeValue:
    operand = scope.value(action.value)
    scope.count_operator()
    if type_of(operand) not in allowed:
        operator = type(action).__name__.upper()
        raise InvalidExpression(
            f"Incorrect operand type for operator or function; operator: {operator}, "
            f"operand type: {TYPE_NAMES[type_of(operand)]}, typeSet: ALLOWED_FOR_{operator}_OPERAND"
        )
    return operand


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
