"""Ranges of numbers: every integer of DynamoDB has one at each level, and they ascend as numbers do."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from sortkey.patterns.aggregates.windows import LEVELS, SLOTS, bounds_of, position_of, ranges_of

MOST = 10**126 - 1
numbers = (
    st.integers(-MOST, MOST) | st.integers(-(10**38), 10**38) | st.integers(-300_000, 300_000) | st.integers(-100, 100)
)


def test_a_number_has_a_range_at_each_level() -> None:
    assert ranges_of(70) == (("0.80002", 6), ("1.4000", 2), ("2.200", 0), ("3.10", 0), ("4.0", 16))
    assert ranges_of(-1) == (("0.7ffff", 31), ("1.3fff", 31), ("2.1ff", 31), ("3.f", 31), ("4.0", 15))


@pytest.mark.parametrize(
    ("number", "bounds"),
    [
        (0, (0, 0)),
        (-1, (-1, -1)),
        (262_143, (262_143, 262_143)),
        (262_144, (262_144, 262_145)),
        (-262_145, (-262_146, -262_145)),
        (1_000_000_000, (999_997_440, 1_000_001_535)),
        (10**38 - 1, (10**38 - 10**38 % 2**109, 10**38 - 10**38 % 2**109 + 2**109 - 1)),
        (2**127 - 1, (2**127 - 2**109, 2**127 - 1)),
        (2**127, (2**127, 2**127 + 2**115 - 1)),
        (MOST, (MOST - MOST % 2**406, MOST)),
    ],
)
def test_ranges_are_wide_only_among_large_numbers(number: int, bounds: tuple[int, int]) -> None:
    assert bounds_of(number) == bounds


@pytest.mark.parametrize("number", [MOST + 1, -MOST - 1])
def test_a_number_that_no_item_can_have_is_rejected(number: int) -> None:
    with pytest.raises(ValueError, match=r"is too large: DynamoDB stores integers below 10\*\*126"):
        ranges_of(number)


@given(numbers, numbers)
def test_positions_ascend_as_numbers_do(first: int, second: int) -> None:
    low, high = sorted((first, second))
    assert 0 <= position_of(low) <= position_of(high) < SLOTS**LEVELS
    assert (position_of(low) == position_of(high)) == (bounds_of(low) == bounds_of(high))


# The next number after a range is in the next range: nothing is between two ranges.
@given(numbers)
def test_ranges_are_adjacent(number: int) -> None:
    low, high = bounds_of(number)
    assert low <= number <= high
    if abs(number) < MOST // 2:
        assert position_of(high + 1) == position_of(number) + 1
        assert position_of(low - 1) == position_of(number) - 1
    assert high - low <= max(0, abs(number) // (2**16 if abs(number) < 2**127 else 2**11))


# What a rank relies on: of two numbers in different ranges, exactly one level has both in one block, and different
# slots of it, and there the larger number has the larger slot.
@given(numbers, numbers)
def test_one_level_tells_which_number_is_larger(first: int, second: int) -> None:
    shared = [
        (mine.slot, other.slot)
        for mine, other in zip(ranges_of(first), ranges_of(second), strict=True)
        if mine.block == other.block and mine.slot != other.slot
    ]
    if position_of(first) == position_of(second):
        assert shared == []
    else:
        assert [mine < other for mine, other in shared] == [first < second]


class Lap(sk.Item, table=sk.Table("range-laps", stream="NEW_AND_OLD_IMAGES")):
    driver: str
    millis: int | None = None
    seconds: Decimal = Decimal(0)
    key = sk.Key("{driver}")


class LapRange(sk.Item, table="lap-ranges"):
    block: str
    slot: int
    drivers: int = 0
    key = sk.Key("{block}", "{slot:02}")


def declared(of: str) -> Any:
    return sk.patterns.aggregate(
        Lap, into=LapRange, by=(), window=sk.patterns.ranges(of), values={"drivers": sk.patterns.count()}
    )


def test_a_field_that_has_no_integers_is_rejected() -> None:
    with pytest.raises(sk.DeclarationError, match=r"Lap\.seconds must be an int to be in ranges"):
        declared("seconds")
    with pytest.raises(sk.DeclarationError, match="Lap has no field 'milis'; did you mean 'millis'"):
        declared("milis")
