"""`sk.patterns.ranges`: the ranges of numbers that an item counts in, at five levels.

Each number has a range at every level. A range of one level has 32 ranges of the level below, a *block*:

    level 4    one block, of all numbers
    …
    level 1    … │ 32…63 │ 64…95 │ 96…127 │ …                     the block of 70 has 0…31, 32…63, …, 992…1023
    level 0    … │ 64 │ 65 │ 66 │ 67 │ 68 │ 69 │ 70 │ 71 │ …      the block of 70 has 64, 65, …, 95

What is above a number is above it in one of its five blocks, so five short reads count everything above.

Ranges of level 0 have one number up to 262,144. Beyond, they are as wide as 17 binary digits of the number leave open,
less than a 131,072nd of it; from 2**127 on, with 12 binary digits, less than a 4,096th. So all integers that DynamoDB
can store are in one scheme, also those with zeros after their 38 digits, and none of its levels is deep.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final, NamedTuple

from sortkey.model.errors import DeclarationError
from sortkey.patterns.aggregates.windows import TimeWindows

LEVELS: Final = 5
_BITS: Final = 5
SLOTS: Final = 1 << _BITS
"""Ranges in a block."""

_EXACT_BITS: Final = 18
"""Numbers of so many binary digits have a range of their own."""
_HALF: Final = 1 << (_EXACT_BITS - 1)
_FINE_BITS: Final = 127
"""Numbers of more binary digits, at least 1.7E38, have wider ranges: there are so many lengths of them."""
_COARSE: Final = 1 << 12
"""The ranges of each length beyond."""
_FIRST_COARSE: Final = (_FINE_BITS - _EXACT_BITS + 2) * _HALF
_MIDDLE: Final = 1 << (LEVELS * _BITS - 1)
"""The position of 0 among the ranges of level 0."""
_MOST: Final = 10**126
"""The first power of ten that DynamoDB cannot store."""
_DIGITS: Final = 38
"""The digits of a number that DynamoDB stores; those after them must be zeros."""
_CACHED: Final = 4096


class Range(NamedTuple):
    """A range, by its block and its slot there; slots ascend as the numbers do."""

    block: str
    slot: int


class Ranges:
    """The ranges of an aggregate: see `sk.patterns.ranges`."""

    keep: Final[Mapping[str, timedelta]] = {}

    def __init__(self, of: str, block: str, slot: str) -> None:
        self.of = of
        """The field of the counted items that has the number."""
        self.fields = (block, slot)
        """The fields of the aggregate's items that have the range."""
        self._ranges = lru_cache(_CACHED)(ranges_of)

    def __repr__(self) -> str:
        return f"ranges({self.of!r})"

    def check(self, name: str, kind: Any) -> None:
        """Raises DeclarationError unless the field `name` has integers."""
        if kind is not int:
            raise DeclarationError(f"{name} must be an int to be in ranges, not {kind}")

    def windows(self, number: int | None) -> tuple[Range, ...]:
        """The range of each level; none without a number. Raises ValueError."""
        return () if number is None else self._ranges(number)

    def expiry(self, _slot: Any) -> datetime | None:
        """Ranges are kept for ever."""
        return None


AnyWindow = TimeWindows | Ranges
"""What divides the groups of an aggregate: windows of time, or ranges of numbers."""


def ranges(of: str, *, block: str = "block", slot: str = "slot") -> Ranges:
    """The ranges that an item counts in, by its field `of`, an int, as the window of `sk.patterns.aggregate`. The aggregate's
    items have the range in two fields, `block`, a str, and `slot`, an int; `sk.Key("{block}", "{slot:02}")` makes the
    ranges of a block one Query. `sk.patterns.ranking` uses it.

        sk.patterns.aggregate(Score, into=ScoreRange, by=(), window=sk.patterns.ranges("points"), values={"players": sk.patterns.count()})
    """
    return Ranges(of, block, slot)


def ranges_of(number: int) -> tuple[Range, ...]:
    """The range of each level, from the narrowest. Raises ValueError for a number that is too large for DynamoDB."""
    position = position_of(number)
    found = []
    for level in range(LEVELS):
        block, slot = divmod(position, SLOTS)
        found.append(Range(f"{level}.{block:x}", slot))
        position = block
    return tuple(found)


def position_of(number: int) -> int:
    """The position of a number's range among those of level 0, from 0; it ascends as numbers do. Raises ValueError."""
    if not -_MOST < number < _MOST:
        raise ValueError(f"{number} is too large: DynamoDB stores integers below 10**126")
    return _MIDDLE + (_place(number) if number >= 0 else -1 - _place(-1 - number))


def bounds_of(number: int) -> tuple[int, int]:
    """The first and the last number of a number's range at level 0."""
    if number < 0:
        low, high = bounds_of(-1 - number)
        return -1 - high, -1 - low
    open_bits = _open_bits(number)
    low = number >> open_bits << open_bits
    return low, min(low + (1 << open_bits), _MOST) - 1


def _place(number: int) -> int:
    """The place of a number that is not negative: as a float's, by its length and its first digits."""
    open_bits = _open_bits(number)
    lengths_beyond = number.bit_length() - _FINE_BITS
    if lengths_beyond <= 0:
        return open_bits * _HALF + (number >> open_bits)
    return _FIRST_COARSE + (lengths_beyond - 2) * _COARSE + (number >> open_bits)


def _open_bits(number: int) -> int:
    """The last binary digits of a number, in which the numbers of its range differ."""
    length = number.bit_length()
    kept = _EXACT_BITS if length <= _FINE_BITS else _COARSE.bit_length()
    return max(0, length - kept)


def stored_between(low: int, high: int) -> tuple[int, int] | None:
    """The first and the last number from `low` to `high` that DynamoDB can store; None if there is none."""
    first, last = -_stored_up_to(-low), _stored_up_to(high)
    return (first, last) if first <= last else None


def _stored_up_to(number: int) -> int:
    """The largest integer up to a number that has no more digits than DynamoDB stores."""
    unit: int = 10 ** max(0, len(str(abs(number))) - _DIGITS)
    return number // unit * unit
