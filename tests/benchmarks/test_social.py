"""The benchmark of social, on a scale that is small enough for a test."""

from __future__ import annotations

import pytest

from benchmarks.social import leaderboards


# The benchmark itself checks ranks and top lists.
@pytest.mark.slow
def test_a_leaderboard_is_loaded_and_measured() -> None:
    found = {result.name: result for result in leaderboards(few=300, many=600, calls=3, walks=2)}
    assert all(result.value > 0 for result in found.values())
    # An event, a score and its place in the top list, the total, and two ranges or more.
    assert found["score among 300, with what follows"].value >= 1 + 3 + 1 + 2
    assert found["rank among 600, units"].value < found["rank among 600, units"].peers["count of all above"]
