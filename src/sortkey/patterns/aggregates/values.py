"""What an aggregate keeps of its items: `sk.patterns.count()` and `sk.patterns.total("amount")`.

Both are sums, and the store adds to them without a read. Sums of ints, Decimals and durations are exact in any order;
sums of floats are not, so a float is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Clamped, Context, Decimal, Inexact, InvalidOperation, Overflow, Rounded, Subnormal, Underflow
from operator import attrgetter
from typing import Any, Final

from sortkey.model.errors import DeclarationError, suggestion
from sortkey.model.fields.annotation import Annotation
from sortkey.model.fields.codec import Codec

_EXACT: Final = Context(
    prec=300, traps=[Clamped, Inexact, InvalidOperation, Overflow, Rounded, Subnormal, Underflow], capitals=1
)
_SUMMED: Final[dict[type, frozenset[type]]] = {
    int: frozenset({int, Decimal}),
    Decimal: frozenset({Decimal}),
    timedelta: frozenset({timedelta}),
}
"""The types of a field, and those of a field that can hold their sum."""


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
    """The total of a field, for the `values` of `sk.patterns.aggregate`: an int, a Decimal or a timedelta. An item without the
    value adds nothing."""
    return Sum(field)


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


def type_name(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))
