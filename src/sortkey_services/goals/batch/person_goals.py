"""Every person's goals: steps of SQL, and the items that are made of their rows. Both engines run the same texts.

    gold_customers, gold_goals, gold_contributions     the Parquet files
    batch_run                                          one row: the month and its bounds, as-of
    rules                                              those that hold on as-of's day: goal_id, tier, special_rate

Each step is a view over those before it. Amounts are whole cents. Instants are microseconds since 1970, so that a zone
in the file, or none, makes no difference.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Final

import sortkey as sk
from sortkey_services.goals.batch.batch_run import BatchRun, instant_of
from sortkey_services.goals.batch.engine import Row
from sortkey_services.goals.model import GoalView, PersonView, views

CONTRIBUTIONS: Final = """
SELECT contribution_id, person_id, goal_id, status, amount_cents, unix_micros(effective_at) AS effective_micros
FROM gold_contributions
"""

OF_MONTH: Final = """
SELECT contributions.*
FROM contributions CROSS JOIN batch_run
WHERE effective_micros >= first_micros AND effective_micros < end_micros AND effective_micros <= as_of_micros
"""
"""What counts, and what was rejected."""

SAVED: Final = """
SELECT person_id, goal_id, CAST(sum(amount_cents) AS BIGINT) AS saved_cents, max(effective_micros) AS latest_micros
FROM of_month
WHERE status = 'CONFIRMED'
GROUP BY person_id, goal_id
"""

PROGRESS: Final = """
SELECT goals.person_id, goals.goal_id, goals.target_cents,
       coalesce(saved.saved_cents, 0) AS saved_cents,
       CASE WHEN coalesce(saved.saved_cents, 0) >= goals.target_cents THEN 'COMPLETED'
            WHEN coalesce(saved.saved_cents, 0) > 0 THEN 'IN_PROGRESS'
            ELSE 'NOT_STARTED' END AS status,
       saved.latest_micros
FROM gold_goals AS goals
JOIN batch_run ON goals.month = batch_run.month
LEFT JOIN saved ON saved.person_id = goals.person_id AND saved.goal_id = goals.goal_id
"""

PERSON_GOALS: Final = """
SELECT customers.person_id, customers.name, customers.tier, customers.language, customers.notifications,
       progress.goal_id, progress.target_cents, progress.saved_cents, progress.status, rules.special_rate,
       progress.latest_micros
FROM gold_customers AS customers
LEFT JOIN progress ON progress.person_id = customers.person_id
LEFT JOIN rules ON rules.goal_id = progress.goal_id AND rules.tier = customers.tier
"""
"""A row for each goal of a person; one without a goal for a person that has none."""

STEPS: Final = {
    "of_month": OF_MONTH,
    "saved": SAVED,
    "progress": PROGRESS,
    "person_goals": PERSON_GOALS,
}
"""In this order: each uses those before it."""

BY: Final = ("person_id", "goal_id")
_rate = cache(Decimal)
"""There are as many rates as rules."""


def person_views(rows: Iterable[Row], run: BatchRun, updated: datetime) -> Iterator[PersonView]:
    """Of rows with one goal each, those of a person one after the other."""
    for person, several in groupby(rows, itemgetter(0)):
        of_person = list(several)
        _, name, tier, language, notifications, goal, *_ = of_person[0]
        yield PersonView(
            person=person,
            name=name,
            tier=tier,
            language=language,
            notifications=notifications,
            goals=[] if goal is None else [_goal_view(row, run.month) for row in of_person],
            updated=updated,
            as_of=run.as_of,
        )


def _goal_view(row: Row, month: str) -> GoalView:
    goal, target_cents, saved_cents, status, rate, latest_micros = row[5:]
    return GoalView(
        goal=goal,
        target_cents=target_cents,
        saved_cents=saved_cents,
        status=status,
        rate=_rate(rate),
        latest=None if latest_micros is None else instant_of(latest_micros),
        month=month,
    )


@dataclass(frozen=True, slots=True)
class PartitionWrite:
    """Writes from Spark: each partition opens the store by itself, and writes its share of the load. It goes to Spark's
    processes, so it holds only plain values. A share that fails is written again as a whole, by Spark's own retries:
    puts of the same persons change nothing."""

    store: str
    generation: str
    run: BatchRun
    updated: datetime

    def __call__(self, rows: Iterator[Row]) -> int:
        return asyncio.run(self._write(rows))

    async def _write(self, rows: Iterator[Row]) -> int:
        async with sk.async_connect(self.store, tables=views.tables) as session:
            load = await views.join(session, self.generation)
            return await load.write_share(person_views(rows, self.run, self.updated))
