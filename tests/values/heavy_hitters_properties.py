"""Heavy hitters against an exact count: the bounds that the sketch promises hold for every stream."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from sortkey.values.partition_counts import HeavyHitters

STREAMS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 8).map(lambda number: number / 2)), max_size=300)


@given(STREAMS, st.integers(1, 8))
def test_bounds_without_sampling(stream: list[tuple[int, float]], capacity: int) -> None:
    sketch: HeavyHitters[int] = HeavyHitters(capacity)
    exact: Counter[int] = Counter()
    for key, units in stream:
        sketch.add(key, units)
        exact[key] += int(units * 2)
    held = dict(sketch)
    assert len(held) <= 2 * capacity
    assert sketch.floor * capacity <= sum(exact.values()) / 2
    for key, halves in exact.items():
        count = held.get(key)
        if count is None:
            assert halves / 2 <= sketch.floor
        else:
            assert count.units <= halves / 2 <= count.units + count.error


@given(STREAMS, st.integers(1, 8), st.integers(2, 16))
def test_bounds_with_sampling(stream: list[tuple[int, float]], capacity: int, sampling: int) -> None:
    """What is counted, without what is assumed, is never too much."""
    sketch: HeavyHitters[int] = HeavyHitters(capacity, sampling)
    exact: Counter[int] = Counter()
    for key, units in stream:
        sketch.add(key, units)
        exact[key] += int(units * 2)
    assert len(sketch) <= 2 * capacity
    for key, count in sketch:
        assert 0 < count.units - count.assumed <= exact[key] / 2
    if len(exact) <= 2 * capacity:
        assert {key: count.units for key, count in sketch} == {key: halves / 2 for key, halves in exact.items()}
