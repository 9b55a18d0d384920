"""A goal that is reached is an event: once for a goal and month, whatever the batches do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

import sortkey as sk
from sortkey_services.goals.batch import job
from sortkey_services.goals.batch.batch_run import NotReconciled
from sortkey_services.goals.batch.job import BatchResult, run_batch
from sortkey_services.goals.batch.spark_engine import SparkEngine
from sortkey_services.goals.model import TABLES, ReachedGoal
from sortkey_services.goals.reached import reached_event
from sortkey_services.goals.service import GoalsService, Settings
from tests.kafka.broker import Broker
from tests.kafka.topic import everything
from tests.sortkey_services.goals.batch.small_gold import AS_OF, SmallGold, may

NOW = AS_OF + timedelta(hours=3)
DAY = timedelta(days=1)
SAVINGS = "SAVINGS_ACCOUNT"
CARL = ("carl", SAVINGS, "2026-05")
"""Has saved all of his 200.00."""
ANA = ("ana", SAVINGS, "2026-05")
"""Has saved 320.00 of 500.00."""


class Bank:
    """A store with a gold that changes from day to day, and a handler of its own beside the service's feeds."""

    def __init__(self, gold: SmallGold, session: sk.AsyncSession) -> None:
        self.gold = gold
        self.session = session
        self.events: list[tuple[str, str, str]] = []

    async def batch(self, after: timedelta = timedelta(0), **given: Any) -> BatchResult:
        inputs = self.gold.write()._replace(as_of=AS_OF + after, **given)
        return await run_batch(self.session, inputs, now=NOW + after)

    async def noted(self) -> set[tuple[str, str, str]]:
        return {(row.person, row.goal, row.month) async for row in self.session.scan(ReachedGoal)}

    async def follow(self) -> list[tuple[str, str, str]]:
        """The events so far, as a handler of a user's own gets them."""

        async def on_reached(changes: Sequence[sk.Change[ReachedGoal]]) -> None:
            for change in changes:
                assert change.new is not None
                self.events.append((change.new.person, change.new.goal, change.new.month))

        feed = sk.feeds.ChangeFeed("rewards", ReachedGoal, on_reached)
        async with sk.feeds.Follower(self.session, [feed]) as follower:
            await follower.caught_up()
        return self.events


def told(gold: SmallGold, story: Any) -> None:
    async def whole() -> None:
        async with sk.async_connect("memory:", tables=TABLES) as session:
            await session.create_tables()
            await story(Bank(gold, session))

    asyncio.run(whole())


@pytest.mark.slow
def test_a_goal_is_reached_once_whatever_batches_come(gold: SmallGold) -> None:
    async def story(bank: Bank) -> None:
        assert (await bank.batch()).reached == 1
        assert await bank.follow() == [CARL]
        assert (await bank.batch()).reached == 0, "the same batch again"
        gold.contribute(amount_cents=18_000, effective_at=may(16))
        assert (await bank.batch(DAY)).reached == 1
        gold.contribute(amount_cents=-18_000, effective_at=may(17))
        await bank.batch(2 * DAY)
        gold.contribute(amount_cents=18_000, effective_at=may(18))
        assert (await bank.batch(3 * DAY)).reached == 0, "it was reached before"
        assert await bank.follow() == [CARL, ANA]

    told(gold, story)


@pytest.mark.slow
def test_what_is_noted(gold: SmallGold) -> None:
    async def story(bank: Bank) -> None:
        await bank.batch()
        row = await bank.session.get(ReachedGoal.key(person="carl", goal=SAVINGS, month="2026-05"))
        assert row is not None
        assert msgspec.to_builtins(reached_event(row)) == {
            "eventId": "2026-05:SAVINGS_ACCOUNT:carl",
            "personId": "carl",
            "goalId": SAVINGS,
            "month": "2026-05",
            "status": "COMPLETED",
            "targetAmount": 200.0,
            "savedAmount": 200.0,
            "reachedAt": "2026-05-01T00:00:00Z",
            "asOf": "2026-05-16T00:00:00Z",
        }

    told(gold, story)


