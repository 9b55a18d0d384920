"""Document paths: whether those of one expression are compatible, and what an item has at them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sortkey.errors import ValidationException
from sortkey.expressions.bindings import Bindings, DocumentPath
from sortkey.expressions.errors import InvalidExpression
from sortkey.expressions.tree import Path
from sortkey.values.attribute import AttributeValue, Item

Branch = dict[str | int, "Branch"]
"""Paths as a tree; a leaf is empty."""


def spell(path: DocumentPath) -> str:
    """As error messages write a path: `[a, [0], b]`."""
    return "[" + ", ".join(f"[{part}]" if isinstance(part, int) else part for part in path) + "]"


def resolve(paths: Sequence[Path], bindings: Bindings) -> tuple[DocumentPath, ...]:
    """Document paths, of which no two may be equal, nested or in conflict.

    The last path is checked first, because DynamoDB reports that pair if there are several.
    """
    if len(paths) == 1:
        return (bindings.path(paths[0]),)
    resolved: list[DocumentPath] = []
    roots: set[str | int] = set()
    for path in reversed(paths):
        found = bindings.path(path)
        if found[0] in roots:
            for other in resolved:
                _check_compatible(found, other)
        roots.add(found[0])
        resolved.append(found)
    return tuple(reversed(resolved))


def _check_compatible(one: DocumentPath, two: DocumentPath) -> None:
    for a, b in zip(one, two, strict=False):
        if type(a) is not type(b):
            raise _incompatible("conflict", one, two)
        if a != b:
            return
    raise _incompatible("overlap", one, two)


def _incompatible(how: str, one: DocumentPath, two: DocumentPath) -> InvalidExpression:
    return InvalidExpression(
        f"Two document paths {how} with each other; must remove or rewrite one of these paths; "
        f"path one: {spell(one)}, path two: {spell(two)}"
    )


def reject_nested_keys(nested: frozenset[str], keys: Iterable[str], label: str = "Key") -> None:
    """Key attributes are scalars; `nested` has the attributes that an expression reads a part of."""
    for key in keys:
        if key in nested:
            raise ValidationException(
                "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
                f"{label}: {key}"
            )


def find(item: Item, path: DocumentPath) -> AttributeValue | None:
    value: AttributeValue = {"M": item}
    for part in path:
        found = _step(value, part)
        if found is None:
            return None
        value = found
    return value


def _step(value: AttributeValue, part: str | int) -> AttributeValue | None:
    """One step down a document; only maps have members and only lists have elements."""
    found: AttributeValue | None = None
    if isinstance(part, str):
        found = value["M"].get(part) if "M" in value else None
    elif "L" in value and part < len(value["L"]):
        found = value["L"][part]
    return found


def branches(paths: Iterable[DocumentPath]) -> Branch:
    root: Branch = {}
    for path in paths:
        branch = root
        for part in path:
            branch = branch.setdefault(part, {})
    return root


def pick(item: Item, wanted: Branch) -> Item:
    """A new item with only the wanted parts; list elements keep their order and close gaps."""
    picked: Item = {}
    for name, branch in wanted.items():
        if isinstance(name, str) and name in item:
            kept = _pick_value(item[name], branch)
            if kept is not None:
                picked[name] = kept
    return picked


def _pick_value(value: AttributeValue, wanted: Branch) -> AttributeValue | None:
    if not wanted:
        return value
    if "M" in value:
        members = pick(value["M"], wanted)
        return {"M": members} if members else None
    if "L" in value:
        elements = _pick_elements(value["L"], wanted)
        return {"L": elements} if elements else None
    return None


def _pick_elements(elements: list[AttributeValue], wanted: Branch) -> list[AttributeValue]:
    indexes = sorted(part for part in wanted if isinstance(part, int) and part < len(elements))
    kept = (_pick_value(elements[index], wanted[index]) for index in indexes)
    return [element for element in kept if element is not None]
