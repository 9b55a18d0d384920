"""The only module that reads the machine's clocks.

Times that are stored, shown, signed or compared with those of other machines come from a `Clock` that is passed in, so
that a test can move it. Durations and deadlines inside one process are measured with `monotonic`. Feeds, which wait for
hours, measure and wait by a `WaitingClock`, so that a test need not.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from itertools import count
from typing import Final, Protocol

__all__ = ["Clock", "ManualClock", "SystemClock", "WaitingClock", "monotonic"]

monotonic: Final = time.monotonic
"""Seconds that never go back, from an arbitrary moment on."""


class Clock(Protocol):
    """What tells sessions and stores the time."""

    def now(self) -> float:
        """Seconds since the epoch."""


class WaitingClock(Clock, Protocol):
    """A clock by which feeds also measure durations, and wait."""

    def monotonic(self) -> float:
        """Seconds since some moment; it never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Wait for so long."""

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        """Wait until the event is set, `seconds` at most. Whether it is set."""


class SystemClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            return False
        return True


class ManualClock:
    """A clock that stands still until a test moves it: for `sk.connect`, `sk.async_connect` and `sk.feeds.Follower`.

        clock = sk.testing.ManualClock()
        with sk.connect("memory:", tables=[Order], clock=clock) as db:
            …
            clock.advance(3600)

    `start` is in seconds since the epoch. What waits by the clock goes on when `advance` has reached its time.
    """

    def __init__(self, start: float = 1_750_000_000.0) -> None:
        self._now = start
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        """A heap: until when, which one of those until then, and what wakes it."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._now

    def monotonic(self) -> float:
        """The same."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds
        while self._sleepers and self._sleepers[0][0] <= self._now:
            *_, woken = heapq.heappop(self._sleepers)
            if not woken.done():
                woken.set_result(None)

    async def sleep(self, seconds: float) -> None:
        """Wait until so much time has passed."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), woken))
        await woken

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        """Wait until the event is set, or so much time has passed. Whether it is set."""
        either = {asyncio.ensure_future(event.wait()), asyncio.ensure_future(self.sleep(seconds))}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in either:
                each.cancel()
        return event.is_set()
