"""The demonstration: loaded by the real batch job, visited, and confirmed by the next batch."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

import sortkey as sk
from sortkey.clock import ManualClock
from sortkey_services.goals import demo
from sortkey_services.goals.batch.demo_gold import ANA, PERSONS
from sortkey_services.goals.demo import Demo, Visits
from sortkey_services.goals.event import DepositEvent
from sortkey_services.goals.model import PENDING, REJECTED, TABLES, Pending, views
from sortkey_services.goals.service import GoalsService
from tests.sortkey_services.goals.persons import SAVINGS, person

NOON = datetime(2100, 5, 16, 12, tzinfo=UTC)
Use = Callable[[GoalsService, sk.AsyncSession, ManualClock], Awaitable[None]]


def with_demo(use: Use) -> None:
    async def whole() -> None:
        clock = ManualClock(NOON.timestamp())
        async with sk.async_connect("memory:", tables=TABLES, clock=clock) as session:
            service = GoalsService(session, clock=clock)
            await service.start()
            await use(service, session, clock)

    asyncio.run(whole())


class Stopped(Exception):
    pass


def stop_after(visits: int) -> Callable[[float], Awaitable[None]]:
    """A pause that takes no time, and ends the demonstration at last."""
    left = visits

    async def pause(_: float) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Stopped

    return pause


@pytest.mark.slow
def test_before_the_deposit_pending_and_confirmed_by_the_batch() -> None:
    async def use(service: GoalsService, session: sk.AsyncSession, clock: ManualClock) -> None:
        seen: list[tuple[int, int]] = []
        await service.load_demo(lambda done, total: seen.append((done, total)))
        assert seen[-1] == (PERSONS + 1, PERSONS + 1)
        assert await savings(service) == (32_000, "IN_PROGRESS")

        event = DepositEvent(
            event_id="e1", person_id=ANA, goal_id=SAVINGS, current_balance=370.0, status=PENDING, updated_at=NOON
        )
        await service.apply([event])
        assert await savings(service) == (37_000, PENDING)

        clock.advance(60)
        with pytest.raises(Stopped):
            await Demo(session, clock).run(service.apply, stop_after(demo.VISITS_BETWEEN_BATCHES))
        again = GoalsService(session, clock=clock)
        assert await savings(again) == (37_000, "IN_PROGRESS")
        assert (await again.read(ANA)).view.as_of == NOON + timedelta(seconds=60)
        samples = await again.samples()
        assert samples["sortkey_goals_persons"] == PERSONS + 1
        assert samples['sortkey_goals_reconciled{outcome="confirmed"}'] >= 1

    async def savings(service: GoalsService) -> tuple[int, str]:
        goals = (await service.read(ANA)).view.goals
        return next((goal.saved_cents, goal.status) for goal in goals if goal.goal == SAVINGS)

    with_demo(use)


def test_what_is_served_already_stays() -> None:
    async def use(service: GoalsService, session: sk.AsyncSession, _: ManualClock) -> None:
        await views.load(session, [person()], as_of=NOON)
        await service.load_demo(lambda *_: pytest.fail("nothing is to be loaded"))
        assert (await service.read("ana")).view.name == "Ana Silva"

    with_demo(use)


# The demonstration's as-of is of today; a first real batch may well be of last month.
@pytest.mark.slow
def test_every_real_batch_replaces_the_demonstration_and_ends_it() -> None:
    async def use(service: GoalsService, session: sk.AsyncSession, clock: ManualClock) -> None:
        await service.load_demo(lambda *_: None)
        long_ago = NOON - timedelta(days=1000)
        await views.load(session, [person("bea", as_of=long_ago)], as_of=long_ago)
        await Demo(session, clock).run(service.apply, stop_after(1))
        assert [each async for each in session.scan(Pending)] == []

    with_demo(use)


def test_visitors_make_deposits_and_some_are_rejected() -> None:
    visits = Visits(Random(1), 10)
    assert {visits.person() for _ in range(200)} == {f"p{number:07}" for number in range(10)}
    made = [visits.events(person(), NOON) for _ in range(300)]
    assert {events[-1].status for events in made} == {PENDING, REJECTED}
    assert len({event.event_id for events in made for event in events}) == sum(map(len, made))


def test_without_duckdb_the_log_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delitem(sys.modules, "sortkey_services.goals.batch.demo_gold")
    monkeypatch.setitem(sys.modules, "duckdb", None)

    async def use(service: GoalsService, *_: object) -> None:
        await service.load_demo(lambda *_: None)
        await service.run_demo()
        with pytest.raises(sk.services.NotFound):
            await service.read(ANA)

    with caplog.at_level(logging.WARNING):
        with_demo(use)
    assert [record.message for record in caplog.records] == [
        "goals has no demonstration data: duckdb is not installed; run: pip install 'sortkey[batch]'"
    ]
