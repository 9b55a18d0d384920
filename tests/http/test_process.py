"""The interpreter of a serving process."""

from __future__ import annotations

import gc
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
    assert gc.get_threshold()[0] > 700
