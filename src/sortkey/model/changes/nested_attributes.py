"""Keeps what other programs store inside of a map: attributes that its class does not declare.

An item shows only the declared ones, so an attribute encoded from an item has lost the others. They are known by a
comparison: `stored` has them, and `shown`, which is the same value decoded and encoded again, has not.
"""

from __future__ import annotations

from typing import Any, Final

from sortkey.model.fields.codec import Field, Row
from sortkey.model.fields.converter import Value

NESTED: Final = frozenset({"M", "L"})
_SETS: Final = frozenset({"SS", "NS", "BS"})


def keep_undeclared_in(new: Row, stored: Row, field: Field) -> None:
    """Adds to a field of the new row what the stored one has in it, and the class does not declare."""
    name = field.attribute
    if name in new and name in stored and not NESTED.isdisjoint(new[name]) and not NESTED.isdisjoint(stored[name]):
        new[name] = keep_undeclared(stored[name], field.encode(field.decode(stored[name])), new[name])


def keep_undeclared(stored: Value, shown: Value, new: Value) -> Value:
    """The new value with the undeclared attributes of the stored one; the stored one if both show the same.

    The elements of a list keep theirs if their places are certain: the list is as long as before, or only longer."""
    if _is_same(shown, new):
        return stored
    (tag,) = stored
    if tag not in NESTED or tag not in shown or tag not in new:
        return new
    keep = _keep_in_map if tag == "M" else _keep_in_list
    return {tag: keep(stored[tag], shown[tag], new[tag])}


def _is_same(one: Value, other: Value) -> bool:
    """Whether two values are equal; the elements of a set have no order."""
    (tag,) = one
    if tag not in other:
        return False
    ours, theirs = one[tag], other[tag]
    if tag in _SETS:
        return set(ours) == set(theirs)
    if tag == "M":
        return ours.keys() == theirs.keys() and all(_is_same(value, theirs[name]) for name, value in ours.items())
    if tag == "L":
        return len(ours) == len(theirs) and all(map(_is_same, ours, theirs))
    return bool(ours == theirs)


def _keep_in_map(stored: dict[str, Value], shown: dict[str, Value], new: dict[str, Value]) -> dict[str, Any]:
    undeclared = {name: value for name, value in stored.items() if name not in shown and name not in new}
    return undeclared | {
        name: keep_undeclared(stored[name], shown[name], value) if name in stored and name in shown else value
        for name, value in new.items()
    }


def _keep_in_list(stored: list[Value], shown: list[Value], new: list[Value]) -> list[Value]:
    if len(new) != len(shown) and not _is_same({"L": shown}, {"L": new[: len(shown)]}):
        return new
    kept = [keep_undeclared(*each) for each in zip(stored, shown, new, strict=False)]
    return kept + new[len(kept) :]
