"""A day with everything real: Kafka, PostgreSQL, DuckDB and Spark, in processes that share a folder."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import msgspec

import sortkey as sk
from sortkey_services.goals.batch.demo_gold import ANA, Deposit, demo_rules, write_gold
from sortkey_services.goals.batch.job import BatchInputs, run_batch
from sortkey_services.goals.batch.spark_engine import SparkEngine
from sortkey_services.goals.model import PENDING, REJECTED, TABLES, PersonView
from sortkey_services.goals.rules import Rules
from sortkey_services.goals.rules_database import write_rules
from sortkey_services.goals.service import GoalsService
from tests.kafka.broker import Broker
from tests.kafka.fixtures import StartWorker
from tests.kafka.topic import everything, produce
from tests.kafka.worker_process import WorkerProcess

SAVINGS, BONDS = "SAVINGS_ACCOUNT", "GOVERNMENT_BONDS"
MIDNIGHT = datetime(2026, 5, 15, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
GOALS = "CERTIFICATE_OF_DEPOSIT, GOVERNMENT_BONDS, SAVINGS_ACCOUNT"

Shown = Mapping[str, tuple[int, str, Decimal | None]]


def raised(rate: str) -> Rules:
    """The rules, after one of them was changed."""
    return Rules(
        rule._replace(rate=Decimal(rate))
        if (rule.goal, rule.tier, rule.valid_to) == (SAVINGS, "SILVER", None)
        else rule
        for rule in demo_rules().rules
    )


class Topic(NamedTuple):
    bootstrap: str
    name: str


class Day:
    """The bank of the story."""

    def __init__(self, folder: Path, rules: str, topic: Topic, worker: WorkerProcess) -> None:
        self.folder = folder
        self.rules = rules
        self.store = str(folder / "data")
        self.topic = topic
        self.worker = worker
        self._sent = 0

    def gold(self, as_of: datetime, *deposits: Deposit) -> BatchInputs:
        write_gold(self.folder / "gold", persons=20, as_of=as_of, deposits=deposits)
        return BatchInputs(self.folder / "gold", self.rules, as_of)

    def by_command(self, inputs: BatchInputs) -> None:
        assert inputs.as_of is not None
        options = {"--gold": inputs.gold, "--rules": inputs.rules, "--as-of": inputs.as_of.isoformat()}
        command = [
            "batch",
            "goals",
            "--store",
            self.store,
            *(str(word) for option in options.items() for word in option),
        ]
        subprocess.run([sys.executable, "-m", "sortkey", *command], check=True, capture_output=True)

    async def batch(self, inputs: BatchInputs, now: datetime, spark: SparkEngine | None = None) -> None:
        async with sk.async_connect(self.store, tables=TABLES) as session:
            name = "duckdb" if spark is None else "spark"
            await run_batch(session, inputs._replace(engine=name), engine=spark, now=now)

    async def views(self) -> list[PersonView]:
        """All persons that are served, without what differs between two runs."""
        async with sk.async_connect(self.store, tables=TABLES) as session:
            service = GoalsService(session)
            persons = sorted({each.person async for each in session.scan(PersonView)})
            read = [(await service.read(person)).view for person in persons]
        return [sk.replace(each, generation="", updated=MIDNIGHT) for each in read]

    async def shown(self) -> Shown:
        async with sk.async_connect(self.store, tables=TABLES) as session:
            view = (await GoalsService(session).read(ANA)).view
        return {goal.goal: (goal.saved_cents, goal.status, goal.rate) for goal in view.goals}

    def send(self, *events: tuple[str, timedelta, str, str], person: str = ANA) -> None:
        """Goal, time since midnight, balance and status of each; returns when the worker has handled them."""
        values = [
            {
                "eventId": f"e{self._sent + number}",
                "personId": person,
                "goalId": goal,
                "currentBalance": balance,
                "status": status,
                "updatedAt": (MIDNIGHT + after).isoformat(),
            }
            for number, (goal, after, balance, status) in enumerate(events)
        ]
        produce(*self.topic, [(person, msgspec.json.encode(value)) for value in values])
        self._sent += len(events)
        self.worker.wait_until_handled(self._sent)


def test_a_day(
    broker: Broker, start_worker: StartWorker, postgres_url: str, spark: SparkEngine, tmp_path: Path
) -> None:
    write_rules(postgres_url, demo_rules())
    config = tmp_path / "sortkey.toml"
    # So often that the next event has a rule that was changed before it.
    config.write_text(f'[goals]\nrules = "{postgres_url}"\nrefresh_seconds = 0.000001\npatience_seconds = 60\n')
    topic = broker.topic(1)
    day = Day(tmp_path, postgres_url, Topic(broker.bootstrap, topic), start_worker("goals", topic, config=config))
    asyncio.run(tell(day, spark))
    letters = everything(broker.bootstrap, f"{topic}.dead-letters")
    assert [dict(letter.headers() or ())["sortkey-reason"] for letter in letters] == [
        f"goalId: there is no goal 'YACHT'; the goals are {GOALS}".encode(),
    ]


async def tell(day: Day, spark: SparkEngine) -> None:
    # Yesterday's batch, and a customer's choice.
    await day.batch(day.gold(MIDNIGHT - DAY), MIDNIGHT - DAY + 3 * HOUR)
    async with sk.async_connect(day.store, tables=TABLES) as session:
        await GoalsService(session).choose(ANA, SAVINGS)
    assert (await day.shown())[SAVINGS] == (32_000, "IN_PROGRESS", Decimal("0.08"))

    # A deposit at 01:30. The batch of 03:00 has the data up to 00:00: the deposit stays visible.
    day.send((SAVINGS, 1.5 * HOUR, "370.00", PENDING))
    pending = (37_000, PENDING, Decimal("0.08"))
    assert (await day.shown())[SAVINGS] == pending
    tonight = day.gold(MIDNIGHT)
    await day.batch(tonight, MIDNIGHT + 3 * HOUR, spark)
    assert (await day.shown())[SAVINGS] == pending
    by_spark = await day.views()
    await day.batch(tonight, MIDNIGHT + 4 * HOUR)
    assert await day.views() == by_spark, "both engines give the same tables"

    # A rule that changes takes effect without a restart, for the next event.
    write_rules(day.rules, raised("0.2"))
    day.send((SAVINGS, 14 * HOUR, "400.00", PENDING))
    assert (await day.shown())[SAVINGS] == (40_000, PENDING, Decimal("0.2"))

    # A deposit that is rejected, after which it is delivered again.
    bonds = (BONDS, 15 * HOUR, "10.00", PENDING)
    day.send(bonds)
    assert (await day.shown())[BONDS] == (1_000, PENDING, Decimal("0.12"))
    day.send((BONDS, 16 * HOUR, "0.00", REJECTED), bonds)
    assert (await day.shown())[BONDS] == (0, "NOT_STARTED", Decimal("0.12"))
    day.send((SAVINGS, 17 * HOUR, "1.00", PENDING), person="nobody")
    day.send(("YACHT", 17 * HOUR, "1.00", PENDING))

    # The next night's gold has the deposits; the batch confirms them, with the new rule.
    deposits = [
        Deposit("d1", ANA, SAVINGS, 5_000, MIDNIGHT + 1.5 * HOUR),
        Deposit("d2", ANA, SAVINGS, 3_000, MIDNIGHT + 14 * HOUR),
    ]
    next_night = day.gold(MIDNIGHT + DAY, *deposits)
    day.by_command(next_night)
    confirmed = await day.shown()
    assert (confirmed[SAVINGS], confirmed[BONDS]) == (
        (40_000, "IN_PROGRESS", Decimal("0.2")),
        (0, "NOT_STARTED", Decimal("0.12")),
    )
    async with sk.async_connect(day.store, tables=TABLES) as session:
        assert (await GoalsService(session).read(ANA)).chosen == {SAVINGS}
