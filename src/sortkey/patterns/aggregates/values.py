"""What an aggregate keeps of its items: sums (`sk.patterns.count`, `sk.patterns.total`) and extremes
(`sk.patterns.minimum`, `sk.patterns.maximum`).

The store adds to sums without a read. Sums of ints, Decimals and durations are exact in any order; sums of floats are
not, so a float is rejected.

Extremes are known as far as changes tell. An added value either is the new extreme or it is not. A removed value that
was not the extreme changes nothing. But when the extreme itself is removed, nobody knows the next one without reading
all items: the value stays, as a bound that no item goes beyond, and a flag of the item says that it is not exact. A
later value that reaches the bound is exact again, and so is a group that becomes empty, if the aggregate counts its
items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Clamped, Context, Decimal, Inexact, InvalidOperation, Overflow, Rounded, Subnormal, Underflow
from operator import attrgetter
from typing import Any, Final, NamedTuple

from sortkey.model.errors import DeclarationError, suggestion, type_name
from sortkey.model.fields.annotation import Annotation
from sortkey.model.fields.codec import Codec
from sortkey.model.fields.real_types import RealTypes

Group = tuple[Any, ...]
"""The values of the fields in the key of an aggregate's item."""
Share = tuple[Any, ...]
"""What one counted item has for each of the aggregate's values."""

_EXACT: Final = Context(
    prec=300, traps=[Clamped, Inexact, InvalidOperation, Overflow, Rounded, Subnormal, Underflow], capitals=1
)
_SUMMED: Final[dict[type, frozenset[type]]] = {
    int: frozenset({int, Decimal}),
    Decimal: frozenset({Decimal}),
    timedelta: frozenset({timedelta}),
}
"""The types of a field, and those of a field that can hold their sum."""
_ORDERED: Final = (int, Decimal, timedelta, RealTypes.datetime, RealTypes.date, str)


@dataclass(frozen=True, slots=True)
class Sum:
    """The number of items, or the total of a field: see `sk.patterns.count` and `sk.patterns.total`."""

    of: str | None
    """The field that is added up; None for the number of items."""

    def __repr__(self) -> str:
        return "count()" if self.of is None else f"total({self.of!r})"

    def reader(self, target: Annotation) -> Callable[[Any], Any]:
        """A function from an item to what it adds; `target` is the field with the sum."""
        if self.of is None:
            return _one
        value = attrgetter(self.of)
        zero = zero_of(target)
        return lambda item: zero if (found := value(item)) is None else found

    def check(self, source: Codec, target: Annotation) -> None:
        """Raises DeclarationError, without the name of the target's field, if that cannot hold the sum."""
        if self.of is None:
            if target.declared is not int:
                raise DeclarationError(f"must be an int, to hold {self!r}, not {type_name(target.declared)}")
            return
        fields = source.by_name
        if self.of not in fields:
            raise DeclarationError(f"{source.struct.__name__} has no field {self.of!r}{suggestion(self.of, fields)}")
        kind = fields[self.of].annotation.declared
        if kind not in _SUMMED:
            raise DeclarationError(
                f"{self!r} needs an int, a Decimal or a timedelta, so that sums are exact; "
                f"{source.struct.__name__}.{self.of} is {type_name(kind)}"
            )
        if target.declared not in _SUMMED[kind]:
            wanted = " or ".join(sorted(type_name(each) for each in _SUMMED[kind]))
            raise DeclarationError(f"must be {wanted}, to hold {self!r}, not {type_name(target.declared)}")


def count() -> Sum:
    """The number of items, for the `values` of `sk.patterns.aggregate`; its field is an int."""
    return Sum(None)


def total(field: str) -> Sum:
    """The total of a field, for the `values` of `sk.patterns.aggregate`: an int, a Decimal or a timedelta. An item
    without the value adds nothing."""
    return Sum(field)


class Step(NamedTuple):
    """What one change does to one group."""

    checkpoint: str
    """The checkpoint of its sequence number."""
    removed: Share | None
    added: Share | None
    expired: bool = False
    """Whether what is removed has expired and stays counted."""


class StoredExtreme(NamedTuple):
    """An extreme as it is stored."""

    value: Any
    """None if there is no item with a value."""
    exact: bool


