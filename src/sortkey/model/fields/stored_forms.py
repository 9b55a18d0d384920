"""Stored forms: what a row has in another form than its item would be written in, so that a put can leave it as it is.

One value may be stored in several forms: a time in one of the forms of `also=`, None as NULL or as nothing, a number
as `1.0`, a map with attributes that its class does not declare. An item that was read keeps those of its row that
differ, by attribute: what writing the item would have stored, and what is stored. A put writes the stored form of
every value that is still the same, and the field's own form of every other. Most rows differ in nothing, and their
items keep nothing.

A reader must not encode each item again to find that out. A row that was read from DynamoDB's numbers can only differ
by NULL, which its text tells, by another form of `also=`, or by a nested map. Reading one of these counts.
"""

from __future__ import annotations

import re
from threading import local
from typing import Any, Final

from sortkey.model.fields.converter import Value

StoredForms = dict[str, tuple[Value | None, Value]]
"""By attribute: what would be written, None for nothing, and what is stored."""

NESTED: Final = frozenset({"M", "L"})
_SETS: Final = frozenset({"SS", "NS", "BS"})


class _OtherForms(local):
    """How many values this thread has read that are not stored as they would be written."""

    count: int = 0


other_forms: Final = _OtherForms()

_NUMBER: Final = r"-?(?:0|[1-9]\d*)(?:\.\d*[1-9])?"
_is_number: Final = re.compile(_NUMBER, re.ASCII).fullmatch
_respelled: Final = re.compile(
    rf'"N"\s*:\s*"(?!{_NUMBER}")|"NS"\s*:\s*\[(?!\s*(?:"{_NUMBER}"\s*,?\s*)*\])'.encode()
).search


def is_number(value: Value) -> bool:
    """Whether a value is a number as DynamoDB writes it."""
    text = value.get("N")
    return text is not None and _is_number(text) is not None


def has_respelled_number(text: bytes) -> bool:
    """Whether DynamoDB would write a number in this JSON text otherwise. DynamoDB and the engine return none such;
    other stores may return numbers as they were sent."""
    return _respelled(text) is not None


def is_same(one: Value, other: Value) -> bool:
    """Whether two values are stored alike; the elements of a set have no order."""
    (tag,) = one
    if tag not in other:
        return False
    ours, theirs = one[tag], other[tag]
    if tag in _SETS:
        return set(ours) == set(theirs)
    if tag == "M":
        return ours.keys() == theirs.keys() and all(is_same(value, theirs[name]) for name, value in ours.items())
    if tag == "L":
        return len(ours) == len(theirs) and all(map(is_same, ours, theirs))
    return bool(ours == theirs)


def keep_stored(stored: Value, shown: Value, new: Value) -> Value:
    """The new value, with everything in it that is still as it was `shown` as it is stored, and with what the stored
    one has that its class does not declare.

    The elements of a list that are still the same keep theirs, wherever they are now. One that has changed keeps what
    it can if its place is certain, because the list is as long as before, or only longer."""
    if is_same(shown, new):
        return stored
    (tag,) = stored
    if tag not in NESTED or tag not in shown or tag not in new:
        return new
    keep = _keep_in_map if tag == "M" else _keep_in_list
    return {tag: keep(stored[tag], shown[tag], new[tag])}


def _keep_in_map(stored: dict[str, Value], shown: dict[str, Value], new: dict[str, Value]) -> dict[str, Any]:
    undeclared = {name: value for name, value in stored.items() if name not in shown and name not in new}
    return undeclared | {
        name: keep_stored(stored[name], shown[name], value) if name in stored and name in shown else value
        for name, value in new.items()
    }


def _keep_in_list(stored: list[Value], shown: list[Value], new: list[Value]) -> list[Value]:
    before, after = list(map(_identity, shown)), list(map(_identity, new))
    known, left = dict(zip(before, stored, strict=True)), frozenset(after)
    is_certain = len(new) == len(shown) or before == after[: len(before)]
    kept = []
    for place, (value, identity) in enumerate(zip(new, after, strict=True)):
        if place < len(before) and before[place] == identity:
            kept.append(stored[place])
        elif identity in known:
            kept.append(known[identity])
        elif is_certain and place < len(before) and before[place] not in left:
            kept.append(keep_stored(stored[place], shown[place], value))
        else:
            kept.append(value)
    return kept


def _identity(value: Value) -> tuple[str, Any]:
    """Equal exactly if the values are the same (see `is_same`)."""
    ((tag, content),) = value.items()
    if tag in _SETS:
        return tag, frozenset(content)
    if tag == "M":
        return tag, frozenset((name, _identity(each)) for name, each in content.items())
    if tag == "L":
        return tag, tuple(map(_identity, content))
    return tag, content


def write_stored(row: dict[str, Value], forms: StoredForms) -> None:
    """Gives the attributes of an item's new row the form that they have in the row that it was read from, as far as
    they are the same."""
    for name, (shown, stored) in forms.items():
        new = row.get(name)
        if new is None or shown is None:
            if new is shown:
                row[name] = stored
        else:
            row[name] = keep_stored(stored, shown, new)
