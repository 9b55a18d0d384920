"""The benchmark of growth, on a scale that is small enough for a test. Its calls check their own answers."""

from __future__ import annotations

import pytest

from benchmarks.growth import CALLS, measure


@pytest.mark.slow
def test_every_call_is_measured_beside_the_smallest_store() -> None:
    found = list(measure([1000, 2000], turns=1))
    assert len(found) == 2 * len(CALLS)
    assert all(result.value > 0 and result.peers["1,000 rows"] > 0 for result in found)
