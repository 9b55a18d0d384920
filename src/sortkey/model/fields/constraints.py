"""The constraints of a field, `Annotated[int, msgspec.Meta(ge=0)]`, checked when a value is written.

They are not checked when a row is read: a row that another program wrote must be readable, or nobody could repair it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import Any, Final, get_origin

import msgspec

from sortkey.model.errors import DeclarationError, EncodeError, shown, type_name
from sortkey.model.fields.real_types import RealTypes

Check = Callable[[Any], None]
"""Raises EncodeError for a value that a constraint excludes."""

_BOUNDS: Final = {
    "gt": (gt, "greater than"),
    "ge": (ge, "at least"),
    "lt": (lt, "less than"),
    "le": (le, "at most"),
}
_NUMBERS: Final = (int, Decimal, float)
_SIZED: Final = (str, bytes, list, tuple, dict)
_SETS: Final = (set, frozenset)
_APPLIES_TO: Final[dict[str, tuple[type, ...]]] = {
    **dict.fromkeys((*_BOUNDS, "multiple_of"), _NUMBERS),
    "pattern": (str,),
    # An empty set is an absent attribute, which is not written.
    "min_length": _SIZED,
    "max_length": (*_SIZED, *_SETS),
    "tz": (RealTypes.datetime,),
}


def constraint_check(base: Any, constraints: Sequence[msgspec.Meta]) -> Check | None:
    """The check of a type's constraints; None if it has none. Raises DeclarationError for one that cannot apply."""
    checks = [
        _check(base, name, limit)
        for meta in constraints
        for name in _APPLIES_TO
        if (limit := getattr(meta, name)) is not None
    ]
    if not checks:
        return None

    def check(value: Any) -> None:
        for each in checks:
            each(value)

    return check


def _check(base: Any, name: str, limit: Any) -> Check:
    if (get_origin(base) or base) not in _APPLIES_TO[name]:
        raise DeclarationError(f"msgspec.Meta({name}={limit!r}) cannot apply to {type_name(base)}")
    accepts, wanted = _test(name, limit)

    def check(value: Any) -> None:
        if not accepts(value):
            raise EncodeError(f"must be {wanted}, not {shown(value)}")

    return check


def _test(name: str, limit: Any) -> tuple[Callable[[Any], bool], str]:
    """Whether a value is accepted, and what is accepted, in words."""
    if name in _BOUNDS:
        compare, words = _BOUNDS[name]
        return lambda value: compare(value, limit), f"{words} {limit}"
    match name:
        case "multiple_of":
            return lambda value: value % limit == 0, f"a multiple of {limit}"
        case "pattern":
            search = re.compile(limit).search
            return lambda value: search(value) is not None, f"a text that matches {limit!r}"
        case "min_length":
            return lambda value: len(value) >= limit, f"of at least {limit} elements or characters"
        case "max_length":
            return lambda value: len(value) <= limit, f"of at most {limit} elements or characters"
    return lambda value: (value.tzinfo is not None) is limit, f"a time {'with' if limit else 'without'} a time zone"
