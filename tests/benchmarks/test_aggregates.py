"""The comparison of aggregates: right where it must be, and wrong where the other way is."""

from __future__ import annotations

import pytest

from benchmarks._add_in_transactions import AddInTransactions
from benchmarks._favourites import COUNTED
from benchmarks.aggregates import measure

CHANGES = 1500


@pytest.mark.slow
def test_both_ways_count_right_without_faults() -> None:
    assert measure(COUNTED.aggregator, 0, 0, 100, CHANGES).wrong == 0
    assert measure(AddInTransactions, 0, 0, 100, CHANGES).wrong == 0


@pytest.mark.slow
def test_only_the_aggregate_counts_right_with_faults() -> None:
    assert measure(COUNTED.aggregator, 0.5, 0.01, 100, CHANGES).wrong == 0
    assert measure(AddInTransactions, 0.5, 0.01, 100, CHANGES).wrong > 0
