"""The service on every store; its calls are awaited, so that tests are not coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from datetime import datetime
from math import inf
from typing import Any, TypeVar

import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey_services.goals.event import DepositEvent
from sortkey_services.goals.model import TABLES, PersonView, views
from sortkey_services.goals.service import GoalsService, Settings
from tests.sortkey_services.goals.persons import AS_OF, NOW, person

R = TypeVar("R")

NO_LIMIT = Settings(max_ahead_seconds=inf)
"""Most tests are about the order of events, at hours of a day at whose noon the clock stands."""


class Service:
    """A started service, whose calls are waited for."""

    def __init__(self, runner: asyncio.Runner, session: sk.AsyncSession, clock: ManualClock) -> None:
        self._runner = runner
        self.session = session
        self.clock = clock
        self.restart(NO_LIMIT)

    def restart(self, settings: Settings) -> None:
        """The service with these settings, on the same store."""
        self.goals = GoalsService(self.session, settings, self.clock)
        self.wait(self.goals.start())

    def wait(self, call: Coroutine[Any, Any, R]) -> R:
        return self._runner.run(call)

    def load(self, *persons: PersonView, as_of: datetime = AS_OF) -> None:
        """What a batch does. The service sees it at once, as if its remembered pointer had become old."""
        self.wait(views.load(self.session, persons, as_of=as_of))
        self.goals = GoalsService(self.session, NO_LIMIT, self.clock)

    def apply(self, *events: DepositEvent) -> tuple[int, int]:
        applied = self.wait(self.goals.apply(events))
        return applied.applied, applied.stale

    def consume(self, *values: bytes | None) -> Sequence[sk.feeds.Rejected]:
        return self.wait(self.goals.consume([sk.feeds.Message(value) for value in values]))

    def saved(self, person: str = "ana") -> list[tuple[int, str]]:
        """Saved cents and status of each goal."""
        return [(goal.saved_cents, goal.status) for goal in self.wait(self.goals.read(person)).view.goals]

    def rates(self) -> list[str]:
        return [str(goal.rate) for goal in self.wait(self.goals.read("ana")).view.goals]

    def chosen(self, person: str = "ana") -> set[str]:
        return set(self.wait(self.goals.read(person)).chosen)


@pytest.fixture
def service(store: str) -> Iterator[Service]:
    """With one person, ana."""
    clock = ManualClock(NOW.timestamp())
    with asyncio.Runner() as runner:

        async def opened() -> sk.AsyncSession:
            return await sk.async_connect(store, tables=TABLES, clock=clock)

        session = runner.run(opened())
        service = Service(runner, session, clock)
        service.load(person())
        yield service
        runner.run(session.close())
