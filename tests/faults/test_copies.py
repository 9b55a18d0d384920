"""A copier that is killed at random, and writers that go on. `python -m tests.faults.copies` with more rows and kills
is for the hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.copies.campaign import Plan, opened_target, run
from tests.maven import Unavailable

PLAN = Plan(rows=2000, writes=100, kills=2, seed=7, longest_run=2.0, kills_at_fence=False)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["endpoint", pytest.param("local", marks=pytest.mark.oracle)])
def test_nothing_is_lost_and_nothing_is_there_twice(kind: str, tmp_path: Path) -> None:
    try:
        with opened_target(kind, tmp_path) as target:
            result = run(PLAN, tmp_path, target, lambda _: None)
    except Unavailable as error:
        pytest.skip(f"no DynamoDB Local: {error}")
    assert (result.lost, result.wrong) == (0, 0)
    assert result.kills == PLAN.kills
    assert result.written > 0
    assert "both are equal" in result.said
