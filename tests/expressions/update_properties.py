"""Compiled updates against an interpreter that makes one change after another to a copy of the item."""

from __future__ import annotations

from copy import deepcopy
from decimal import Decimal
from typing import Any

from hypothesis import assume, given

from sortkey.errors import ValidationException
from sortkey.expressions import Bindings, update
from sortkey.expressions.tree import Action, Add, Arithmetic, Call, Delete, Operand, Path, Remove, Set, Value
from sortkey.values.attribute import normalise_item
from sortkey.values.size import item_size
from tests.expressions.model import MISSING, at, python_value
from tests.expressions.strategies import bound, items, spell_update, updates

GONE = ("GONE", None)
"""Marks a removed element until all changes are made, so that indexes still refer to the list before."""


class Rejected(Exception):
    """The interpreter rejects the update; the compiled one must too."""


@given(updates, bound, items)
def test_compiled_updates_do_what_the_tree_says(
    actions: tuple[Action, ...], values: dict[str, Any], item: dict[str, Any]
) -> None:
    try:
        compiled = update(spell_update(actions), Bindings(None, values))
    except ValidationException:
        assume(False)
    before = deepcopy(item)
    try:
        expected = interpret(actions, values, item)
    except Rejected:
        expected = None
    try:
        after = compiled.apply(item, item_size(item))
    except ValidationException:
        assert expected is None
        return
    assert item == before, "the item before is left alone"
    assert expected is not None
    assert python_value({"M": after}) == expected
    assert normalise_item(after).item == after, "what comes out is canonical"


def interpret(actions: tuple[Action, ...], values: dict[str, Any], item: dict[str, Any]) -> Any:
    before = python_value({"M": item})
    after = deepcopy(before)
    # By path, so that elements are appended to a list in the order of their indexes.
    results = [(action.path.parts, result_of(action, values, before)) for action in actions]
    for parts, value in sorted(results, key=lambda found: [str(part) for part in found[0]]):
        put(after, parts, value)
    return swept(after)


def result_of(action: Action, values: dict[str, Any], before: Any) -> Any:
    """The new value at the action's path; MISSING is no value."""
    existing = at(before, action.path.parts)
    match action:
        case Remove():
            return MISSING
        case Set():
            return assigned(action.value, values, before)
        case Add() | Delete():
            tag, operand = python_value(values[action.value.placeholder])
            if existing is MISSING:
                return (tag, operand) if isinstance(action, Add) else MISSING
            if existing[0] != tag:
                raise Rejected
            if isinstance(action, Delete):
                return (tag, existing[1] - operand) if existing[1] - operand else MISSING
            return tag, existing[1] + operand if isinstance(operand, Decimal) else existing[1] | operand


def assigned(value: Operand | Arithmetic, values: dict[str, Any], before: Any) -> Any:
    match value:
        case Path():
            found = at(before, value.parts)
            if found is MISSING:
                raise Rejected
            return found
        case Value():
            return python_value(values[value.placeholder])
        case Call(function="if_not_exists"):
            default = assigned(value.arguments[1], values, before)
            assert isinstance(value.arguments[0], Path)
            existing = at(before, value.arguments[0].parts)
            return default if existing is MISSING else existing
        case Call():
            first, second = (assigned(argument, values, before) for argument in value.arguments)
            return "L", content(first, "L") + content(second, "L")
        case Arithmetic():
            left = content(assigned(value.left, values, before), "N")
            right = content(assigned(value.right, values, before), "N")
            return "N", left + right if value.operator == "+" else left - right


def content(value: Any, tag: str) -> Any:
    if value[0] != tag:
        raise Rejected
    return value[1]


def put(document: Any, parts: tuple[str | int, ...], value: Any) -> None:
    parent, last = at(document, parts[:-1]), parts[-1]
    if parent is MISSING or parent[0] != ("M" if isinstance(last, str) else "L"):
        raise Rejected
    inside = parent[1]
    if isinstance(last, int):
        put_element(inside, last, value)
    elif value is MISSING:
        inside.pop(last, None)
    else:
        inside[last] = deepcopy(value)


def put_element(elements: list[Any], index: int, value: Any) -> None:
    element = GONE if value is MISSING else deepcopy(value)
    if index < len(elements):
        elements[index] = element
    else:
        elements.append(element)


def swept(value: Any) -> Any:
    tag, inside = value
    if tag == "L":
        return tag, [swept(element) for element in inside if element != GONE]
    if tag == "M":
        return tag, {name: swept(member) for name, member in inside.items()}
    return value
