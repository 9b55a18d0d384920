"""Regions that are cut off and killed have the same rows in the end, those of the last writers. `python -m
tests.faults.regions` with more writes is for the hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.faults.regions.campaign import Plan, run
from tests.faults.regions.history import History, Write


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_regions_converge_to_what_the_last_writers_left(tmp_path: Path) -> None:
    plan = Plan(seed=7, writes=1500, kills=2, keys=12)
    result = run(plan, tmp_path)
    assert result.differences == []
    assert result.kills == plan.kills
    assert result.conflicts > 100


# The check would find a lost write, a write that a region kept, and one that nobody made.
def test_the_history_tells_who_may_have_been_last() -> None:
    history = History()
    history.add("a", Write("eu", "1", 1.0, 2.0))
    history.add("a", Write("us", "2", 1.5, 2.5))
    assert history.problems({"a": "1"}) == history.problems({"a": "2"}) == []
    assert history.problems({}) != []
    history.add("a", Write("eu", None, 3.0, 3.1))
    assert history.problems({}) == []
    assert history.problems({"a": "2"}) != []
    history.add("a", Write("us", "3", 3.0, math.inf))
    assert history.problems({"a": "3"}) == []
    assert history.problems({"b": "1"}) != []
