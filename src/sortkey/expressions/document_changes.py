"""Changes at document paths, applied all at once to a copy of an item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sortkey.errors import ValidationException
from sortkey.expressions.bindings import DocumentPath
from sortkey.expressions.paths import find
from sortkey.values.attribute import AttributeValue, Item


class Change(NamedTuple):
    path: DocumentPath
    value: AttributeValue | None
    """The new value; None removes the old one."""


def check_parent(item: Item, path: DocumentPath) -> None:
    """The map or list that holds the path's last part must exist."""
    if len(path) == 1:
        return
    parent = find(item, path[:-1])
    if parent is None or ("M" if isinstance(path[-1], str) else "L") not in parent:
        raise ValidationException("The document path provided in the update expression is invalid for update")


def apply_changes(item: Item, changes: Sequence[Change]) -> Item:
    """The item with all changes made. Their paths neither overlap nor conflict, and their parents exist."""
    members = dict(item)
    for part, beneath in _by_part(changes, depth=0).items():
        _change_member(members, str(part), beneath, depth=1)
    return members


def _by_part(changes: Sequence[Change], depth: int) -> dict[str | int, list[Change]]:
    groups: dict[str | int, list[Change]] = {}
    for change in changes:
        groups.setdefault(change.path[depth], []).append(change)
    return groups


def _change_member(members: Item, name: str, changes: list[Change], depth: int) -> None:
    if len(changes[0].path) > depth:
        members[name] = _rewrite_value(members[name], changes, depth)
    elif changes[0].value is None:
        members.pop(name, None)
    else:
        members[name] = changes[0].value


def _rewrite_value(value: AttributeValue, changes: Sequence[Change], depth: int) -> AttributeValue:
    groups = _by_part(changes, depth)
    if "L" in value:
        elements = {part: group for part, group in groups.items() if isinstance(part, int)}
        return {"L": _rewrite_elements(value["L"], elements, depth + 1)}
    members = dict(value["M"])
    for part, beneath in groups.items():
        _change_member(members, str(part), beneath, depth + 1)
    return {"M": members}


def _rewrite_elements(
    elements: list[AttributeValue], groups: dict[int, list[Change]], depth: int
) -> list[AttributeValue]:
    """Indexes refer to the list before the changes; those past its end append, in ascending order."""
    rewritten: list[AttributeValue | None] = [*elements]
    for index in sorted(groups):
        changes = groups[index]
        if len(changes[0].path) > depth:
            rewritten[index] = _rewrite_value(elements[index], changes, depth)
        elif index < len(elements):
            rewritten[index] = changes[0].value
        else:
            rewritten.append(changes[0].value)
    return [element for element in rewritten if element is not None]
