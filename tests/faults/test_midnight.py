"""Changes that are due at one instant appear together, whatever happens to the processors. `python -m
tests.faults.midnight` with more changes and stores is for the hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.midnight.campaign import Plan, run

PLAN = Plan(seed=7, changes=600, stores=15, kills=1)


# First no processor runs, then one is killed at work, and another one ends the work.
@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.timeout(600)
def test_no_reader_sees_a_store_half_changed(tmp_path: Path) -> None:
    result = run(PLAN, str(tmp_path / "data"))
    assert result.named == []
    assert (result.wrong, result.unfinished) == (0, 0)
    assert result.kills == PLAN.kills
    assert all(tally.reads_after >= 2 * PLAN.reads for tally in result.tallies)
