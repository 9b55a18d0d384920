"""The benchmark of feeds, on a scale that is small enough for a test."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from benchmarks.feeds import THINGS, counted, marks, timers_of_one_instant


# It asserts that all were counted.
@pytest.mark.slow
@pytest.mark.parametrize("batch", [10, 1000])
def test_changes_are_counted(tmp_path: Path, batch: int) -> None:
    took = asyncio.run(counted(tmp_path, marks(60, range(1, THINGS + 1)), batch))
    assert took.wall > 0 < took.processor


@pytest.mark.slow
def test_timers_are_set_and_called(tmp_path: Path) -> None:
    found = asyncio.run(timers_of_one_instant(tmp_path, 30))
    assert all(took.wall > 0 < took.processor for took in found)
