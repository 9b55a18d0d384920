"""`sk.patterns.minimum` and `sk.patterns.maximum`: extremes of a field, as far as changes tell.

An added value either is the new extreme or it is not. A removed value that was not the extreme changes nothing. But
when the extreme itself is removed, nobody knows the next one without reading all items: the value stays, as a bound
that no item goes beyond, and a flag of the item says that it is not exact. A later value that reaches the bound is
exact again, and so is a group that becomes empty, if the aggregate counts its items.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from operator import attrgetter
from typing import Any, Final, NamedTuple

from sortkey.model.errors import DeclarationError, suggestion
from sortkey.model.fields.codec import Codec
from sortkey.patterns.aggregates.step import Step
from sortkey.patterns.aggregates.values import Sum, type_name

_ORDERED: Final = (int, Decimal, timedelta, datetime, date, str)


class Bound(NamedTuple):
    """An extreme as it is stored."""

    value: Any
    """None if there is no item with a value."""
    exact: bool


NO_BOUND: Final = Bound(None, True)


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

    def after(self, bound: Bound, position: int, steps: Sequence[Step], remaining: int | None) -> Bound:
        """The extreme after these steps, whose shares have the value at this position. `remaining` is the number of
        items before them, if it is known."""
        value, exact = bound
        for step in steps:
            if step.removed is not None:
                gone = step.removed[position]
                exact &= gone is None or (value is not None and self._is_beyond(value, gone))
            if remaining is not None:
                remaining += (step.added is not None) - (step.removed is not None)
                if remaining == 0:
                    value, exact = NO_BOUND
            found = None if step.added is None else step.added[position]
            if found is not None:
                if value is None:
                    value = found
                elif not self._is_beyond(value, found):
                    value, exact = found, True
        return Bound(value, exact)

    def of_all(self, values: Sequence[Any]) -> Bound:
        """The extreme of all values, of which some may be None."""
        known = [value for value in values if value is not None]
        return Bound((max if self.largest else min)(known), True) if known else NO_BOUND

    def _is_beyond(self, value: Any, other: Any) -> bool:
        return bool(value > other if self.largest else value < other)


Kept = Sum | Extreme
"""What an aggregate keeps: the `values` of `sk.patterns.aggregate`."""


def minimum(field: str, *, exact: str | None = None) -> Extreme:
    """The smallest value of a field, for the `values` of `sk.patterns.aggregate`; its own field is of the same type, with None
    as the default. `exact` is a field of type bool with the default True, by default `smallest_exact` for a minimum in
    the field `smallest`. It is False while the minimum is only a bound, because the smallest item has been removed."""
    return Extreme(field, False, exact)


def maximum(field: str, *, exact: str | None = None) -> Extreme:
    """The largest value of a field; the rest is as for `sk.patterns.minimum`."""
    return Extreme(field, True, exact)
