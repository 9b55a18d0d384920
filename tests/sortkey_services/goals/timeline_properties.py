"""Whatever comes, late, twice, rejected or reordered, before the first batch or at the turn of a month, with batches of
any as-of, rollbacks and expiry: what is shown is what a plain model shows.

The model remembers the events of each goal: a deposit for five days after it came, a rejection for five days after a
batch has passed it, or after it came, if it is more than a day ahead. It knows no rows, no TTL, no conditions.
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
from sortkey_services.goals.ledger import MAX_EVENTS
from sortkey_services.goals.model import LIFETIME, PENDING, REJECTED, TABLES, DepositStatus, Pending, pending_row, views
from sortkey_services.goals.service import GoalsService
from tests.sortkey_services.goals.conftest import NO_LIMIT
from tests.sortkey_services.goals.persons import BONDS, SAVINGS, person

GOALS = (SAVINGS, BONDS)
TURN = 48
"""The hour at which a month begins."""
LIFETIME_HOURS = LIFETIME // timedelta(hours=1)
_examples = count()


class Event(NamedTuple):
    goal: str
    hour: int
    number: int
    balance: int | None
    status: DepositStatus
    contribution: str | None
    for_next_month: bool


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

contributions = st.sampled_from([None, None, "c1", "c2"])
# Few numbers and hours, so that events are repeated, and several have one instant.
hours = st.sampled_from([0, 1, 2, 47, 49, 50, 150])
numbers = st.integers(0, 2)
months = st.sampled_from([False, False, False, True])
deposits = st.builds(
    Event, st.sampled_from(GOALS), hours, numbers, st.integers(0, 9), st.just(PENDING), contributions, months
)
rejections = st.builds(
    Event,
    st.sampled_from(GOALS),
    hours,
    numbers,
    st.none() | st.integers(0, 9),
    st.just(REJECTED),
    contributions,
    months,
)
events = st.one_of(deposits, deposits, rejections)
steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(Deliver, st.lists(events, min_size=1, max_size=4), st.booleans()),
    st.builds(Batch, st.sampled_from([0, 1, 47, 48, 50, 100, 200]), st.integers(10, 19)),
    st.builds(Pass, st.sampled_from([1, 47, 60, 119, 120, 121])),
    st.builds(Choose, st.sampled_from(GOALS), st.booleans()),
    st.just(RollBack()),
    st.just(Sweep()),
)


class Known(NamedTuple):
    event: Event
    until: int | None


class Model:
    """What a person sees, from everything that happened."""

    def __init__(self, start: datetime) -> None:
        self.start = start
        self.hour = 0
        self.loads: list[Batch] = []
        self.rolled_back = False
        self.known: dict[str, list[Known]] = {goal: [] for goal in GOALS}
        self.chosen: set[str] = set()

    @property
    def as_of(self) -> int | None:
        return self.loads[-1].hour if self.loads else None

    def month(self, hour: int) -> str:
        return f"{self.start + timedelta(hours=hour):%Y-%m}"

    def month_of(self, event: Event) -> str:
        month = self.month(event.hour)
        return month_after(month) if event.for_next_month else month

    def events(self, goal: str, month: str) -> list[Event]:
        """That still count, the oldest first."""
        return [each.event for each in self.alive(goal) if self.month_of(each.event) == month]

    def alive(self, goal: str) -> list[Known]:
        return [each for each in self.known[goal] if each.until is None or self.hour <= each.until]

    def load(self, batch: Batch) -> None:
        self.loads.append(batch)
        self.rolled_back = False
        for goal in GOALS:
            self.known[goal] = [
                Known(event, self.hour + LIFETIME_HOURS)
                if until is None and event.hour <= batch.hour
                else Known(event, until)
                for event, until in self.known[goal]
            ]

    def deliver(self, event: Event) -> bool:
        if self.as_of is not None and event.hour <= self.as_of:
            return False
        month = self.month_of(event)
        before = self.events(event.goal, month)
        if any(age(each) == age(event) for each in before) or may_be_rejected(event, before):
            return False
        said = self.said(before, None)
        stays = event.status == REJECTED and event.hour <= self.hour + 24
        known = Known(event, None if stays else self.hour + LIFETIME_HOURS)
        kept = sorted([*self.alive(event.goal), known], key=lambda each: age(each.event))
        self.known[event.goal] = kept[-MAX_EVENTS:]
        is_newest = not before or age(event) > age(before[-1])
        rejected = {each.contribution for each in before if each.status == REJECTED} - {None}
        if is_newest and (event.status == REJECTED or event.contribution not in rejected):
            return True
        return self.said(self.events(event.goal, month), None) != said

    def said(self, events: list[Event], saved: int | None) -> tuple[bool, int | None]:
        """Whether a deposit is pending, and what is saved with it."""
        named = {each.contribution for each in events if each.status == PENDING}
        total = saved
        purse: list[tuple[str | None, int | None]] = []
        """What is pending: contributions and amounts."""
        gone: set[str | None] = set()
        for each in events:
            if self.as_of is not None and each.hour <= self.as_of:
                continue
            if each.status == PENDING:
                if each.contribution is None or each.contribution not in gone:
                    assert each.balance is not None
                    purse.append((each.contribution, None if total is None else each.balance - total))
                    total = each.balance
                continue
            gone.add(each.contribution)
            if each.contribution in named - {None}:
                own = [coin for coin in purse if coin[0] == each.contribution]
            else:
                own = [coin for coin in purse if each.contribution is None or coin[0] is None][-1:]
            for coin in own:
                # The newest of equal ones.
                purse.reverse()
                purse.remove(coin)
                purse.reverse()
                total = None if total is None or coin[1] is None else max(0, total - coin[1])
            total = total if each.balance is None else each.balance
        return bool(purse), total

    def shown(self) -> list[tuple[str, int, str]]:
        load, now = self.loads[-1], self.month(self.hour)
        month, saved, status = self.month(load.hour), load.saved, "IN_PROGRESS"
        if month_after(month) == now:
            month, saved, status = now, 0, "NOT_STARTED"
        return [self._shown(goal, month, saved, status) for goal in GOALS]

    def _shown(self, goal: str, month: str, saved: int, status: str) -> tuple[str, int, str]:
        begun = {self.month(self.hour), month}
        for each in sorted({self.month_of(known.event) for known in self.known[goal]}, reverse=True):
            if month <= each <= max(begun):
                is_pending, total = self.said(self.events(goal, each), saved if each == month else 0)
                if is_pending:
                    assert total is not None
                    return each, total, PENDING
        return month, saved, status


def month_after(month: str) -> str:
    return f"{datetime.strptime(month, '%Y-%m').replace(tzinfo=UTC) + timedelta(days=31):%Y-%m}"


def may_be_rejected(event: Event, known: list[Event]) -> bool:
    if event.status == REJECTED:
        return False
    deposits = {each.contribution for each in known if each.status == PENDING}
    for each in known:
        if each.status == REJECTED:
            anybodys = each.contribution is None or (event.contribution is None and each.contribution not in deposits)
            if anybodys and age(each) > age(event):
                return True
    return False


def age(event: Event) -> tuple[int, bool, int]:
    return event.hour, event.status == REJECTED, event.number


class Run:
    """One example against a store."""

    def __init__(self, session: sk.AsyncSession, clock: ManualClock, start: datetime, name: str) -> None:
        self._session, self._clock, self._start, self._name = session, clock, start, name
        self._service = GoalsService(session, NO_LIMIT, clock)
        self.model = Model(start)

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
            passed = [
                msgspec.structs.replace(event, until=self._now + LIFETIME)
                if event.status == REJECTED and event.until is None and event.updated <= as_of
                else event
                for event in row.events
            ]
            await self._session.put(pending_row(row.person, row.goal, passed, row.revision), if_version="revision")

    async def do(self, step: Step) -> None:
        model = self.model
        match step:
            case Deliver():
                await self._deliver(step)
            case Batch():
                if model.as_of is not None and step.hour < model.as_of:
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
                if not model.loads:
                    with pytest.raises(sk.services.NotFound):
                        await change(self._name, step.goal)
                    return
                await change(self._name, step.goal)
                (model.chosen.add if step.chosen else model.chosen.discard)(step.goal)
            case Sweep():
                async for row in self._session.iterate(Pending.key(person=self._name)):
                    if row.expires is not None and row.expires < self._now:
                        await self._session.delete(row.key)

    async def check(self) -> None:
        if not self.model.loads:
            with pytest.raises(sk.services.NotFound):
                await self._service.read(self._name)
            return
        shown = await self._service.read(self._name)
        assert [(goal.month, goal.saved_cents, goal.status) for goal in shown.view.goals] == self.model.shown()
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
                "currentBalance": None if event.balance is None else f"0.0{event.balance}",
                "status": event.status,
                "updatedAt": self._at(event.hour),
                "contributionId": event.contribution,
                "month": self.model.month_of(event) if event.for_next_month else None,
            },
            DepositEvent,
        )

    @property
    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), UTC)

    def _at(self, hour: int) -> datetime:
        return self._start + timedelta(hours=hour)

    def _forget_pointer(self) -> None:
        self._service = GoalsService(self._session, NO_LIMIT, self._clock)


def follow(store: str, steps: list[Step]) -> None:
    async def test() -> None:
        # Each example has a time of its own: a store serves many of them, and a load must be later than those before.
        number = next(_examples)
        start = datetime(2100 + number, 6, 1, tzinfo=UTC) - timedelta(hours=TURN)
        clock = ManualClock(start.timestamp())
        async with sk.async_connect(store, tables=TABLES, clock=clock) as session:
            await session.create_tables()
            run = Run(session, clock, start, f"person-{number}")
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
