"""The inputs of the demonstration's batch: generated gold and rules, with the deposits that visitors have made.

A real bank's gold has a deposit some hours after its event. Here the gold of each batch is generated anew, and every
pending balance that is stored becomes a contribution: so a batch confirms what a visitor has posted.

Needs the extra `batch`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import duckdb

import sortkey as sk
from sortkey_services.goals.batch.batch_run import micros_of
from sortkey_services.goals.batch.demo_gold import Deposit, demo_rules, write_gold
from sortkey_services.goals.batch.job import BatchInputs
from sortkey_services.goals.model import DEMO_COMPETES_AS, PENDING, Pending
from sortkey_services.goals.rules_database import write_rules

PERSONS: Final = 500

Saved = Mapping[tuple[str, str], int]
"""Cents by person and goal."""


async def demo_inputs(
    session: sk.AsyncSession, folder: Path, now: datetime, as_of: datetime | None = None
) -> BatchInputs:
    """Writes gold and rules to a folder; gold is complete up to `as_of`, which is `now` by default."""
    complete = as_of or now
    pending = [each async for each in session.scan(Pending, undecodable="skip") if each.status == PENDING]
    return await asyncio.to_thread(_write, folder, now, complete, pending)


def _write(folder: Path, now: datetime, as_of: datetime, pending: list[Pending]) -> BatchInputs:
    gold = folder / "gold"
    # What is drawn depends on the day alone, so that a person's savings do not change from batch to batch.
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    write_gold(gold, persons=PERSONS, as_of=midnight)
    if pending:
        deposits = _deposits(pending, _saved(gold, as_of))
        write_gold(gold, persons=PERSONS, as_of=midnight, deposits=deposits)
    rules = f"sqlite:///{folder / 'rules.db'}"
    write_rules(rules, demo_rules())
    return BatchInputs(gold, rules, as_of, competes_as=DEMO_COMPETES_AS)


def _deposits(pending: list[Pending], saved: Saved) -> list[Deposit]:
    """One for each balance that is above what gold has. A balance below it never came, as far as gold knows."""
    return [
        Deposit(f"visitor-{each.person}-{each.goal}", each.person, each.goal, cents, each.updated)
        for each in pending
        if (cents := each.balance_cents - saved.get((each.person, each.goal), 0)) > 0
    ]


def _saved(gold: Path, as_of: datetime) -> Saved:
    files = str(gold / "contributions" / "*.parquet")
    sums = """
        SELECT person_id, goal_id, sum(amount_cents)::BIGINT FROM read_parquet($1)
        WHERE status = 'CONFIRMED' AND epoch_us(effective_at) <= $2 GROUP BY ALL
    """
    with duckdb.connect() as connection:
        rows = connection.execute(sums, [files, micros_of(as_of)]).fetchall()
    return {(person, goal): cents for person, goal, cents in rows}
