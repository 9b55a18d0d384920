"""A handler that keeps what it gets, and tells when there is enough."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

import sortkey as sk
from tests.patterns.schedules.reminders import NOON, Reminder

SECONDS = 60.0
"""For something that has to happen; it takes much less."""

QUICK = 0.02
"""A poll, in seconds, for clocks that the tests move."""


class Handled(NamedTuple):
    user: str
    at: datetime
    numbers: tuple[int, ...]
    """Of the reminders that asked for it."""


class Handler:
    def __init__(self) -> None:
        self.handled: list[Handled] = []
        self._more = asyncio.Condition()

    async def __call__(self, due: sk.patterns.Due[Reminder]) -> None:
        numbers = tuple([each.number async for each in due.items()])
        self.handled.append(Handled(due.group["user"], due.at, numbers))
        async with self._more:
            self._more.notify_all()

    @property
    def times(self) -> list[datetime]:
        return [each.at for each in self.handled]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition is true after a call."""
        async with asyncio.timeout(SECONDS), self._more:
            await self._more.wait_for(condition)

    async def until_calls(self, count: int) -> None:
        await self.until(lambda: len(self.handled) >= count)


async def caught_up(follower: sk.feeds.Follower) -> None:
    async with asyncio.timeout(SECONDS):
        await follower.caught_up()


def reminder(number: int, at: datetime | None = NOON, user: str = "ana") -> Reminder:
    return Reminder(user=user, number=number, at=at)


def count(follower: sk.feeds.Follower, outcome: str, schedule: str = "timers-by-item") -> float:
    return follower.samples()[f'sortkey_timers_total{{schedule="{schedule}",outcome="{outcome}"}}']
