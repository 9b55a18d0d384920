"""The interpreter of a serving process."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from sortkey.http.process import SWITCH_SECONDS, tune_interpreter


@pytest.fixture
def interpreter() -> Iterator[None]:
    """As it was, after the test."""
    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    yield
    gc.unfreeze()
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


# A thread that decodes a large body must not hold up the loop, which needs the interpreter several times a request.
@pytest.mark.usefixtures("interpreter")
def test_threads_give_the_interpreter_away_soon() -> None:
    tune_interpreter()
    assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS)
    assert SWITCH_SECONDS <= 0.001


@pytest.mark.usefixtures("interpreter")
def test_the_collector_does_not_look_at_what_was_there_before() -> None:
    tune_interpreter()
    assert gc.get_freeze_count() > 0
    young, middle, old = gc.get_threshold()
    assert young > 700
    # Nor is it called for all that a process has made since, but once in many millions of objects.
    assert young * middle * old >= 20_000_000


# The loop waits for a collection. One of all objects of a large request would take longer than anything in it.
@pytest.mark.usefixtures("interpreter")
def test_a_collection_looks_at_a_few_thousand_objects() -> None:
    tune_interpreter()
    young, middle, _ = gc.get_threshold()
    assert young * middle <= 20_000


# DuckDB, which the demonstration uses, reports what is left at the end of a process as leaks.
@pytest.mark.slow
def test_what_was_frozen_is_collected_at_the_end() -> None:
    program = "import duckdb; from sortkey.http.process import tune_interpreter; tune_interpreter()"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stderr == ""