NO_EXTREME: Final = StoredExtreme(None, True)


@dataclass(frozen=True, slots=True)
class Extreme:
    """The smallest or largest value of a field: see `sk.patterns.minimum` and `sk.patterns.maximum`."""

    of: str
    largest: bool
    exact: str | None

    def __repr__(self) -> str:
        return f"{'maximum' if self.largest else 'minimum'}({self.of!r})"

    def reader(self) -> Callable[[Any], Any]:
        """A function from an item to its value."""
        return attrgetter(self.of)

    def flag(self, name: str) -> str:
        """The field that says whether the extreme in the field `name` is exact."""
        return self.exact or f"{name}_exact"

    def check(self, source: Codec, target: Codec, name: str) -> None:
        """Raises DeclarationError, without the name of the target's field, if that cannot hold the extreme."""
        fields = source.by_name
        if self.of not in fields:
            raise DeclarationError(f"{source.struct.__name__} has no field {self.of!r}{suggestion(self.of, fields)}")
        kind, own = fields[self.of].annotation.declared, target.by_name[name].annotation
        if kind not in _ORDERED:
            raise DeclarationError(f"{self!r} needs values with an order, and {self.of} is {type_name(kind)}")
        if own.declared is not kind or not own.optional or target.if_absent(name) is not None:
            raise DeclarationError(f"must be {type_name(kind)} | None = None, to hold {self!r}")
        flag = target.by_name.get(self.flag(name))
        if flag is None or flag.annotation.declared is not bool or target.if_absent(flag.name) is not True:
            raise DeclarationError(
                f"needs a field {self.flag(name)}: bool = True, which is False while {self!r} is not exact"
            )

    def after(self, bound: StoredExtreme, position: int, steps: Sequence[Step], remaining: int | None) -> StoredExtreme:
        """The extreme after these steps, whose shares have the value at this position. `remaining` is the number of
        items before them, if it is known."""
        value, exact = bound
        for step in steps:
            if step.expired:
                continue
            if step.removed is not None:
                gone = step.removed[position]
                exact &= gone is None or (value is not None and self.is_beyond(value, gone))
            if remaining is not None:
                remaining += (step.added is not None) - (step.removed is not None)
                if remaining == 0:
                    value, exact = NO_EXTREME
            found = None if step.added is None else step.added[position]
            if found is not None:
                if value is None:
                    value = found
                elif not self.is_beyond(value, found):
                    value, exact = found, True
        return StoredExtreme(value, exact)

    def of_all(self, values: Sequence[Any]) -> StoredExtreme:
        """The extreme of all values, of which some may be None."""
        known = [value for value in values if value is not None]
        return StoredExtreme((max if self.largest else min)(known), True) if known else NO_EXTREME

    def is_beyond(self, value: Any, other: Any) -> bool:
        """Whether a value is more extreme than another."""
        return bool(value > other if self.largest else value < other)


Kept = Sum | Extreme
"""What an aggregate keeps: the `values` of `sk.patterns.aggregate`."""


def minimum(field: str, *, exact: str | None = None) -> Extreme:
    """The smallest value of a field, for the `values` of `sk.patterns.aggregate`; its own field is of the same type,
    with None as the default. `exact` is a field of type bool with the default True, by default `smallest_exact` for a
    minimum in the field `smallest`. It is False while the minimum is only a bound, because the smallest item has been
    removed."""
    return Extreme(field, False, exact)


def maximum(field: str, *, exact: str | None = None) -> Extreme:
    """The largest value of a field; the rest is as for `sk.patterns.minimum`."""
    return Extreme(field, True, exact)


def zero_of(annotation: Annotation) -> Any:
    """The sum of nothing, as a value of this field."""
    return annotation.declared(0)


def sum_exactly(start: Any, amounts: Iterable[Any]) -> Any:
    """The sum, without rounding: Decimal's own addition rounds to 28 digits."""
    if isinstance(start, int):
        return start + sum(amounts)
    result = start
    for amount in amounts:
        result = _EXACT.add(result, Decimal(amount)) if isinstance(result, Decimal) else result + amount
    return result


def _one(_item: Any) -> int:
    return 1
