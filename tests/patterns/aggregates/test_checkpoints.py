"""Checkpoints: short, and in the order of sequence numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sortkey.patterns.aggregates.checkpoints import checkpoint_attribute, checkpoint_of, short_shard

numbers = st.integers(0, 10**40 - 1)


@given(numbers, numbers)
def test_checkpoints_compare_as_sequence_numbers(one: int, other: int) -> None:
    assert (checkpoint_of(f"{one:040}") < checkpoint_of(f"{other:040}")) == (one < other)
    assert (checkpoint_of(f"{one:040}") == checkpoint_of(f"{other:040}")) == (one == other)


def test_shards_are_short() -> None:
    assert checkpoint_attribute("m", "shardId-00000001414576573621-f55eea83") == "m:1495b558cb5-f55eea83"


@given(st.integers(0, 10**20 - 1), st.integers(0, 2**32 - 1), st.integers(0, 10**20 - 1), st.integers(0, 2**32 - 1))
def test_different_shards_have_different_checkpoints(time: int, number: int, other_time: int, other: int) -> None:
    one, two = f"shardId-{time:020}-{number:08x}", f"shardId-{other_time:020}-{other:08x}"
    assert (short_shard(one) == short_shard(two)) == (one == two)


def test_an_id_of_another_form_stays_as_it_is() -> None:
    assert short_shard("shard-7") == "shard-7"
