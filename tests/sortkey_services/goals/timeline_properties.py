"""Whatever comes, late, twice, rejected or reordered, with batches of any as-of, rollbacks and expiry: what is shown is
what a plain model shows.

The model remembers the newest event of each goal: a deposit for five days after it came, a rejection for five days
after a batch has passed it, or after it came, if it is more than a day ahead. It knows no rows, no TTL, no conditions.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey_services.goals.event import DepositEvent
from sortkey_services.goals.model import LIFETIME, PENDING, REJECTED, TABLES, DepositStatus, Pending, views
from sortkey_services.goals.service import GoalsService
from tests.sortkey_services.goals.persons import BONDS, SAVINGS, person

GOALS = (SAVINGS, BONDS)
START = datetime(2100, 1, 1, tzinfo=UTC)
EXAMPLE = timedelta(days=100)
"""Each example has a time of its own: a store serves many of them, and a load must be later than those before."""
LIFETIME_HOURS = LIFETIME // timedelta(hours=1)
_examples = count()


class Event(NamedTuple):
    goal: str
    hour: int
    number: int
    balance: int
    status: DepositStatus


class Deliver(NamedTuple):
    events: list[Event]
    by_feed: bool


class Batch(NamedTuple):
    hour: int
    saved: int


class Pass(NamedTuple):
    hours: int


class Choose(NamedTuple):
    goal: str
    chosen: bool


class RollBack(NamedTuple):
    pass


class Sweep(NamedTuple):
    """TTL deletes what has expired, at last."""


Step = Deliver | Batch | Pass | Choose | RollBack | Sweep

statuses: st.SearchStrategy[DepositStatus] = st.sampled_from([PENDING, PENDING, REJECTED])
# Few numbers and hours, so that events are repeated, and several have one instant.
events = st.builds(
    Event,
    st.sampled_from(GOALS),
    st.sampled_from([0, 1, 2, 50, 51, 150]),
    st.integers(0, 2),
    st.integers(0, 9),
    statuses,
)
steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(Deliver, st.lists(events, min_size=1, max_size=4), st.booleans()),
    st.builds(Batch, st.sampled_from([0, 1, 50, 100, 200]), st.integers(10, 19)),
    st.builds(Pass, st.sampled_from([1, 60, 119, 120, 121])),
    st.builds(Choose, st.sampled_from(GOALS), st.booleans()),
    st.just(RollBack()),
    st.just(Sweep()),
)


class Model:
    """What a person sees, from everything that happened."""

    def __init__(self) -> None:
        self.hour = 0
        self.loads = [Batch(-1, 0)]
        self.rolled_back = False
        self.known: dict[str, tuple[Event, int | None]] = {}
        """The event that was applied last, and until when it counts."""
        self.chosen: set[str] = set()

    @property
    def as_of(self) -> int:
        return self.loads[-1].hour

    def newest(self, goal: str) -> Event | None:
        if goal not in self.known:
            return None
        event, until = self.known[goal]
        return event if until is None or self.hour <= until else None

    def load(self, batch: Batch) -> None:
        self.loads.append(batch)
        self.rolled_back = False
        for goal, (event, until) in self.known.items():
            if until is None and event.hour <= batch.hour:
                self.known[goal] = event, self.hour + LIFETIME_HOURS

    def deliver(self, event: Event) -> bool:
        newest = self.newest(event.goal)
        if event.hour <= self.as_of or (newest is not None and age(event) <= age(newest)):
            return False
        stays = event.status == REJECTED and event.hour <= self.hour + 24
        self.known[event.goal] = event, None if stays else self.hour + LIFETIME_HOURS
        return True

    def shown(self) -> list[tuple[int, str]]:
        found = []
        for goal in GOALS:
            newest = self.newest(goal)
            if newest is not None and newest.hour > self.as_of and newest.status == PENDING:
                found.append((newest.balance, PENDING))
            else:
                found.append((self.loads[-1].saved, "IN_PROGRESS"))
        return found


def age(event: Event) -> tuple[int, bool, int]:
    return event.hour, event.status == REJECTED, event.number


class Run:
    """One example against a store."""

    def __init__(self, session: sk.AsyncSession, clock: ManualClock, start: datetime, name: str) -> None:
        self._session, self._clock, self._start, self._name = session, clock, start, name
        self._service = GoalsService(session, clock=clock)
        self.model = Model()

    async def load(self, batch: Batch) -> None:
        """Raises Superseded as the pattern does."""
        view = person(self._name, as_of=self._at(batch.hour))
        goals = [msgspec.structs.replace(goal, saved_cents=batch.saved, status="IN_PROGRESS") for goal in view.goals]
        await views.load(self._session, [sk.replace(view, goals=goals)], as_of=view.as_of)
        await self._let_rejections_expire(view.as_of)
        self._forget_pointer()

    async def _let_rejections_expire(self, as_of: datetime) -> None:
        """What the batch job does, among much else, when its load is served."""
        async for row in self._session.iterate(Pending.key(person=self._name)):
            if row.status == REJECTED and row.expires is None and row.updated <= as_of:
                await self._session.update(row.key, {"expires": self._now + LIFETIME})

    async def do(self, step: Step) -> None:
        model = self.model
        match step:
            case Deliver():
                await self._deliver(step)
            case Batch():
                if step.hour < model.as_of:
                    with pytest.raises(sk.patterns.Superseded):
                        await self.load(step)
                else:
                    await self.load(step)
                    model.load(step)
            case RollBack():
                if len(model.loads) > 1 and not model.rolled_back:
                    await views.roll_back(self._session)
                    self._forget_pointer()
                    model.loads.pop()
                    model.rolled_back = True
            case Pass():
                self._clock.advance(step.hours * 3600)
                model.hour += step.hours
            case Choose():
                change = self._service.choose if step.chosen else self._service.take_back
                await change(self._name, step.goal)
                (model.chosen.add if step.chosen else model.chosen.discard)(step.goal)
            case Sweep():
                async for row in self._session.iterate(Pending.key(person=self._name)):
                    if row.expires is not None and row.expires < self._now:
                        await self._session.delete(row.key)

    async def check(self) -> None:
        shown = await self._service.read(self._name)
        assert [(goal.saved_cents, goal.status) for goal in shown.view.goals] == self.model.shown()
        assert shown.chosen == self.model.chosen

    async def _deliver(self, step: Deliver) -> None:
        events = [self._event(event) for event in step.events]
        applied = [self.model.deliver(event) for event in step.events]
        if step.by_feed:
            assert await self._service.consume([sk.feeds.Message(msgspec.json.encode(event)) for event in events]) == []
        else:
            answer = await self._service.apply(events)
            assert (answer.applied, answer.stale) == (sum(applied), len(applied) - sum(applied))

    def _event(self, event: Event) -> DepositEvent:
        return msgspec.convert(
            {
                "eventId": str(event.number),
                "personId": self._name,
                "goalId": event.goal,
                "currentBalance": f"0.0{event.balance}",
                "status": event.status,
                "updatedAt": self._at(event.hour),
            },
            DepositEvent,
        )

    @property
    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), UTC)

    def _at(self, hour: int) -> datetime:
        return self._start + timedelta(hours=hour)

    def _forget_pointer(self) -> None:
        self._service = GoalsService(self._session, clock=self._clock)


def follow(store: str, steps: list[Step]) -> None:
    async def test() -> None:
        number = next(_examples)
        start = START + number * EXAMPLE
        clock = ManualClock(start.timestamp())
        async with sk.async_connect(store, tables=TABLES, clock=clock) as session:
            await session.create_tables()
            run = Run(session, clock, start, f"person-{number}")
            await run.load(run.model.loads[0])
            for step in steps:
                await run.do(step)
                await run.check()

    asyncio.run(test())


@given(st.lists(steps, max_size=15))
def test_what_is_shown_is_what_the_model_shows(steps: list[Step]) -> None:
    follow("memory:", steps)


# Reads in parallel, and conditions that another process evaluates.
@pytest.mark.slow
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(steps, max_size=15))
def test_also_over_an_endpoint(our_endpoint: str, steps: list[Step]) -> None:
    follow(f"{our_endpoint}?prefix=timeline-", steps)
