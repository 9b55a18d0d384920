"""The benchmark of goals, on a scale that is small enough for a test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from benchmarks import goals
from benchmarks._results import Result
from benchmarks.goals import Sizes, measured
from tests.kafka.broker import Broker


def no_spark(*_: object) -> Iterator[Result]:
    """Spark takes seconds to start, and other tests start it."""
    return iter(())


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
def test_batch_reads_and_events_are_measured(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goals, "_on_spark", no_spark)
    monkeypatch.setattr(goals, "running", lambda _: nullcontext(broker))
    found = {result.name: result for result in measured(Sizes(500, pending=50, reads=100, seconds=1, events=5))}
    assert all(result.value > 0 for result in found.values())
    # A GetItem and a Query, each half a unit, and now and then the pointer.
    assert 1 <= found["read, capacity units"].value < 1.1
    assert "without a load" in found["read over HTTP during a load, paced by 10 ms, p99"].peers
