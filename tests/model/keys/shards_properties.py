"""Growing the number of shards moves items to new shards only, and spreads them evenly."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from sortkey.model.fields.annotation import Annotation
from sortkey.model.keys.shards import MOST_SHARDS, Sharding, Shards, jump

DIGESTS = st.integers(0, 2**64 - 1)
NUMBERS = st.integers(1, MOST_SHARDS)


@given(digest=DIGESTS, few=NUMBERS, many=NUMBERS)
def test_items_move_to_new_shards_only(digest: int, few: int, many: int) -> None:
    few, many = sorted((few, many))
    before, after = jump(digest, few), jump(digest, many)
    assert 0 <= before < few
    assert after == before or few <= after < many


# What readers rely on: an item leaves a shard of the first phase for one of the second.
@given(digest=DIGESTS, formerly=NUMBERS, number=NUMBERS)
def test_shards_that_items_leave_are_read_first(digest: int, formerly: int, number: int) -> None:
    phases = Sharding(Shards(number, formerly=formerly), (), {}).phases
    former, now = jump(digest, formerly), jump(digest, number)
    assert sorted(shard for phase in phases for shard in phase) == list(range(max(formerly, number)))
    if former != now:
        assert former in phases[0]
        assert now in phases[1]


def test_names_are_spread_evenly() -> None:
    sharding = Sharding(Shards(16), ("name",), {"name": Annotation(str, optional=False, inexact=False)})
    counts = Counter(sharding.shard(f"restaurant-{number}") for number in range(16_000))
    assert set(counts) == set(range(16))
    assert max(counts.values()) < 1150
