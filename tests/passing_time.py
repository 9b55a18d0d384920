"""Lets time pass, by a clock that stands still otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

import pytest

from sortkey.clock import ManualClock
from sortkey.model.calls import create_tables
from sortkey.model.calls.steps import Pacing, Pause
from sortkey.model.maintenance import table_changes

T = TypeVar("T")

SECONDS = 60.0
"""For something that has to happen; it takes much less."""
TURN = 0.002
"""Real seconds between two steps of the clock, in which whatever goes by the clock can do its work."""
BRIEF = Pacing(first_pause=0.001, longest_pause=0.01)
"""For sessions of stores with faults: the pauses before retries, which go by the system's time."""


@pytest.fixture
def brief_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions look every hundredth of a second, and not every half, whether a table or an index is ready."""
    monkeypatch.setattr(create_tables, "POLL", Pause(0.01))
    monkeypatch.setattr(table_changes, "POLL", Pause(0.01))
    monkeypatch.setattr(table_changes, "_POLL", 0.01)


async def while_time_passes(clock: ManualClock, work: Awaitable[T], step: float = 0.1, turn: float = TURN) -> T:
    """The result of something that waits by the clock; `step` are the seconds that pass at once. Work that is done by
    the loop alone, without a store and its threads, needs no real time for a `turn`."""
    waiting = asyncio.ensure_future(work)
    try:
        async with asyncio.timeout(SECONDS):
            while not waiting.done():
                await asyncio.wait({waiting}, timeout=turn)
                clock.advance(step)
    finally:
        waiting.cancel()
    return waiting.result()
