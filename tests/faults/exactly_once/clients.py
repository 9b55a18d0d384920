"""Clients that mark and unmark at the same time, and wait at each fault until the one before it has happened."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from random import Random
from typing import Final

import sortkey as sk
from tests.faults.exactly_once.service import ComparedFavourites

USERS: Final = 2_000
RESTAURANTS: Final = 150
MOMENTS: Final = tuple(
    datetime(2025, 12, 30, 9, tzinfo=UTC) + timedelta(days=days, hours=hours)
    for days in (0, 1, 2, 40)
    for hours in (0, 14, 15)
)
"""When marks are made: in two years, three months and six days."""
UNMARKED: Final = 0.4

_POPULARITY: Final = tuple(accumulate(1 / (rank + 1) for rank in range(RESTAURANTS)))


class DrawnMoments:
    """A clock that shows one of the moments, at random."""

    def __init__(self, draw: Random) -> None:
        self._draw = draw

    def now(self) -> float:
        return self._draw.choice(MOMENTS).timestamp()


class Clients:
    """`count` operations. They stop before each of `faults`, which are numbers of operations, until they may pass."""

    def __init__(self, session: sk.AsyncSession, seed: int, count: int, faults: Sequence[int]) -> None:
        self.marks = 0
        self.unmarks = 0
        self._draw = Random(f"clients {seed}")
        self._service = ComparedFavourites(session, clock=DrawnMoments(self._draw))
        self._count = count
        self._begun = 0
        self._marked: list[tuple[str, str]] = []
        self._faults = [*faults, count]
        self._reached = [asyncio.Event() for _ in self._faults]
        self._next = 0
        self._passed = 0
        self._may_pass = asyncio.Condition()

    async def run(self, clients: int) -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(clients):
                tasks.create_task(self._work())

    async def reached(self, fault: int) -> None:
        """Wait for the operations before a fault."""
        await self._reached[fault].wait()

    async def passed(self) -> None:
        """A fault has happened: the operations go on, up to the next but one."""
        async with self._may_pass:
            self._passed += 1
            self._may_pass.notify_all()

    async def _work(self) -> None:
        while self._begun < self._count:
            number = self._begun
            self._begun += 1
            while number >= self._faults[self._next]:
                self._reached[self._next].set()
                self._next += 1
            # While a fault happens, the operations up to the next one are made.
            async with self._may_pass:
                await self._may_pass.wait_for(lambda number=number: number < self._limit())  # type: ignore[misc]
            await self._operate()

    def _limit(self) -> int:
        following = self._passed + 1
        return self._faults[following] if following < len(self._faults) else self._count

    async def _operate(self) -> None:
        draw = self._draw
        if self._marked and draw.random() < UNMARKED:
            at = draw.randrange(len(self._marked))
            self._marked[at], self._marked[-1] = self._marked[-1], self._marked[at]
            self.unmarks += 1
            await self._service.unmark(*self._marked.pop())
            return
        restaurant = draw.choices(range(RESTAURANTS), cum_weights=_POPULARITY)[0]
        pair = (f"u{draw.randrange(USERS)}", f"r{restaurant}")
        self.marks += 1
        await self._service.mark(*pair)
        # One that was marked already is there twice, so that it may be unmarked twice, too.
        self._marked.append(pair)