# It may be rejected, and an event cannot be taken back.
@pytest.mark.slow
def test_a_pending_balance_reaches_no_goal(gold: SmallGold) -> None:
    async def story(bank: Bank) -> None:
        await bank.batch()
        event = {
            "eventId": "e1",
            "personId": "ana",
            "goalId": SAVINGS,
            "currentBalance": 500,
            "status": "PENDING_CONFIRMATION",
            "updatedAt": (AS_OF + DAY / 2).isoformat(),
        }
        assert await GoalsService(bank.session).consume([sk.feeds.Message(msgspec.json.encode(event))]) == []
        assert await bank.noted() == {CARL}
        gold.contribute(amount_cents=18_000, effective_at=may(16))
        await bank.batch(DAY)
        assert await bank.noted() == {CARL, ANA}, "the batch has confirmed it"

    told(gold, story)


# A kill between the load and the notes: the load is served, and nothing is noted.
@pytest.mark.slow
def test_what_a_killed_batch_has_not_noted_the_next_one_notes(gold: SmallGold, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(bank: Bank) -> None:
        async def killed(*_: object) -> int:
            raise sk.ModelError("killed")

        with monkeypatch.context() as patched:
            patched.setattr(job, "note_reached", killed)
            with pytest.raises(NotReconciled, match="is served, but was not reconciled: killed"):
                await bank.batch()
        assert await bank.noted() == set()
        assert (await bank.batch(DAY)).reached == 1
        assert await bank.follow() == [CARL]

    told(gold, story)


# Another process noted the goals after this one had looked them up.
@pytest.mark.slow
def test_of_two_batches_at_once_one_notes(gold: SmallGold) -> None:
    async def story(bank: Bank) -> None:
        results = await asyncio.gather(bank.batch(), bank.batch(), return_exceptions=True)
        reached = [result.reached for result in results if isinstance(result, BatchResult)]
        assert sum(reached) == 1
        assert await bank.follow() == [CARL]

    told(gold, story)


# No batch of May sees what was paid in on the evening of the last day: as-of is the midnight before.
@pytest.mark.slow
def test_the_first_batch_of_a_month_notes_the_goals_of_the_month_before(gold: SmallGold) -> None:
    async def story(bank: Bank) -> None:
        await bank.batch()
        for name, values in gold.tables["goals"].items():
            values.append({"person_id": "ana", "goal_id": SAVINGS, "month": "2026-06", "target_cents": 50_000}[name])
        gold.contribute(amount_cents=18_000, effective_at=may(31, 22))
        result = await bank.batch(datetime(2026, 6, 1, 1, tzinfo=UTC) - AS_OF)
        assert result.run.month == "2026-06"
        assert await bank.noted() == {CARL, ANA}

    told(gold, story)


@pytest.mark.slow
def test_a_contribution_of_the_month_before_that_is_there_twice_reaches_nothing(gold: SmallGold) -> None:
    async def story(bank: Bank) -> None:
        for name, values in gold.tables["goals"].items():
            values.append({"person_id": "ana", "goal_id": SAVINGS, "month": "2026-06", "target_cents": 50_000}[name])
        for _ in range(2):
            gold.contribute(contribution_id="twice", amount_cents=9_000, effective_at=may(31, 22))
        await bank.batch(datetime(2026, 6, 1, 1, tzinfo=UTC) - AS_OF)
        assert await bank.noted() == {CARL}

    told(gold, story)


@pytest.mark.slow
def test_spark_finds_the_same(gold: SmallGold, spark: SparkEngine) -> None:
    async def story(bank: Bank) -> None:
        result = await run_batch(bank.session, gold.write()._replace(engine="spark"), now=NOW, engine=spark)
        assert result.reached == 1
        assert await bank.noted() == {CARL}

    told(gold, story)


def test_the_topic_has_each_event_once(gold: SmallGold, broker: Broker) -> None:
    settings = Settings(kafka=broker.bootstrap, topic=broker.topic(1))

    async def story(bank: Bank) -> None:
        for after in (timedelta(0), DAY):
            await bank.batch(after)
            async with sk.feeds.Follower(bank.session, GoalsService(bank.session, settings).feeds) as follower:
                await follower.caught_up()

    told(gold, story)
    (message,) = everything(broker.bootstrap, settings.topic)
    assert message.key() == b"carl"
    assert msgspec.json.decode(message.value() or b"")["eventId"] == "2026-05:SAVINGS_ACCOUNT:carl"


def test_without_a_broker_there_are_no_feeds() -> None:
    async def made() -> None:
        async with sk.async_connect("memory:", tables=TABLES) as session:
            assert GoalsService(session).feeds == []

    asyncio.run(made())
