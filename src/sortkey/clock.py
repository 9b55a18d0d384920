"""The only module that reads the machine's clocks.

Times that are stored, shown, signed or compared with those of other machines come from a `Clock` that is passed in, so
that a test can move it. Durations and deadlines inside one process are measured with `monotonic`. Feeds, which wait for
hours, measure and wait by a `WaitingClock`, so that a test need not.
"""

from __future__ import annotations

import asyncio
import datetime
import heapq
import threading
import time
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from functools import partial
from itertools import count
from types import BuiltinFunctionType
from typing import Final, Protocol

__all__ = ["Clock", "ManualClock", "SystemClock", "WaitingClock", "monotonic", "sleep"]

# By a partial, which freezegun does not find: a deadline must be reached also while time is frozen.
monotonic: Final = (
    partial(time.monotonic)
    if isinstance(time.monotonic, BuiltinFunctionType)
    else partial(time.clock_gettime, time.CLOCK_MONOTONIC)
)
"""Seconds that never go back, from an arbitrary moment on."""

DEADLINE: Final[ContextVar[float | None]] = ContextVar("DEADLINE", default=None)
"""When the call under way must be done, by `monotonic`; None leaves that to the store's client.

A caller with little time sets it around a call. The sync remote client then waits no longer than the time left and does
not retry after it (`remote.Connections`); a store in the process waits no longer for another process that writes
(`write_queue`). Both raise TimeoutError. A store in the process waits for ever if it is infinite.
"""


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
    """The machine's clock, or what a test makes of it by time-machine or freezegun: then `now` is the test's time, and
    durations are the machine's."""

    def now(self) -> float:
        now = time.time
        return now() if type(now) is BuiltinFunctionType else _replaced(now)

    def monotonic(self) -> float:
        return monotonic()

    async def sleep(self, seconds: float) -> None:
        await sleep(seconds)

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        if type(time.monotonic) is not BuiltinFunctionType:
            return await _event_or(event, sleep(seconds))
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
        self._ahead = 0.0
        """By how much the machine's clock was set forward."""
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        """A heap: until when, which one of those until then, and what wakes it."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._now + self._ahead

    def monotonic(self) -> float:
        """Seconds that have passed, whatever `jump` has done."""
        return self._now

    def jump(self, seconds: float) -> None:
        """Set the clock forward, or back, without time passing: nobody who waits notices."""
        self._ahead += seconds

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds
        while self._sleepers and self._sleepers[0][0] <= self._now:
            *_, woken = heapq.heappop(self._sleepers)
            if not woken.done():
                woken.set_result(None)

    async def sleep(self, seconds: float) -> None:
        """Wait until so much time has passed."""
        await self._sleep_until(self._now + seconds)

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        """Wait until the event is set, or so much time has passed. Whether it is set."""
        # The task that waits for the time starts a little later: the clock may be moved before it does.
        return await _event_or(event, self._sleep_until(self._now + seconds))

    async def _sleep_until(self, at: float) -> None:
        if at <= self._now:
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (at, next(self._order), woken))
        await woken


def let_others_run() -> None:
    """Let another thread run, if one is waiting. It would otherwise get its turn after some milliseconds."""
    time.sleep(0)


async def sleep(seconds: float) -> None:
    """Wait for so long, also in an event loop whose time is frozen: freezegun stops it, unless it has
    `real_asyncio=True`."""
    if type(time.monotonic) is BuiltinFunctionType or seconds <= 0:
        await asyncio.sleep(seconds)
        return
    loop = asyncio.get_running_loop()
    passed = asyncio.Event()
    timer = threading.Timer(seconds, loop.call_soon_threadsafe, [passed.set])
    timer.daemon = True
    timer.start()
    try:
        await passed.wait()
    finally:
        timer.cancel()


async def _event_or(event: asyncio.Event, pause: Coroutine[None, None, None]) -> bool:
    """Wait until the event is set, or the pause is over. Whether the event is set."""
    either = {asyncio.ensure_future(event.wait()), asyncio.ensure_future(pause)}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in either:
            each.cancel()
    return event.is_set()


def _replaced(now: Callable[[], float]) -> float:
    """The time by a function that a test has put in the place of `time.time`. That of freezegun tells the machine's
    time to threads, and so to the thread of an embedded store; its datetime tells them the frozen one."""
    if now.__module__ != "freezegun.api":
        return now()
    return datetime.datetime.utcnow().replace(tzinfo=datetime.UTC).timestamp()  # noqa: DTZ003
