"""Sound keys against a set of the leaves of one tree."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sortkey.storage.leaf_search import END, START, SoundKeys

BOUNDS = [START, *(bytes([number]) for number in range(10, 100, 10)), END]
LEAVES = list(pairwise(BOUNDS))


@given(added=st.lists(st.integers(0, len(LEAVES) - 1)))
def test_leaf_is_inside_if_it_and_those_beside_it_were_added(added: list[int]) -> None:
    keys = SoundKeys()
    for number in added:
        keys.add(*LEAVES[number])
    for number, (low, high) in enumerate(LEAVES):
        assert keys.includes(low, high) == (number in added)
        beside = {max(number - 1, 0), number, min(number + 1, len(LEAVES) - 1)}
        found = keys.inside(low)
        assert (found is not None) == (beside <= set(added))
        if found is not None:
            assert found[0] <= low
            assert high <= found[1]
            assert keys.inside(low + b"\0") == found
