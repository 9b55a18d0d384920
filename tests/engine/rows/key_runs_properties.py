"""Long runs of keys against a search of every place."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sortkey.engine.rows.key_runs import SHORTEST, long_runs
from sortkey.engine.rows.records import PARTITION_END


def key(partition: int, number: int) -> bytes:
    return partition.to_bytes(PARTITION_END, "big") + number.to_bytes(4, "big")


def ascending(keys: list[bytes]) -> list[range]:
    """The longest pieces in which each key follows the one before it."""
    breaks = [
        place
        for place, (before, after) in enumerate(pairwise(keys), 1)
        if before >= after or before[:PARTITION_END] != after[:PARTITION_END]
    ]
    return [range(*ends) for ends in pairwise([0, *breaks, len(keys)])] if keys else []


pieces = st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(1, 3 * SHORTEST))


@given(st.lists(pieces, max_size=5))
def test_long_runs_are_found_and_short_ones_are_not(drawn: list[tuple[int, int, int]]) -> None:
    keys = [key(partition, first + number) for partition, first, length in drawn for number in range(length)]
    whole = ascending(keys)
    found = list(long_runs(keys))
    assert all(run in whole and len(run) >= SHORTEST for run in found)
    assert [run for run in whole if len(run) >= 2 * SHORTEST and run not in found] == []
