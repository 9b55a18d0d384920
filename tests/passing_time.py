"""Lets time pass, by a clock that stands still otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from sortkey.clock import ManualClock
from sortkey.model.calls.steps import Pacing

T = TypeVar("T")

SECONDS = 60.0
"""For something that has to happen; it takes much less."""
TURN = 0.002
"""Real seconds between two steps of the clock, in which whatever goes by the clock can do its work."""
BRIEF = Pacing(first_pause=0.001, longest_pause=0.01)
"""For sessions of stores with faults: the pauses before retries, which go by the system's time."""


async def while_time_passes(clock: ManualClock, work: Awaitable[T], step: float = 0.1) -> T:
    """The result of something that waits by the clock; `step` are the seconds that pass at once."""
    waiting = asyncio.ensure_future(work)
    try:
        async with asyncio.timeout(SECONDS):
            while not waiting.done():
                await asyncio.wait({waiting}, timeout=TURN)
                clock.advance(step)
    finally:
        waiting.cancel()
    return waiting.result()
